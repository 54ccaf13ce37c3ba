package transporttest

import (
	"context"
	"testing"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// arrivals is a node's handlers. Each received message is counted by a number in the channel.
type arrivals chan int

func (a arrivals) onEnvelopes(envs []*msg.Envelope) { a <- len(envs) }

// ReceiveReplica implements transport.ReplicaHandler.
func (a arrivals) ReceiveReplica(_ kv.NodeID, msgs []consensus.Message) { a <- len(msgs) }

// ReceiveSnapshot implements transport.ReplicaHandler.
func (arrivals) ReceiveSnapshot(context.Context, kv.NodeID, *consensus.Message, func() ([]byte, error)) error {
	return nil
}

// await waits for some messages.
func (a arrivals) await(count int) {
	for count > 0 {
		count -= <-a
	}
}

// Benchmark measures an implementation, with envelopes and with messages of replicas, which have an entry of 100 bytes:
// a round trip, and 10,000 messages one way.
func Benchmark(b *testing.B, newNet func(t testing.TB) ReplicaNet) {
	envs, msgs := []*msg.Envelope{Release(1)}, []consensus.Message{Append(1, 100)}
	for _, c := range []struct {
		name string
		send func(from ReplicaNode, to kv.NodeID)
	}{
		{"envelopes", func(from ReplicaNode, to kv.NodeID) { from.Send(to, envs) }},
		{"replicas", func(from ReplicaNode, to kv.NodeID) { from.SendReplica(to, msgs) }},
	} {
		n, at1, at2 := newNet(b), make(arrivals, 10_000), make(arrivals, 10_000)
		first := n.StartReplicas(b, 1, at1.onEnvelopes, at1)
		second := n.StartReplicas(b, 2, at2.onEnvelopes, at2)
		awaitUp(b, first, 2)
		awaitUp(b, second, 1)
		b.Run(c.name+"/round-trip", func(b *testing.B) {
			for b.Loop() {
				c.send(first, 2)
				at2.await(1)
				c.send(second, 1)
				at1.await(1)
			}
		})
		b.Run(c.name+"/10000-messages", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range 2 { // fewer than fill the queue
					for range 5000 {
						c.send(first, 2)
					}
					at2.await(5000)
				}
			}
		})
		b.Cleanup(func() {
			first.Close()
			second.Close()
		})
	}
}
