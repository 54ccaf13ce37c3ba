package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// visitOrders visits every order of every set of transactions that may commit, which includes those
// that have committed, until visit returns false.
//
//	A committed, B and C undecided     A | A B | B A | A C | C A | A B C | A C B | B A C | ...
//
// With at most three transactions these are at most 16 orders, so all are tried.
func (c *checker) visitOrders(all []*running, visit func([]*running) bool) {
	for set := range 1 << len(all) {
		var some []*running
		decided := true
		for i, s := range all {
			if set>>i&1 == 1 {
				some = append(some, s)
			} else if s.fate == committed {
				decided = false
			}
		}
		if decided && !permute(some, 0, visit) {
			return
		}
	}
}

// permute visits the orders that respect decisions: a transaction that was decided before another
// was planned precedes it.
func permute(some []*running, fixed int, visit func([]*running) bool) bool {
	if fixed == len(some) {
		for i, s := range some {
			for _, later := range some[i+1:] {
				if slices.Contains(s.decidedBefore, later.number) {
					return true
				}
			}
		}
		return visit(some)
	}
	for i := fixed; i < len(some); i++ {
		next := slices.Clone(some)
		next[fixed], next[i] = next[i], next[fixed]
		if !permute(next, fixed+1, visit) {
			return false
		}
	}
	return true
}

// compareOrders compares every order of every set: the logged changes, and the transactions
// executed one after another.
//
// Two properties are compared, and both are needed:
//
//	the logged changes    give the same value in every order: what a shard that replays its log relies on
//	the calls             return in every order what they returned concurrently: what clients see
//
// A set whose add-count locked "add" would have the first property without the second.
func (c *checker) compareOrders(all []*running, base entry.Value) (r *refutation) {
	first := map[string]string{} // by the set of committed transactions
	firstOrder := map[string]string{}
	c.visitOrders(all, func(order []*running) bool {
		v, err := c.replay(order, base)
		if err != nil {
			r = &refutation{all: all, text: fmt.Sprintf("Applied as planned, %s: %v.", describeOrder(order), err)}
			return false
		}
		r = c.compareSequential(order, base, v, all)
		if r != nil {
			return false
		}
		key := ""
		for _, s := range all {
			if slices.Contains(order, s) {
				key += s.name()
			}
		}
		form := c.form(&v)
		if was, ok := first[key]; ok && was != form {
			r = &refutation{all: all, text: fmt.Sprintf("Different values come of %s (stored as %q) and %s (%q).",
				firstOrder[key], was, describeOrder(order), form)}
			return false
		}
		first[key], firstOrder[key] = form, describeOrder(order)
		return true
	})
	return r
}

// replay applies the logged changes of transactions in an order.
func (c *checker) replay(order []*running, v entry.Value) (entry.Value, error) {
	for _, s := range order {
		if len(s.logged) == 0 {
			continue
		}
		var err error
		v, err = c.apply(&v, s.logged)
		if err != nil {
			return v, fmt.Errorf("%s fails: %w", s.name(), err)
		}
	}
	return v, nil
}

// compareSequential executes transactions one after another, and compares their results with those
// that they returned when planned concurrently, and the value with that of the logged changes.
func (c *checker) compareSequential(order []*running, base, logged entry.Value, all []*running) *refutation {
	v := base
	for _, s := range order {
		plain := v
		o, after := c.perform(v, s.calls, s.number, false, nil)
		if !o.equals(&s.outcome) {
			return &refutation{all: all, text: fmt.Sprintf("%s was %s. In this order it would be %s: %s.", s.name(),
				s.outcome.describe(), o.describe(), describeOrder(order))}
		}
		v = after
		if len(s.plain) == len(s.logged) {
			continue
		}
		apart, err := c.apply(&plain, s.plain)
		both, err2 := c.apply(&plain, s.logged)
		if err == nil && (err2 != nil || c.form(&apart) != c.form(&both)) {
			return &refutation{all: all, text: fmt.Sprintf(
				"%s changes %s, which Combine has made %s of. It is not the same: %q, and %q combined (error %v).",
				s.name(), c.describeCalls(s.plain), c.describeCalls(s.logged), c.form(&apart), c.form(&both), err2)}
		}
	}
	if a, b := c.form(&v), c.form(&logged); a != b {
		return &refutation{all: all,
			text: fmt.Sprintf("What was planned beside the others is not what it would have been alone, in the order %s: "+
				"the value is stored as %q, and would be as %q.",
				describeOrder(order), b, a)}
	}
	return nil
}

