package locktable

import (
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// client is a transaction that sends a list of lock requests, one after the other, and then releases its
// locks. If it is wounded, it aborts when it has to wait, and retries as the next attempt: that is the part
// of wound-wait outside the table.
type client struct {
	txn      kv.TxnRef
	requests [][]Need
	next     int
	wait     *Request
	wounded  bool
	// prepares: it prepares when it holds all its locks, and its decision arrives later.
	prepares, prepared bool
}

func (c *client) isDone() bool { return c.next > len(c.requests) }

// workload is a set of clients of one table.
type workload struct {
	t       *rapid.T
	table   *Table
	now     int64
	clients map[kv.TxnID]*client
	ids     []kv.TxnID
	aborted int
}

// TestEveryRequestEnds: if holders release their locks eventually, every request is granted or its
// transaction is wounded and aborts, and every transaction completes: retries keep the age, so a transaction
// that is wounded repeatedly becomes the oldest one.
func TestEveryRequestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &workload{t: t, clients: map[kv.TxnID]*client{},
			table: New(Options{MaxPhaseCount: 2, MaxPhaseTime: 3, WoundDelay: 5, WoundInterval: 50, PushInterval: 100})}
		for i := range rapid.IntRange(2, 7).Draw(t, "clients") {
			id := kv.TxnID{Time: int64(i + 1)}
			cl := &client{txn: kv.TxnRef{TxnID: id, Attempt: 1}, prepares: i%2 == 0}
			for range rapid.IntRange(1, 3).Draw(t, "requests") {
				cl.requests = append(cl.requests, drawNeeds(t))
			}
			c.ids, c.clients[id] = append(c.ids, id), cl
		}
		steps := 0
		for c.unfinishedCount() > 0 {
			require.Less(t, steps, 3000, "%d transactions do not end", c.unfinishedCount())
			steps++
			c.step()
		}
		require.Zero(t, c.table.OwnerCount()+c.table.WaiterCount())
	})
}

func (c *workload) unfinishedCount() (n int) {
	for _, cl := range c.clients {
		if !cl.isDone() {
			n++
		}
	}
	return n
}

// step advances one client that does not wait. If all wait, it advances the time to the next wound.
func (c *workload) step() {
	var can []*client
	for _, id := range c.ids {
		if cl := c.clients[id]; !cl.isDone() && cl.wait == nil {
			can = append(can, cl)
		}
	}
	c.now++
	if len(can) == 0 {
		next := c.table.NextTick()
		require.Less(c.t, next, c.now+1000, "all clients wait, and no wound is due")
		c.now = max(c.now, next)
	} else {
		c.advance(rapid.SampledFrom(can).Draw(c.t, "client"))
	}
	c.settle()
}

func (c *workload) advance(cl *client) {
	switch {
	case cl.next < len(cl.requests):
		r := &Request{Txn: cl.txn, Needs: append([]Need(nil), cl.requests[cl.next]...), NoWait: cl.wounded, Tag: cl}
		switch d := c.table.Acquire(c.now, r); d {
		case Granted:
			cl.next++
		case Waiting:
			cl.wait = r
		case Aborted:
			c.abort(cl)
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

func (c *workload) abort(cl *client) {
	c.aborted++
	c.table.Release(cl.txn)
	cl.txn.Attempt++
	cl.next, cl.wait, cl.wounded, cl.prepared = 0, nil, false, false
}

func (c *workload) settle() {
	for {
		for r := c.table.Next(c.now); r != nil; r = c.table.Next(c.now) {
			cl := r.Tag.(*client)
			cl.wait = nil
			cl.next++
		}
		c.table.Tick(c.now)
		wounds := c.table.TakeWounds()
		for _, m := range wounds {
			c.onWound(m)
		}
		if len(wounds) == 0 {
			break
		}
	}
	require.NoError(c.t, c.table.Check())
}

// onWound is the effect of a wound at the gateway or the last agent. A client with a newer attempt ignores it;
// one whose decision has been taken has ended.
func (c *workload) onWound(m Wound) {
	cl := c.clients[m.Holder.TxnID]
	if cl.txn != m.Holder || cl.isDone() {
		return
	}
	cl.wounded = true
	if cl.wait != nil && c.table.AbortWaiter(c.now, cl.wait) || m.Prepared {
		c.abort(cl)
	}
}
