package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// trial is one attempt to refute a declaration: a value, given by the calls that
// made it, and transactions that come to it in this order.
type trial struct {
	setup  []step
	txns   []actor
	reader *step
}

// actor is a transaction in a trial.
type actor struct {
	calls []step
	// ahead: it is answered in its place of the order, and prepared only after
	// all others.
	ahead bool
	// fates are what has become of those before it when it comes.
	fates []fate
	// late is what becomes of those that are in its way when it was answered ahead
	// and is to be prepared.
	late fate
}

// fate is what becomes of a transaction.
type fate uint8

const (
	undecided fate = iota
	committed
	aborted
)

// standing is a transaction while a trial runs.
type standing struct {
	*actor
	outcome
	number int
	// left: it waits for a lock, or has failed, and so is no more part of it.
	left     bool
	prepared bool
	fate     fate
	// after are those that were decided before it was planned.
	after []int
}

// refute runs a trial, and tells what is wrong if it finds anything.
func (c *checker) refute(tr *trial) *refutation {
	c.kept = c.kept[:0]
	base := c.build(tr.setup)
	r := c.beside(tr, base)
	c.untouched()
	if wrong := c.told(tr); wrong != nil {
		return wrong
	}
	if r != nil {
		r.trial = tr
	}
	return r
}

// build makes the trial's value.
func (c *checker) build(setup []step) (v entry.Value) {
	for i := range setup {
		if o, after := c.perform(v, setup[i:i+1], 1000+i, false, nil); o.err == nil {
			v = after
		}
	}
	if v.Exists() {
		c.keep(&v, "at the beginning")
	}
	return v
}

// beside has the transactions planned beside each other.
func (c *checker) beside(tr *trial, base entry.Value) *refutation {
	stored := c.roundTrip(&base, "at the beginning")
	all := make([]*standing, len(tr.txns))
	visible := base
	for i := range tr.txns {
		s := &standing{actor: &tr.txns[i], number: i}
		all[i] = s
		if r := c.restored(s, base, stored); r != nil {
			return r
		}
		for j, f := range s.fates {
			if r := c.decide(all[j], f, &visible); r != nil {
				return r
			}
		}
		for j := range i {
			if all[j].fate == committed {
				s.after = append(s.after, j)
			}
		}
		if r := c.arrive(s, all[:i], visible, s.ahead); r != nil {
			return r
		}
		s.prepared = !s.ahead
	}
	for _, s := range all {
		if s.ahead && !s.left {
			if r := c.prepareLate(s, all, &visible); r != nil {
				return r
			}
		}
	}
	all = slices.DeleteFunc(all, func(s *standing) bool { return s.left || s.fate == aborted })
	if len(all) > 1 {
		c.pairs++
		c.stood(all)
	}
	if r := c.everyOrder(all, base); r != nil {
		return r
	}
	return c.readers(tr.reader, all, base)
}

// arrive plans a transaction beside those that are undecided. If their locks do
// not go together with its own it has left: the shard would plan it again once
// they are decided.
func (c *checker) arrive(s *standing, others []*standing, visible entry.Value, ahead bool) *refutation {
	s.outcome, _ = c.perform(visible, s.calls, s.number, ahead, c.undecidedCalls(others, s))
	s.left = s.err != nil
	for _, o := range others {
		if o != s && !o.left && o.fate == undecided && !c.together(s.modes, o.modes) {
			s.left = true
			c.waits++
			return nil
		}
	}
	if s.err != nil {
		return c.failsAnyway(s, others, visible)
	}
	return nil
}

func (c *checker) undecidedCalls(all []*standing, but *standing) visitor {
	return func(visit func([]msg.Call)) {
		for _, o := range all {
			if o != but && o != nil && o.prepared && !o.left && o.fate == undecided && len(o.logged) > 0 {
				visit(o.logged)
			}
		}
	}
}

// prepareLate plans once more what was answered ahead: its locks have kept that
// true. It may have to wait for others first.
func (c *checker) prepareLate(s *standing, all []*standing, visible *entry.Value) *refutation {
	ahead := s.outcome
	s.outcome, _ = c.perform(*visible, s.calls, s.number, false, c.undecidedCalls(all, s))
	for _, o := range all {
		if o == s || o.left || o.fate != undecided || c.together(s.modes, o.modes) {
			continue
		}
		if r := c.decide(o, s.late, visible); r != nil {
			return r
		}
		if o.fate == undecided {
			s.left = true
			return nil
		}
	}
	s.outcome, _ = c.perform(*visible, s.calls, s.number, false, c.undecidedCalls(all, s))
	for _, o := range all {
		switch {
		case o == s || o.left || c.together(s.modes, o.modes):
		case o.fate == committed:
			s.after = append(s.after, o.number)
		case o.fate == undecided:
			s.left = true
			return nil
		}
	}
	if s.err != nil { // what it was answered does not count
		s.left = true
		return c.failsAnyway(s, all, *visible)
	}
	if !s.same(&ahead) {
		now := s.outcome.words()
		s.outcome = ahead
		return &refutation{all: all, says: fmt.Sprintf("%s was %s ahead of its commit. When it was prepared, still under its locks, it was %s.",
			s.name(), ahead.words(), now)}
	}
	s.modes = append(s.modes, ahead.modes...)
	s.prepared = true
	return nil
}

// decide commits or aborts a transaction; a commit is visible at once.
func (c *checker) decide(s *standing, f fate, visible *entry.Value) *refutation {
	if s.left || !s.prepared || s.fate != undecided || f == undecided {
		return nil
	}
	s.fate = f
	if f == aborted {
		return nil
	}
	after, err := c.apply(visible, s.logged)
	if err != nil {
		return &refutation{all: []*standing{s}, says: fmt.Sprintf("%s was planned, and cannot be applied after what the others have changed: %v.", s.name(), err)}
	}
	*visible = after
	return nil
}

// restored: a transaction comes to the same on a value that was stored.
func (c *checker) restored(s *standing, base, stored entry.Value) *refutation {
	live, v := c.perform(base, s.calls, s.number, s.ahead, nil)
	back, w := c.perform(stored, s.calls, s.number, s.ahead, nil)
	if live.same(&back) && c.form(&v) == c.form(&w) {
		return nil
	}
	s.outcome = live
	return &refutation{all: []*standing{s}, says: fmt.Sprintf("Encode and Decode lose something: %s is %s, and once the value was stored and read back it is %s.",
		s.name(), live.words(), back.words())}
}

// failsAnyway: a transaction fails only if it does whatever becomes of the
// undecided.
func (c *checker) failsAnyway(s *standing, others []*standing, visible entry.Value) (r *refutation) {
	var open []*standing
	for _, o := range others {
		if !o.left && o.prepared && o.fate == undecided {
			open = append(open, o)
		}
	}
	c.orders(open, func(order []*standing) bool {
		v := visible
		for _, o := range order {
			var err error
			v, err = c.apply(&v, o.logged)
			if err != nil {
				return true // everyOrder tells
			}
		}
		alone, _ := c.perform(v, s.calls, s.number, false, nil)
		if kv.KindOf(alone.err) != kv.KindOf(s.err) {
			r = &refutation{all: append(slices.Clone(open), s), says: fmt.Sprintf("%s fails (%v) while %s undecided. Where %s before it, it is %s.",
				s.name(), s.err, names(open, "is"), committing(order), alone.words())}
		}
		return r == nil
	})
	return r
}