// checkReader verifies that changes under locks compatible with a reader's do not change what the
// reader returned. The reader is a read-only transaction: it has the lock of its method, whatever
// the value is.
//
// It is the rule of the snapshot queues: a reader is registered with the modes of its methods' Kinds, and a writer that
// commutes with them does not wait for it. The reader may then read before or after the writer's change is visible.
func (c *checker) checkReader(reader *step, all []*running, base entry.Value) (r *refutation) {
	if reader == nil {
		return nil
	}
	modes := c.t.Modes(reader.method, reader.method.Kind, reader.args)
	all = slices.DeleteFunc(slices.Clone(all), func(s *running) bool {
		return !c.areCompatible(modes, c.t.ChangeModes(s.logged))
	})
	was, _ := c.perform(base, []step{*reader}, 99, false, nil)
	for _, s := range all {
		s.fate, s.decidedBefore = undecided, nil // in any order, and each may be the only one that commits
		c.recordHeldTogether(modes, c.t.ChangeModes(s.logged))
	}
	c.visitOrders(all, func(order []*running) bool {
		v, err := c.replay(order, base)
		if err != nil {
			return true // not a possible order: the change requires another one
		}
		is, _ := c.perform(v, []step{*reader}, 99, false, nil)
		if !is.equals(&was) {
			r = &refutation{all: all, reader: reader, text: fmt.Sprintf(
				"A read-only transaction receives %s before %s, and %s after it, although its lock, %s, goes together with "+
					"the change.",
				was.describe(), describeOrder(order), is.describe(), c.describeModes(modes))}
		}
		return r == nil
	})
	return r
}

// recordConflict records whether two calls with conflicting locks would really have conflicted.
//
// It serves Report.Strict only: a pair that never really conflicts could be declared to commute, which would let more
// transactions run concurrently.
func (c *checker) recordConflict(tr *trial) {
	if len(tr.txns) < 2 {
		return
	}
	base := c.build(tr.setup)
	a, b := &tr.txns[0], &tr.txns[1]
	x, y := a.calls[:1], b.calls[:1]
	ox, afterX := c.perform(base, x, 0, a.ahead, nil)
	oy, afterY := c.perform(base, y, 1, b.ahead, nil)
	if ox.err != nil || oy.err != nil || !haveOneKind(ox.modes) || !haveOneKind(oy.modes) ||
		c.areCompatible(ox.modes, oy.modes) {
		return
	}
	yLater, xy := c.perform(afterX, y, 1, b.ahead, nil)
	xLater, yx := c.perform(afterY, x, 0, a.ahead, nil)
	conflict := !yLater.equals(&oy) || !xLater.equals(&ox) || c.form(&xy) != c.form(&yx)
	p, q := ox.modes[0], oy.modes[0]
	pair := [2]adt.Kind{min(p.Kind(), q.Kind()), max(p.Kind(), q.Kind())}
	s := c.conflicts[pair]
	if s == nil {
		s = &conflictStats{}
		c.conflicts[pair] = s
	}
	s.tried++
	if conflict {
		s.conflicts++
	}
	if concernOtherParts(ox.modes, oy.modes) {
		s.triedOtherParts++
		if conflict {
			s.conflictsOtherParts++
		}
	}
}

// haveOneKind reports whether all modes of a call are of one kind, so that a conflict can be attributed to it.
func haveOneKind(modes []adt.Mode) bool {
	for _, m := range modes {
		if m.Kind() != modes[0].Kind() {
			return false
		}
	}
	return len(modes) > 0
}

// concernOtherParts reports whether no part of a is one of b. A mode of the whole value concerns every part.
func concernOtherParts(a, b []adt.Mode) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Part() == 0 || y.Part() == 0 || x.Part() == y.Part() {
				return false
			}
		}
	}
	return true
}
