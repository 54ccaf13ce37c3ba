package mem

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/delay"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// maxBatch is how many envelopes a handler is given at once, as over gRPC.
const maxBatch = 256

// link carries messages from one node to another.
type link struct {
	node *Node
	ends pair
	box  *outbox.Outbox
	coin *rand.Rand
	// sleeper waits for what is not due yet; nil without delay.
	sleeper *delay.Sleeper
}

func newLink(n *Node, to kv.NodeID) (*link, error) {
	o := n.net.opts
	l := &link{node: n, ends: pair{n.id, to}, box: outbox.New(o.Outbox),
		coin: rand.New(rand.NewPCG(o.Seed, uint64(n.id)<<32|uint64(to)))}
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

// deliver passes on what the network's faults leave.
func (l *link) deliver(taken []*msg.Envelope) {
	to := l.node.net.receiver(l.ends)
	if to == nil || len(taken) == 0 {
		return
	}
	o := &l.node.net.opts
	got := make([]*msg.Envelope, 0, len(taken))
	for _, e := range taken {
		if o.Drop > 0 && l.coin.Float64() < o.Drop {
			continue
		}
		got = l.add(got, e)
		if o.Duplicate > 0 && l.coin.Float64() < o.Duplicate {
			got = l.add(got, e)
		}
	}
	if len(got) > 0 {
		to.receive(got)
	}
}

// add appends the receiver's own copy of e.
func (l *link) add(got []*msg.Envelope, e *msg.Envelope) []*msg.Envelope {
	c := *e
	if l.node.net.opts.Isolate {
		c = msg.Envelope{}
		raw, err := e.Marshal()
		if err == nil {
			err = c.Unmarshal(raw)
		}
		if err != nil {
			// A message that cannot be sent over a real network is a
			// programmer's mistake, and this option is there to find it.
			panic("mem: " + e.String() + ": " + err.Error())
		}
	}
	c.From = l.ends.from
	return append(got, &c)
}
