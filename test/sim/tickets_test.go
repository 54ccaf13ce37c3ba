package sim

import (
	"flag"
	"testing"
	"time"

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

// TestTickets sells all tickets, and no more, whatever crashes. The model compares each sale and each refusal with the
// number of tickets left at that instant.
func TestTickets(t *testing.T) {
	sold, refused, unknown, n := 0, 0, 0, 0
	for begin := time.Now(); time.Since(begin) < *ticketsFlag; {
		n++
		seed := *fromFlag + int64(n) - 1
		w := newSim(tickets(seed))
		sum, err := w.play()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		unknown += sum.Unknown
		for _, x := range w.log.txns {
			for _, key := range calledKeys(x) {
				for _, s := range stepsOf(x, key) {
					switch {
					case !s.known || s.method == nil || s.method.Name != "try-subtract":
					case s.want[0].Int == 1:
						sold++
					default:
						refused++
					}
				}
			}
		}
	}
	if sold == 0 || refused == 0 || unknown == 0 {
		t.Errorf("sold %d, refused %d, unknown %d: the histories do not cover all outcomes", sold, refused, unknown)
	}
	t.Logf("%d histories: %d sold, %d refusals, %d unknown at first", n, sold, refused, unknown)
}
