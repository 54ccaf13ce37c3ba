package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// trial is one attempt to find a counterexample: a value, made by calls, and transactions in the
// order of their arrival.
//
// Example, for a set:
//
//	setup      add a
//	A          add b                    undecided
//	B          contains b               planned beside A; before it arrives, A is committed if B's fates say so
//	C, ahead   remove a                 answered now, prepared after all others
//	reader     len                      read-only, with the lock of its method
type trial struct {
	setup  []step
	txns   []txn
	reader *step
}

// txn is a transaction in a trial.
type txn struct {
	calls []step
	// ahead: it is answered at its position, and prepared after all others.
	ahead bool
	// fates are the decisions about the transactions before it when it arrives.
	fates []fate
	// fateWhenBlocking is the decision about the transactions that block it, if it was answered
	// ahead and is to be prepared.
	fateWhenBlocking fate
}

// fate is the decision about a transaction.
type fate uint8

const (
	undecided fate = iota
	committed
	aborted
)

// running is a transaction in a running trial.
type running struct {
	*txn
	outcome
	number int
	// dropped: it waits for a lock or has failed, and takes no further part.
	dropped  bool
	prepared bool
	fate     fate
	// decidedBefore are the transactions that were decided before it was planned.
	decidedBefore []int
}

// refute runs a trial and returns a violation, nil if there is none.
//
// It is deterministic: the same trial gives the same result, so shrink can run a smaller one and compare.
func (c *checker) refute(tr *trial) *refutation {
	c.snapshots = c.snapshots[:0]
	base := c.build(tr.setup)
	r := c.runConcurrently(tr, base)
	c.checkSnapshots()
	if wrong := c.takeRefutation(tr); wrong != nil {
		return wrong
	}
	if r != nil {
		r.trial = tr
	}
	return r
}

// build makes the value of the trial.
func (c *checker) build(setup []step) (v entry.Value) {
	for i := range setup {
		if o, after := c.perform(v, setup[i:i+1], 1000+i, false, nil); o.err == nil {
			v = after
		}
	}
	if v.Exists() {
		c.takeSnapshot(&v, "at the beginning")
	}
	return v
}

// runConcurrently plans the transactions concurrently, decides some of them, and compares all
// orders.
//
// The order of a trial is that of a shard: transactions arrive one after another, each sees what was committed before
// it and the calls that are undecided, and those that were answered ahead are prepared last.
func (c *checker) runConcurrently(tr *trial, base entry.Value) *refutation {
	stored := c.roundTrip(&base, "at the beginning")
	all := make([]*running, len(tr.txns))
	visible := base
	for i := range tr.txns {
		s := &running{txn: &tr.txns[i], number: i}
		all[i] = s
		if r := c.compareStored(s, base, stored); r != nil {
			return r
		}
		for j, f := range s.fates {
			if r := c.decide(all[j], f, &visible); r != nil {
				return r
			}
		}
		for j := range i {
			if all[j].fate == committed {
				s.decidedBefore = append(s.decidedBefore, j)
			}
		}
		if r := c.planBeside(s, all[:i], visible, s.ahead); r != nil {
			return r
		}
		s.prepared = !s.ahead
	}
	for _, s := range all {
		if s.ahead && !s.dropped {
			if r := c.prepareLate(s, all, &visible); r != nil {
				return r
			}
		}
	}
	all = slices.DeleteFunc(all, func(s *running) bool { return s.dropped || s.fate == aborted })
	if len(all) > 1 {
		c.pairs++
		c.recordPairs(all)
	}
	if r := c.compareOrders(all, base); r != nil {
		return r
	}
	return c.checkReader(tr.reader, all, base)
}

// planBeside plans a transaction beside undecided ones. If their locks conflict with its own it is
// dropped: a shard would plan it again after their decision.
//
// A dropped transaction proves nothing, but it is counted in Report.Waits, and a declaration under which too many wait
// shows in Report.Strict.
func (c *checker) planBeside(s *running, others []*running, visible entry.Value, ahead bool) *refutation {
	s.outcome, _ = c.perform(visible, s.calls, s.number, ahead, c.undecidedCalls(others, s))
	s.dropped = s.err != nil
	for _, o := range others {
		if o != s && !o.dropped && o.fate == undecided && !c.areCompatible(s.modes, o.modes) {
			s.dropped = true
			c.waits++
			return nil
		}
	}
	if s.err != nil {
		return c.checkFailure(s, others, visible)
	}
	return nil
}

