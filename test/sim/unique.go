package sim

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// checkUnique checks that each unique identifier was returned to one operation of one transaction, whatever its
// outcome. Another attempt of the same transaction may get the same identifier.
func (w *sim) checkUnique() {
	owners := map[string]kv.TxnID{}
	for _, t := range w.log.txns {
		own := map[string]bool{}
		for _, c := range t.calls {
			if c.failure != nil {
				continue
			}
			for _, id := range uniqueOf(c) {
				if old, taken := owners[id]; taken && old != t.ref.TxnID {
					w.Fail("%s and t%d both got the identifier %x", name(t.ref), old.Rand, id)
				}
				if own[id] {
					w.Fail("%s got the identifier %x twice", name(t.ref), id)
				}
				owners[id], own[id] = t.ref.TxnID, true
			}
		}
	}
}

// uniqueOf lists the unique identifiers that a call returned.
func uniqueOf(c *callRecord) (out []string) {
	for i := range c.results {
		at := i
		if c.raw {
			at = int(c.results[i].Seq)
		}
		if m, err := adt.Find(&c.ops[at]); !c.ops[at].IsCall() || err != nil || !m.Distinct {
			continue
		}
		for _, d := range c.results[i].Data {
			out = append(out, text(d))
		}
	}
	return out
}

// rightCount checks the number of identifiers that were returned.
func rightCount(args, answer []msg.Datum) error {
	want := 1
	if len(args) > 0 {
		want = int(args[0].Int)
	}
	if len(answer) != want {
		return fmt.Errorf("returned %d identifiers and not %d", len(answer), want)
	}
	return nil
}
