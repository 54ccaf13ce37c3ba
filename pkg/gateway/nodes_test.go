package gateway_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// startGateway starts the gateway of node 1, and returns the messages that it sends. All its incarnations
// start at the same time, as if the clock had been set back.
func startGateway(t *testing.T) (*gateway.Gateway, <-chan *msg.Envelope) {
	t.Helper()
	router, err := hotshard.NewRouter(1, 2, nil)
	require.NoError(t, err)
	sent := make(chan *msg.Envelope, 10)
	g := gateway.New(gateway.Options{Machine: txn.Config{Node: 1, Router: router},
		Clock: clock.NewHybrid(clock.NewManual(1, 1), time.Minute),
		Send: func(envs []*msg.Envelope) {
			for _, env := range envs {
				sent <- env
			}
		}})
	return g, sent
}

// responseTo is a response of node 2.
func responseTo(request *msg.Envelope, body string) *msg.Envelope {
	env := msg.ToGateway(1)
	env.Body = &msg.Announcement{Call: &msg.NodeCall{Number: msg.As[msg.Announcement](request).Call.Number,
		Body: []byte(body)}}
	return env
}

// A response may wait in the other node's outbox until the caller has restarted and sent another call.
func TestResponseToEarlierIncarnationIsIgnored(t *testing.T) {
	call := func(g *gateway.Gateway, request string) <-chan string {
		got := make(chan string, 1)
		go func() {
			a, err := g.AskNode(context.Background(), 2, []byte(request))
			if err != nil {
				a = []byte(err.Error())
			}
			got <- string(a)
		}()
		return got
	}
	g, sent := startGateway(t)
	interrupted := call(g, "one")
	first := <-sent
	g.Close()
	require.Contains(t, <-interrupted, "the node is draining")

	g, sent = startGateway(t)
	defer g.Close()
	got := call(g, "two")
	second := <-sent
	g.Deliver([]*msg.Envelope{responseTo(first, "1")})
	g.Deliver([]*msg.Envelope{responseTo(second, "2")})
	require.Equal(t, "2", <-got)
	third := call(g, "three")
	next := <-sent
	g.Deliver([]*msg.Envelope{responseTo(second, "2 again")})
	g.Deliver([]*msg.Envelope{responseTo(next, "3")})
	require.Equal(t, "3", <-third)
}

// Node 2 has acknowledged that a shard of node 1 drains. The message arrives when node 1 has restarted
// and drains again.
func TestLateDrainingAckIsIgnored(t *testing.T) {
	g, _ := startGateway(t)
	defer g.Close()
	acknowledge := func(inc kv.Incarnation) {
		env := msg.ToGateway(1)
		env.From = 2
		env.Body = &msg.Announcement{Shard: 0, Incarnation: inc, Acknowledged: true}
		g.Deliver([]*msg.Envelope{env})
	}
	acknowledge(4)
	require.False(t, g.HasAcknowledgedDraining(0, 5, 2))
	acknowledge(5)
	acknowledge(4)
	require.True(t, g.HasAcknowledgedDraining(0, 5, 2))
	require.False(t, g.HasAcknowledgedDraining(0, 5, 3))
}
