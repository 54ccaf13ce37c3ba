package sim

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/txn"
)

var ticketsFlag = flag.Duration("tickets", 5*time.Second, "how long to run histories with tickets")

// tickets has many buyers use a few counters with little left in them, on nodes that crash, beside readers of all
// kinds.
func tickets(seed int64) Options {
	o := Draw(seed)
	o.Nodes, o.Clients, o.Txns = max(o.Nodes, 2), 12, 15
	o.Expiring = false // otherwise a counter would expire with its tickets
	o.Objects, o.Stock, o.Types = 1+int(seed%2), 5+seed%40, []string{"bounded-counter"}
	o.Methods = []string{"try-subtract", "try-subtract", "try-subtract", "subtract", "try-subtract", "try-add", "get",
		"bounds", "create"}
	o.Registers, o.Counters, o.Mix.Ops, o.Mix.Huge = 1, 1, OpMix{Get: 4, Put: 1}, false
	o.Slots, o.KeySlots, o.KeyReferences, o.KeyWaiters = 0, 0, 0, 0
	o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.IgnoreLost, o.Retention = 4, 2, 0, 0
	if seed%4 > 0 {
		o.Crashes, o.Down, o.Every, o.Loss, o.Dup = 10, 20*time.Millisecond, 15*time.Millisecond, 0.02, 0.05
	}
	if seed%3 == 0 {
		o.MoveEvery = 5 * time.Millisecond
		o.Anchored = true // otherwise a resent id might find no shard that knows it
	}
	if seed%5 == 0 {
		o.Reads, o.UnsealAfter = txn.SnapshotReads, 100*time.Microsecond
	}
	return o
}

// TestTickets sells all tickets, and no more, whatever crashes. It checks this by the buyers' results alone, in
// addition to all other checks.
func TestTickets(t *testing.T) {
	sold, refused, unknown, n := int64(0), 0, 0, 0
	for begin := time.Now(); time.Since(begin) < *ticketsFlag; {
		n++
		seed := *fromFlag + int64(n) - 1
		w := newWorld(tickets(seed))
		sum, err := w.play()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		unknown += sum.Unknown
		for i := range w.opt.Objects {
			c := w.count(string(objectKey(objectTypeNumber("bounded-counter"), i)))
			if err := c.check(w); err != nil || w.err != nil {
				t.Fatalf("seed %d: %v %v", seed, err, w.err)
			}
			sold += c.sold
			refused += len(c.refusals)
		}
	}
	if sold == 0 || refused == 0 || unknown == 0 {
		t.Errorf("sold %d, refused %d, unknown %d: the histories do not cover all outcomes", sold, refused, unknown)
	}
	t.Logf("%d histories: %d sold, %d refusals, %d unknown at first", n, sold, refused, unknown)
}

func objectTypeNumber(name string) int {
	for i, x := range objectTypes {
		if x.name == name {
			return i
		}
	}
	panic("no " + name)
}

// counterReports are the results of clients for one counter.
type counterReports struct {
	key            string
	sold, returned int64
	// Tickets that may have been sold or returned in addition, by clients that know only that they committed, or not even
	// that.
	maybeSold, maybeReturned int64
	moves                    []counterChange
	refusals                 []counterChange
}

// counterChange is a change by n, or a refused one.
type counterChange struct {
	t *txnRecord
	n int64
	// sure: it took place.
	sure bool
}

// count sums the clients' results for a counter.
func (w *world) count(key string) *counterReports {
	c := &counterReports{key: key}
	for _, t := range w.log.txns {
		if t.outcome == failed || t.outcome == running {
			continue
		}
		for _, s := range stepsOf(t, key) {
			if s.method != nil && s.method.Name == "get" && s.known && len(s.want) == 1 {
				if n := s.want[0]; n.Int < 0 || n.Int > w.opt.Stock {
					w.fail("%s read %d as the value of %q", name(t.ref), n.Int, key)
				}
			}
			if s.method == nil || !s.method.Changes || s.method.Name == "create" {
				continue
			}
			n := s.args[0].Int
			if s.method.Name == "subtract" || s.method.Name == "try-subtract" {
				n = -n
			}
			blind := !s.method.Answers
			switch {
			case t.outcome == committed && (blind || s.known && s.want[0].Int == 1):
				c.moves = append(c.moves, counterChange{t, n, true})
			case s.known && t.outcome == committed:
				c.refusals = append(c.refusals, counterChange{t, n, true})
			default:
				c.moves = append(c.moves, counterChange{t, n, false})
			}
		}
	}
	for _, m := range c.moves {
		switch {
		case m.sure && m.n < 0:
			c.sold -= m.n
		case m.sure:
			c.returned += m.n
		case m.n < 0:
			c.maybeSold -= m.n
		default:
			c.maybeReturned += m.n
		}
	}
	return c
}

// check compares the stored counter, and what was refused, with the sums.
func (c *counterReports) check(w *world) error {
	v, err := w.shardStoring(c.key).stored(c.key)
	if err != nil {
		return err
	}
	if !v.Exists() {
		if c.sold+c.returned > 0 {
			return fmt.Errorf("%d were sold of %q, which never existed", c.sold, c.key)
		}
		return nil
	}
	plan, _ := (&adt.Request{Method: adt.Lookup(v.Type).MethodByName("get"), Value: &v}).Plan(nil)
	left, stock := plan.Answer[0].Int, w.opt.Stock
	switch sure := stock - c.sold + c.returned; {
	case left < 0 || left > stock:
		return fmt.Errorf("%d of %d are left in %q", left, stock, c.key)
	case left < sure-c.maybeSold || left > sure+c.maybeReturned:
		return fmt.Errorf("%d of %d are left in %q; %d were sold, perhaps %d more; %d were returned, perhaps %d more",
			left, stock, c.key, c.sold, c.maybeSold, c.returned, c.maybeReturned)
	}
	for _, r := range c.refusals {
		if err := c.checkRefusal(r, stock); err != nil {
			return err
		}
	}
	return nil
}

// checkRefusal: at some instant of the transaction there may have been too few tickets.
func (c *counterReports) checkRefusal(r counterChange, stock int64) error {
	least, most := stock, stock
	for _, m := range c.moves {
		over, begun := m.t.end < r.t.start && m.sure, m.t.start <= r.t.end
		switch {
		case !begun:
		case over:
			least, most = least+m.n, most+m.n
		case m.n < 0:
			least += m.n
		default:
			most += m.n
		}
	}
	if r.n < 0 && least+r.n >= 0 || r.n > 0 && most+r.n <= stock {
		return fmt.Errorf("%s was refused %d of %q, which had at least %d and at most %d", name(r.t.ref), r.n,
			c.key, least, most)
	}
	return nil
}
