package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
)

// A pair of locks that were never held together is unchecked. This happens if valid arguments of a method are
// rarely drawn, or if values are rarely such that a call needs the lock.

// recordPairs records the locks of transactions that were compared in both orders: neither was
// decided when the other was planned.
func (c *checker) recordPairs(all []*running) {
	for i, a := range all {
		for _, b := range all[:i] {
			if !a.isAfter(b) && !b.isAfter(a) {
				c.recordHeldTogether(a.modes, b.modes)
			}
		}
	}
}

// isAfter reports whether another transaction was decided when this one was planned.
func (s *running) isAfter(o *running) bool { return slices.Contains(s.decidedBefore, o.number) }

// recordHeldTogether records pairs of modes, at least one of which may change the value.
func (c *checker) recordHeldTogether(some, others []adt.Mode) {
	for _, x := range some {
		for _, y := range others {
			if c.canChange(x) || c.canChange(y) {
				c.heldTogether[[2]adt.Kind{min(x.Kind(), y.Kind()), max(x.Kind(), y.Kind())}] = true
			}
		}
	}
}

// untriedLocks returns Report.Untried. Locks that no call needed are in Report.Strict.
//
// A declaration with an untried pair passes every check although nothing is known about it; types_test.go of this
// package requires that linchpin's own types have none.
func (c *checker) untriedLocks() (out []string) {
	for _, m := range c.t.Methods {
		if !c.succeeded[m.Number] {
			out = append(out, fmt.Sprintf("every call of %s failed; Draw may make up arguments that it takes", m.Name))
		}
	}
	for a := adt.Kind(1); int(a) <= len(c.t.Kinds); a++ {
		for b := a; int(b) <= len(c.t.Kinds); b++ {
			ka, kb := &c.t.Kinds[a-1], &c.t.Kinds[b-1]
			if c.t.Relation(a, b) != 0 && (ka.Changes || kb.Changes) && !c.heldTogether[[2]adt.Kind{a, b}] && c.isNeeded(a) &&
				c.isNeeded(b) {
				out = append(out, fmt.Sprintf("%q and %q go together, and were never held beside each other", ka.Name, kb.Name))
			}
		}
	}
	return out
}
