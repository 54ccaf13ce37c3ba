package mem

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/delay"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// maxBatch bounds the envelopes of one handler call, as over gRPC.
const maxBatch = 256

// link carries messages from one node to another.
type link struct {
	node *Node
	ends pair
	box  *outbox.Outbox
	rng  *rand.Rand
	// sleeper waits for delayed messages; nil without delay.
	sleeper *delay.Sleeper
}

func newLink(n *Node, to kv.NodeID) (*link, error) {
	o := n.net.opts
	l := &link{node: n, ends: pair{n.id, to}, box: outbox.New(o.Outbox),
		rng: rand.New(rand.NewPCG(o.Seed, uint64(n.id)<<32|uint64(to)))}
	if o.Delay > 0 {
		s, err := delay.NewSleeper()
		if err != nil {
			return nil, err
		}
		l.sleeper = s
	}
	return l, nil
}

func (l *link) stop() {
	if l.sleeper != nil {
		l.sleeper.Close()
	}
}

// run delivers until the sender is closed.
func (l *link) run() {
	var taken []*msg.Envelope
	for {
		select {
		case <-l.node.done:
			return
		case <-l.box.Ready():
		}
		for next := int64(1); next > 0; {
			var now int64
			if l.sleeper != nil {
				now = l.node.net.now()
			}
			taken, next = l.box.Take(taken[:0], maxBatch, 1<<20, now)
			l.deliver(taken)
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

// deliver passes on the messages that the network does not drop.
func (l *link) deliver(taken []*msg.Envelope) {
	to := l.node.net.receiver(l.ends)
	if to == nil || len(taken) == 0 {
		return
	}
	o := &l.node.net.opts
	got := make([]*msg.Envelope, 0, len(taken))
	for _, e := range taken {
		if o.Drop > 0 && l.rng.Float64() < o.Drop {
			continue
		}
		got = l.appendCopy(got, e)
		if o.Duplicate > 0 && l.rng.Float64() < o.Duplicate {
			got = l.appendCopy(got, e)
		}
	}
	if len(got) > 0 {
		to.receive(got)
	}
}

// appendCopy appends the receiver's copy of e.
func (l *link) appendCopy(got []*msg.Envelope, e *msg.Envelope) []*msg.Envelope {
	c := *e
	if l.node.net.opts.Isolate {
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
	c.From = l.ends.from
	return append(got, &c)
}
