package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
)

// A check that never saw two locks beside each other has found nothing wrong with
// them because it did not look. It happens where a method's arguments are hardly ever
// made up as it wants them, or where a value is hardly ever such that a lock is
// needed.

// stood notes the locks of which both orders are compared: those of transactions of
// which neither was decided when the other was planned.
func (c *checker) stood(all []*standing) {
	for i, a := range all {
		for _, b := range all[:i] {
			if !a.follows(b) && !b.follows(a) {
				c.met(a.modes, b.modes)
			}
		}
	}
}

// follows reports whether another one had been decided when it was planned.
func (s *standing) follows(o *standing) bool { return slices.Contains(s.after, o.number) }

// met notes that modes were held beside others, of which one at least may change
// something.
func (c *checker) met(some, others []adt.Mode) {
	for _, x := range some {
		for _, y := range others {
			if c.changes(x) || c.changes(y) {
				c.tried[[2]adt.Kind{min(x.Kind(), y.Kind()), max(x.Kind(), y.Kind())}] = true
			}
		}
	}
}

// untried lists what was declared and never came about. Of a lock that no call
// needed, strict tells.
func (c *checker) untried() (out []string) {
	for _, m := range c.t.Methods {
		if !c.done[m.Number] {
			out = append(out, fmt.Sprintf("every call of %s failed; Draw may make up arguments that it takes", m.Name))
		}
	}
	for a := adt.Kind(1); int(a) <= len(c.t.Kinds); a++ {
		for b := a; int(b) <= len(c.t.Kinds); b++ {
			ka, kb := &c.t.Kinds[a-1], &c.t.Kinds[b-1]
			if c.t.Relation(a, b) != 0 && (ka.Changes || kb.Changes) && !c.tried[[2]adt.Kind{a, b}] && c.isNeeded(a) && c.isNeeded(b) {
				out = append(out, fmt.Sprintf("%q and %q go together, and were never held beside each other", ka.Name, kb.Name))
			}
		}
	}
	return out
}
