package mem

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/delay"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// maxBatch and maxBatchBytes bound one handler call, as over gRPC.
const (
	maxBatch      = 256
	maxBatchBytes = 1 << 20
)

// queue is what waits on a link (package outbox).
type queue[T any] interface {
	Ready() <-chan struct{}
	Push(ms []T, due int64)
	Take(dst []T, maxCount, maxBytes int, now int64) (taken []T, next int64)
}

// link carries messages of one kind, envelopes or messages of replicas, from one node to another.
type link[T any] struct {
	node *Node
	ends pair
	box  queue[T]
	// deliver passes messages on to a receiver that is not cut off. It may not keep the slice.
	deliver func(to *Node, taken []T)
	// sleeper waits for delayed messages; nil without delay.
	sleeper *delay.Sleeper
}

func newLink[T any](n *Node, to kv.NodeID, box queue[T]) (*link[T], error) {
	l := &link[T]{node: n, ends: pair{n.id, to}, box: box}
	if n.net.opts.Delay > 0 {
		s, err := delay.NewSleeper()
		if err != nil {
			return nil, err
		}
		l.sleeper = s
	}
	return l, nil
}

func (l *link[T]) push(ms []T) { l.box.Push(ms, l.node.net.now()+int64(l.node.net.opts.Delay)) }

func (l *link[T]) stop() {
	if l.sleeper != nil {
		l.sleeper.Close()
	}
}

// run delivers until the sender is closed.
func (l *link[T]) run() {
	var taken []T
	for {
		select {
		case <-l.node.done:
			return
		case <-l.box.Ready():
		}
		for next := int64(1); next > 0; {
			now := l.node.net.now()
			taken, next = l.box.Take(taken[:0], maxBatch, maxBatchBytes, now)
			if to := l.node.net.receiver(l.ends); to != nil && len(taken) > 0 {
				l.deliver(to, taken)
			}
			clear(taken)
			select {
			case <-l.node.done:
				return
			default:
			}
			if l.sleeper != nil && next > now && !l.sleeper.Sleep(time.Duration(next-now)) {
				return
			}
		}
	}
}

// faults are those of a link.
type faults struct {
	opts *Options
	rng  *rand.Rand
}

// newFaults makes faults that depend on the seed, on the ends of the link, and on its kind.
func newFaults(n *Node, to kv.NodeID, kind uint64) faults {
	o := &n.net.opts
	return faults{o, rand.New(rand.NewPCG(o.Seed, kind<<48|uint64(n.id)<<32|uint64(to)))}
}

// copies returns how many copies of a message the network delivers.
func (f faults) copies() int {
	switch {
	case f.opts.Drop > 0 && f.rng.Float64() < f.opts.Drop:
		return 0
	case f.opts.Duplicate > 0 && f.rng.Float64() < f.opts.Duplicate:
		return 2
	}
	return 1
}

// newEnvelopeLink makes the link for the envelopes to a node.
func newEnvelopeLink(n *Node, to kv.NodeID) (*link[*msg.Envelope], error) {
	l, err := newLink[*msg.Envelope](n, to, outbox.New(n.net.opts.Outbox))
	if err != nil {
		return nil, err
	}
	f := newFaults(n, to, 0)
	l.deliver = func(to *Node, taken []*msg.Envelope) {
		got := make([]*msg.Envelope, 0, len(taken))
		for _, e := range taken {
			for range f.copies() {
				got = append(got, copyEnvelope(e, n))
			}
		}
		to.receive(len(got), func() { to.handler(got) })
	}
	return l, nil
}

// newReplicaLink makes the link for the messages of replicas to a node.
func newReplicaLink(n *Node, to kv.NodeID) (*link[*peerpb.ReplicaMessage], error) {
	l, err := newLink[*peerpb.ReplicaMessage](n, to, outbox.NewReplicas())
	if err != nil {
		return nil, err
	}
	f := newFaults(n, to, 1)
	l.deliver = func(to *Node, taken []*peerpb.ReplicaMessage) {
		if to.replicas == nil {
			return
		}
		got := make([]consensus.Message, 0, len(taken))
		for _, m := range taken {
			for range f.copies() {
				got = append(got, copyReplica(m))
			}
		}
		to.receive(len(got), func() { to.replicas.ReceiveReplica(n.id, got) })
	}
	return l, nil
}

// copyEnvelope returns the receiver's copy of an envelope from a node.
func copyEnvelope(e *msg.Envelope, from *Node) *msg.Envelope {
	c := *e
	if from.net.opts.Isolate {
		c = msg.Envelope{}
		raw, err := e.Marshal()
		if err == nil {
			err = c.Unmarshal(raw)
		}
		if err != nil {
			// A message that cannot be encoded is a bug, which Isolate exists to find.
			panic("mem: " + e.String() + ": " + err.Error())
		}
	}
	c.From = from.id
	return &c
}

// copyReplica returns the receiver's copy of a message of a replica, which is always isolated: a follower cuts and
// extends the slices in it.
func copyReplica(m *peerpb.ReplicaMessage) consensus.Message {
	c, err := replicamsg.Copy(m)
	if err != nil {
		panic("mem: " + m.String() + ": " + err.Error())
	}
	return c
}
