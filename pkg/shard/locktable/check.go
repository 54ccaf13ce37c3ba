package locktable

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Check verifies the invariants 1 to 4 of the table. It is slow and for tests.
func (t *Table) Check() error {
	type held struct {
		span  kv.Span
		mode  adt.Mode
		owner *owner
	}
	var all []held
	for _, e := range t.keys {
		if len(e.holders) == 0 && len(e.waiters) == 0 && !e.dirty {
			return fmt.Errorf("lock: invariant 3: empty entry %q", e.key)
		}
		if !slices.IsSortedFunc(e.waiters, byAge) {
			return fmt.Errorf("lock: invariant 2: waiters of %q out of order", e.key)
		}
		for _, h := range e.holders {
			all = append(all, held{kv.Point([]byte(e.key)), h.mode, h.owner})
		}
	}
	for _, rh := range t.ranges {
		all = append(all, held{rh.span, rh.mode, rh.owner})
	}
	for txn, o := range t.owners {
		if len(o.points)+len(o.ranges) == 0 {
			return fmt.Errorf("lock: invariant 4: %v is an owner without locks", txn)
		}
	}
	for i, a := range all {
		if t.owners[a.owner.txn] != a.owner {
			return fmt.Errorf("lock: invariant 4: %v holds %v but is not in the table of owners", a.owner.txn, a.span)
		}
		for _, b := range all[:i] {
			if a.owner != b.owner && !adt.Compatible(a.mode, b.mode) && a.span.Overlaps(b.span) {
				return fmt.Errorf("lock: invariant 1: %v has %v on %v, %v has %v on %v",
					a.owner.txn, a.mode, a.span, b.owner.txn, b.mode, b.span)
			}
		}
	}
	return nil
}