// Others are visible to a plan only from their preparation to their decision, as on a shard: what was answered ahead is
// protected by its lock alone until then.
func (c *checker) undecidedCalls(all []*running, but *running) visitor {
	return func(visit func([]msg.Call)) {
		for _, o := range all {
			if o != but && o != nil && o.prepared && !o.dropped && o.fate == undecided && len(o.logged) > 0 {
				visit(o.logged)
			}
		}
	}
}

// prepareLate plans a transaction again that was answered ahead. Its locks must have kept the
// answer true. It may have to wait for others first.
//
// History that needs it: A subtracts 3 of 5 and is answered ahead. B subtracts 4 and commits. If A had only the lock
// "subtract", it would now fail although its client has the answer. The lock "alone" makes B wait.
func (c *checker) prepareLate(s *running, all []*running, visible *entry.Value) *refutation {
	ahead := s.outcome
	s.outcome, _ = c.perform(*visible, s.calls, s.number, false, c.undecidedCalls(all, s))
	for _, o := range all {
		if o == s || o.dropped || o.fate != undecided || c.areCompatible(s.modes, o.modes) {
			continue
		}
		if r := c.decide(o, s.fateWhenBlocking, visible); r != nil {
			return r
		}
		if o.fate == undecided {
			s.dropped = true
			return nil
		}
	}
	s.outcome, _ = c.perform(*visible, s.calls, s.number, false, c.undecidedCalls(all, s))
	for _, o := range all {
		switch {
		case o == s || o.dropped || c.areCompatible(s.modes, o.modes):
		case o.fate == committed:
			s.decidedBefore = append(s.decidedBefore, o.number)
		case o.fate == undecided:
			s.dropped = true
			return nil
		}
	}
	if s.err != nil { // the transaction aborts, so its answer has no effect
		s.dropped = true
		return c.checkFailure(s, all, *visible)
	}
	if !s.equals(&ahead) {
		now := s.outcome.describe()
		s.outcome = ahead
		return &refutation{all: all,
			text: fmt.Sprintf("%s was %s ahead of its commit. When it was prepared, still under its locks, it was %s.",
				s.name(), ahead.describe(), now)}
	}
	s.modes = append(s.modes, ahead.modes...)
	s.prepared = true
	return nil
}

// decide commits or aborts a transaction; a commit is visible immediately.
func (c *checker) decide(s *running, f fate, visible *entry.Value) *refutation {
	if s.dropped || !s.prepared || s.fate != undecided || f == undecided {
		return nil
	}
	s.fate = f
	if f == aborted {
		return nil
	}
	after, err := c.apply(visible, s.logged)
	if err != nil {
		return &refutation{all: []*running{s}, text: fmt.Sprintf(
			"%s was planned, and cannot be applied after what the others have changed: %v.", s.name(), err)}
	}
	*visible = after
	return nil
}

// compareStored verifies that a transaction has the same outcome on the value after it was stored
// and read back.
//
// A shard plans on the decoded value, and after a restart on the stored one. Both must give the same plan.
func (c *checker) compareStored(s *running, base, stored entry.Value) *refutation {
	live, v := c.perform(base, s.calls, s.number, s.ahead, nil)
	back, w := c.perform(stored, s.calls, s.number, s.ahead, nil)
	if live.equals(&back) && c.form(&v) == c.form(&w) {
		return nil
	}
	s.outcome = live
	return &refutation{all: []*running{s}, text: fmt.Sprintf(
		"Encode and Decode lose something: %s is %s, and once the value was stored and read back it is %s.",
		s.name(), live.describe(), back.describe())}
}

// checkFailure verifies that a failed transaction fails for every outcome of the undecided ones.
//
// Example: 5 are left, A has subtracted 3 and is undecided, and B's subtraction of 4 fails at once. If A aborts, B
// would have succeeded: no serial order explains the failure. B has to wait for A.
//
// Only the kind of the error is compared: texts contain amounts, which depend on the order.
func (c *checker) checkFailure(s *running, others []*running, visible entry.Value) (r *refutation) {
	var open []*running
	for _, o := range others {
		if !o.dropped && o.prepared && o.fate == undecided {
			open = append(open, o)
		}
	}
	c.visitOrders(open, func(order []*running) bool {
		v := visible
		for _, o := range order {
			var err error
			v, err = c.apply(&v, o.logged)
			if err != nil {
				return true // compareOrders reports it
			}
		}
		alone, _ := c.perform(v, s.calls, s.number, false, nil)
		if kv.KindOf(alone.err) != kv.KindOf(s.err) {
			r = &refutation{all: append(slices.Clone(open), s),
				text: fmt.Sprintf("%s fails (%v) while %s undecided. Where %s before it, it is %s.",
					s.name(), s.err, describeTxns(open, "is"), describeCommits(order), alone.describe())}
		}
		return r == nil
	})
	return r
}
