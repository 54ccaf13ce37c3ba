package locktable

import (
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// client is a transaction that acquires a list of needs, one after the other,
// and then lets go. It dies of a mark where it has to wait, and comes back as
// the next attempt; that is all of wound-wait that the table does not do.
type client struct {
	txn    kv.TxnRef
	wants  [][]Need
	next   int
	wait   *Request
	marked bool
	// prepares: it promises when it has everything, and is decided later.
	prepares, prepared bool
}

func (c *client) done() bool { return c.next > len(c.wants) }

// crowd is the clients around one table.
type crowd struct {
	t       *rapid.T
	table   *Table
	now     int64
	clients map[kv.TxnID]*client
	ids     []kv.TxnID
	died    int
}

// TestEverybodyEnds: with holders that let go in the end, every request is
// granted, or its transaction has been marked and dies. Nobody starves, and a
// transaction that is marked again and again gets through, because its age is
// kept.
func TestEverybodyEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{t: t, clients: map[kv.TxnID]*client{},
			table: New(Options{MaxPhaseCount: 2, MaxPhaseTime: 3, Grace: 5, Repeat: 50, Liveness: 100})}
		for i := range rapid.IntRange(2, 7).Draw(t, "clients") {
			id := kv.TxnID{Time: int64(i + 1)}
			cl := &client{txn: kv.TxnRef{TxnID: id, Attempt: 1}, prepares: i%2 == 0}
			for range rapid.IntRange(1, 3).Draw(t, "requests") {
				cl.wants = append(cl.wants, drawNeeds(t))
			}
			c.ids, c.clients[id] = append(c.ids, id), cl
		}
		steps := 0
		for c.left() > 0 {
			require.Less(t, steps, 3000, "no end: %d transactions are left", c.left())
			steps++
			c.step()
		}
		require.Zero(t, c.table.Held()+c.table.Waiting())
	})
}

func (c *crowd) left() (n int) {
	for _, cl := range c.clients {
		if !cl.done() {
			n++
		}
	}
	return n
}

// step lets one client that does not wait go on. If all wait, only time can
// help: marks are repeated and become due.
func (c *crowd) step() {
	var can []*client
	for _, id := range c.ids {
		if cl := c.clients[id]; !cl.done() && cl.wait == nil {
			can = append(can, cl)
		}
	}
	c.now++
	if len(can) == 0 {
		next := c.table.NextTick()
		require.Less(c.t, next, c.now+1000, "all wait, and nothing will happen")
		c.now = max(c.now, next)
	} else {
		c.advance(rapid.SampledFrom(can).Draw(c.t, "client"))
	}
	c.settle()
}

func (c *crowd) advance(cl *client) {
	switch {
	case cl.next < len(cl.wants):
		r := &Request{Txn: cl.txn, Needs: append([]Need(nil), cl.wants[cl.next]...), NoWait: cl.marked, Tag: cl}
		switch d := c.table.Acquire(c.now, r); d {
		case Granted:
			cl.next++
		case Waiting:
			cl.wait = r
		case Died:
			c.die(cl)
		default:
			c.t.Fatalf("a request is %v", d)
		}
	case cl.prepares && !cl.prepared:
		cl.prepared = true
		c.table.SetPrepared(c.now, cl.txn)
	default:
		cl.next++
		c.table.Release(cl.txn)
	}
}

func (c *crowd) die(cl *client) {
	c.died++
	c.table.Release(cl.txn)
	cl.txn.Attempt++
	cl.next, cl.wait, cl.marked, cl.prepared = 0, nil, false, false
}

func (c *crowd) settle() {
	for {
		for r := c.table.Next(c.now); r != nil; r = c.table.Next(c.now) {
			cl := r.Tag.(*client)
			cl.wait = nil
			cl.next++
		}
		c.table.Tick(c.now)
		marks := c.table.Marks()
		for _, m := range marks {
			c.mark(m)
		}
		if len(marks) == 0 {
			break
		}
	}
	require.NoError(c.t, c.table.Check())
}

// mark reaches the gateway or the last agent. A promise that is marked is
// decided by the next step of its client, or dies, as chance will have it.
func (c *crowd) mark(m Mark) {
	cl := c.clients[m.Holder.TxnID]
	if cl.txn != m.Holder || cl.done() {
		return
	}
	cl.marked = true
	if cl.wait != nil && c.table.Doom(c.now, cl.wait) || m.Prepared {
		c.die(cl)
	}
}
