// Package check searches for counterexamples to the declaration of a data type, above all to the
// kinds of lock that it declares to commute.
//
// A trial consists of a value, made by random calls, and up to three transactions. The checker
// plans them concurrently, as a shard does: each plan sees the visible value and the undecided
// calls of the others, and a transaction whose locks conflict with theirs is dropped. Meanwhile
// some commit, some abort, and some are answered ahead of their commit. For every outcome, and
// every order of the remaining transactions, it verifies:
//
//   - all orders of the same transactions produce the same value;
//   - each transaction returns what it would return alone at its position in the order, and no planned change fails;
//   - a transaction that fails does so for every outcome of the undecided transactions;
//   - changes under locks that are compatible with a reader's do not change what the reader returned;
//   - Combine and the stored form lose nothing, and Apply, Plan and Answer change none of their inputs.
//
// Example: if a declaration says that add and count of a set commute, the checker finds
//
//	A: add "a"      B: count, answered 0      order A, then B: B would be answered 1
//
// A counterexample is reduced while it remains one, and then described in words. The same seed
// gives the same result.
//
// # Limits
//
// The absence of a counterexample is no proof. Not found are errors that need more than three
// transactions or arguments that are rarely drawn (adt.MethodSpec.Draw helps), and methods that
// depend on more than their inputs, such as a clock.
//
// A server runs the check for users' types when it starts; the tests of package adt run it for
// linchpin's own types and for copies with planted errors.
package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Type searches for a counterexample to the declaration of a type, registered or not. The error
// describes one, reduced as far as possible.
func Type(t *adt.Type, seed uint64, rounds int) error {
	_, err := Examine(t, seed, rounds)
	return err
}

// Report describes what a check without counterexample has covered.
type Report struct {
	// Pairs is the number of trials in which transactions ran concurrently.
	Pairs int
	// Waits is the number of transactions that conflicting locks stopped.
	Waits int
	// Needs lists, for each method, the locks that its calls needed.
	Needs [][]adt.Kind
	// Strict describes locks that may be stricter than needed: pairs that do not commute by
	// declaration although no conflict was found, and locks for changes where nothing changed. It is
	// not an error: pairs that rarely conflict, on values that are rarely drawn, look the same.
	Strict []string
	// Untried describes what was declared and never occurred, so it was not checked: methods of
	// which every call failed, and compatible locks that were never held together.
	Untried []string
}

// Examine is Type with a report.
//
// The seed determines everything, so a failure can be repeated.
func Examine(t *adt.Type, seed uint64, rounds int) (Report, error) {
	c := &checker{t: adt.Bare{Type: t}, random: random(seed), conflicts: map[[2]adt.Kind]*conflictStats{},
		needed:    map[[2]uint32]bool{},
		succeeded: map[uint32]bool{}, heldTogether: map[[2]adt.Kind]bool{}}
	for range rounds {
		tr := c.draw()
		r := c.refute(tr)
		if r == nil {
			c.recordConflict(tr)
			r = c.takeRefutation(tr)
		}
		if r != nil {
			return Report{}, fmt.Errorf("%s", c.shrink(tr, r))
		}
	}
	return Report{Pairs: c.pairs, Waits: c.waits, Needs: c.neededLocks(), Strict: c.strictLocks(),
		Untried: c.untriedLocks()}, nil
}

// checker is one run of Examine.
type checker struct {
	t      adt.Bare
	random random
	// conflicts has statistics of the pairs of kinds that do not commute, the lower kind first.
	conflicts map[[2]adt.Kind]*conflictStats
	idleLocks []string
	needed    map[[2]uint32]bool // by method and kind
	// succeeded are the methods with a successful call.
	succeeded map[uint32]bool
	// heldTogether are the pairs of kinds, the lower first, for which both orders were compared, or
	// a reader's answer before and after the change.
	heldTogether map[[2]adt.Kind]bool
	pairs, waits int
	// drawnBytes are the bytes drawn in this trial. Half of the draws repeat one of them, so that
	// parts are shared.
	drawnBytes [][]byte
	// snapshots are values with their stored form when they were made, to detect changes in place.
	snapshots  []snapshot
	refutation *refutation
}

type snapshot struct {
	state any
	form  string
	from  string
}

// conflictStats counts the trials of a pair of kinds, and those with a conflict; also those on
// different parts.
type conflictStats struct {
	tried, conflicts                     int
	triedOtherParts, conflictsOtherParts int
}

// report records a violation, unless there is one already.
func (c *checker) report(format string, args ...any) {
	if c.refutation == nil {
		c.refutation = &refutation{text: fmt.Sprintf(format, args...)}
	}
}

// takeRefutation returns the recorded violation and clears it.
func (c *checker) takeRefutation(tr *trial) *refutation {
	r := c.refutation
	c.refutation = nil
	if r != nil {
		r.trial = tr
	}
	return r
}

// form returns a value for comparison: its existence and stored form.
func (c *checker) form(v *entry.Value) string {
	if !v.Exists() {
		return "absent"
	}
	s, err := c.t.State(v)
	if err != nil {
		c.report("A stored value cannot be read back: %v.", err)
		return "unreadable"
	}
	return "=" + string(c.t.Encode(s))
}

// takeSnapshot records a value, to detect changes in place.
func (c *checker) takeSnapshot(v *entry.Value, from string) {
	if v.State != nil {
		c.snapshots = append(c.snapshots, snapshot{v.State, string(c.t.Encode(v.State)), from})
	}
}

// checkSnapshots reports values that were changed in place.
func (c *checker) checkSnapshots() {
	for _, k := range c.snapshots {
		if string(c.t.Encode(k.state)) != k.form {
			c.report("The value %s was altered afterwards: Apply, or a Plan or an Answer, changes in place what it was "+
				"given, or shares with it what is changed later.", k.from)
			return
		}
	}
}

// roundTrip verifies the stored form of a value and returns a copy decoded from it.
func (c *checker) roundTrip(v *entry.Value, from string) entry.Value {
	if !v.Exists() {
		return entry.Value{}
	}
	s, err := c.t.State(v)
	if err != nil {
		c.report("The value %s cannot be read: %v.", from, err)
		return *v
	}
	form := c.t.Encode(s)
	back, err := c.t.Decode(slices.Clone(form))
	if err != nil {
		c.report("The value %s is stored as %q, and Decode cannot read that: %v.", from, form, err)
		return *v
	}
	if again := c.t.Encode(back); string(again) != string(form) {
		c.report("The value %s is stored as %q, and as %q after it was read back.", from, form, again)
	}
	return entry.Value{Type: c.t.ID, Version: v.Version, Payload: form}
}

// strictLocks returns Report.Strict.
func (c *checker) strictLocks() (out []string) {
	name := func(k adt.Kind) string { return c.t.Kinds[k-1].Name }
	for a := adt.Kind(1); int(a) <= len(c.t.Kinds); a++ {
		if !c.isNeeded(a) {
			out = append(out, fmt.Sprintf("no call needed the lock %q", name(a)))
		}
		for b := a; int(b) <= len(c.t.Kinds); b++ {
			s := c.conflicts[[2]adt.Kind{a, b}]
			switch {
			case s == nil:
			case s.tried >= minTries && s.conflicts == 0:
				out = append(out, fmt.Sprintf(
					"%q and %q%s do not go together, and nothing was found that would go wrong, in %d tries",
					name(a), name(b), c.samePart(a, b), s.tried))
			case c.t.Relation(a, b) == 0 && s.triedOtherParts >= minTries && s.conflictsOtherParts == 0:
				out = append(out, fmt.Sprintf(
					"%q and %q do not go together on different parts, and nothing was found that would go wrong, in %d tries",
					name(a), name(b), s.triedOtherParts))
			}
		}
	}
	return append(out, c.idleLocks...)
}

// isNeeded reports whether a call needed a lock, or would if the value were not known.
func (c *checker) isNeeded(k adt.Kind) bool {
	for _, m := range c.t.Methods {
		if m.Kind == k || c.needed[[2]uint32{m.Number, uint32(k)}] {
			return true
		}
	}
	return false
}

// neededLocks returns Report.Needs.
func (c *checker) neededLocks() [][]adt.Kind {
	out := make([][]adt.Kind, len(c.t.Methods))
	for i, m := range c.t.Methods {
		for k := adt.Kind(1); int(k) <= len(c.t.Kinds); k++ {
			if c.needed[[2]uint32{m.Number, uint32(k)}] {
				out[i] = append(out[i], k)
			}
		}
	}
	return out
}

// minTries is the number of trials without conflict after which a pair is reported as strict. The
// value is not critical.
const minTries = 100

// samePart qualifies a pair in Report.Strict that commutes on other parts by declaration.
func (c *checker) samePart(a, b adt.Kind) string {
	if c.t.Relation(a, b) == adt.OtherPart {
		return " on the same part"
	}
	return ""
}
