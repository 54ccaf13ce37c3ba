package check

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// step is a call in a trial.
type step struct {
	method *adt.TypeMethod
	args   adt.Args
}

// outcome is the result of planning the calls of a transaction.
type outcome struct {
	// answers are the results of the calls, up to one that failed.
	answers [][]msg.Datum
	err     error
	// modes are the needed locks; for a failure that names none, that of its method.
	modes []adt.Mode
	// logged are the changes after Combine, as others see them; plain are those before.
	logged, plain []msg.Call
}

// visitor visits the calls of undecided transactions.
type visitor = func(func([]msg.Call))

// perform plans the calls of a transaction, one after another, on a value.
//
// A failure ends the transaction: what it has changed is discarded, and the locks up to the failed call are what keeps
// the failure true.
func (c *checker) perform(v entry.Value, calls []step, number int, ahead bool, others visitor) (outcome, entry.Value) {
	var o outcome
	for i := range calls {
		s := &calls[i]
		p, modes := c.plan(&v, s, number<<8|i, ahead, others)
		o.modes = append(o.modes, modes...)
		if p.Err != nil {
			if len(modes) == 0 {
				o.modes = append(o.modes, c.t.Modes(s.method, s.method.Kind, s.args)...)
			}
			o.err = p.Err
			return o, v
		}
		o.answers = append(o.answers, p.Answer)
		c.checkPlan(&v, s, &p)
		if len(p.Calls) == 0 {
			c.succeeded[s.method.Number] = true
			continue
		}
		after, err := c.apply(&v, p.Calls)
		if err != nil {
			o.err = err
			return o, v // unchanged
		}
		v = after
		c.succeeded[s.method.Number] = true
		o.plain = append(o.plain, p.Calls...)
		o.logged = c.t.CombineCalls(slices.Clone(o.logged), p.Calls)
	}
	return o, v
}

// plan plans a call and verifies that it does not change its arguments.
//
// Arguments are in the log and in messages that may be sent again, so a plan must leave them as they are.
func (c *checker) plan(v *entry.Value, s *step, number int, ahead bool, others visitor) (adt.Plan, []adt.Mode) {
	r := adt.Request{Method: s.method, Args: slices.Clone(s.args), Value: v, Ahead: ahead, Others: others}
	binary.BigEndian.PutUint64(r.Unique[16:], uint64(number))
	p, modes := r.Plan(nil)
	if !sameArgs(r.Args, s.args) {
		c.report("The call %s alters its arguments, which become %s.", s, step{s.method, r.Args})
	}
	return p, modes
}

// checkPlan verifies a plan against the declaration of its method.
//
// The kind of the method stands for the needed kind wherever the value is not known: at another shard, in the log, for
// read-only transactions. So it must conflict with everything that any plan's kind conflicts with.
func (c *checker) checkPlan(v *entry.Value, s *step, p *adt.Plan) {
	m := s.method
	switch {
	case len(p.Answer) > 0 && !m.Answers:
		c.report("The method %s answers something and does not say so (Answers).", m.Name)
	case len(p.Calls) > 0 && !m.Changes:
		c.report("The method %s changes the value, under %q, which is declared not to.", m.Name, c.t.Kinds[m.Kind-1].Name)
	case p.Need == 0 && len(p.Calls) > 0:
		c.report("The call %s changes the value and needs no lock.", s)
	case p.Need == 0:
		return
	case !c.t.Has(p.Need):
		c.report("The call %s needs the kind of lock %d, which is not declared.", s, p.Need)
		return
	}
	need := &c.t.Kinds[p.Need-1]
	c.needed[[2]uint32{m.Number, uint32(p.Need)}] = true
	if len(p.Calls) > 0 && !need.Changes {
		c.report("The call %s changes the value under the lock %q, which is declared not to.", s, need.Name)
	}
	if len(p.Calls) == 0 && need.Changes {
		c.recordIdle(m, need)
	}
	for k := adt.Kind(1); int(k) <= len(c.t.Kinds); k++ {
		if strictness(c.t.Relation(p.Need, k)) > strictness(c.t.Relation(m.Kind, k)) {
			c.report("The call %s needs the lock %q, which keeps %q out. The lock that stands in its place where the value "+
				"is not known, %q, does not.",
				s, need.Name, c.t.Kinds[k-1].Name, c.t.Kinds[m.Kind-1].Name)
		}
	}
	for i := range p.Calls {
		if to := c.t.Method(p.Calls[i].Method); to == nil || !c.t.CanChange(to) {
			c.report("The call %s plans the change number %d, which there is not.", s, p.Calls[i].Method)
		} else if err := to.CheckArgs(p.Calls[i].Args); err != nil {
			c.report("The call %s plans a change that cannot be made: %v.", s, err)
		}
	}
}

// recordIdle records a lock for changes that was needed although nothing changed.
func (c *checker) recordIdle(m *adt.TypeMethod, need *adt.KindSpec) {
	text := fmt.Sprintf("%s sometimes needs the lock %q though it changes nothing", m.Name, need.Name)
	if !slices.Contains(c.idleLocks, text) {
		c.idleLocks = append(c.idleLocks, text)
	}
}

// strictness orders the results of Relation.
func strictness(w adt.When) int {
	switch w {
	case adt.Always:
		return 0
	case adt.OtherPart:
		return 1
	}
	return 2
}

// apply applies changes twice, and verifies that the results are equal and the inputs unchanged.
//
// The second result is compared with the first to find functions that depend on something else than their arguments, or
// that change what they were given: a map or slice in a value that is shared by versions.
func (c *checker) apply(v *entry.Value, calls []msg.Call) (entry.Value, error) {
	before := c.form(v)
	args := make([]adt.Args, len(calls))
	for i := range calls {
		args[i] = cloneArgs(calls[i].Args)
	}
	after, err := c.t.Apply(v, calls)
	after.Version = kv.Version{Write: 1} // an existing value has a version
	form := ""
	if err == nil {
		form = c.form(&after)
	}
	again, err2 := c.t.Apply(v, calls)
	again.Version = after.Version
	text := c.describeCalls(calls)
	switch {
	case kv.KindOf(err) != kv.KindOf(err2), err == nil && c.form(&again) != form:
		c.report("Applying %s twice to the same value does not give the same.", text)
	case c.form(v) != before:
		c.report("Applying %s alters the value that it is given.", text)
	case err == nil && c.form(&after) != form:
		c.report("Applying %s alters what it has given before.", text)
	}
	for i := range calls {
		if !sameArgs(calls[i].Args, args[i]) {
			c.report("Applying %s alters the arguments.", text)
		}
	}
	if err == nil {
		c.checkEmpty(&after, v, calls)
		c.takeSnapshot(&after, "after "+text)
	}
	return after, err
}

// checkEmpty verifies that an Empty value equals Zero: it becomes an absent key.
//
// Otherwise something of the value would be lost when its last element is removed, for example a limit that a create
// has set.
func (c *checker) checkEmpty(after, v *entry.Value, calls []msg.Call) {
	if after.Exists() {
		return
	}
	s, err := c.t.State(v)
	for i := range calls {
		if err == nil {
			s, err = c.t.ApplyCall(c.t.Method(calls[i].Method), s, calls[i].Args)
		}
	}
	if err == nil && string(c.t.Encode(s)) != string(c.t.Encode(c.t.Zero())) {
		c.report("After %s the value is Empty, and yet another one than Zero.", c.describeCalls(calls))
	}
}

// areCompatible reports whether two sets of modes can be held at once.
func (c *checker) areCompatible(a, b []adt.Mode) bool {
	for _, x := range a {
		for _, y := range b {
			if (c.canChange(x) || c.canChange(y)) && !c.t.AreCompatible(x, y) {
				return false
			}
		}
	}
	return true
}

func (c *checker) canChange(m adt.Mode) bool {
	return c.t.Has(m.Kind()) && c.t.Kinds[m.Kind()-1].Changes
}

func sameArgs(a, b adt.Args) bool {
	return slices.EqualFunc(a, b, func(x, y msg.Datum) bool {
		return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && string(x.Bytes) == string(y.Bytes)
	})
}

func cloneArgs(a adt.Args) adt.Args {
	out := slices.Clone(a)
	for i := range out {
		out[i].Bytes = slices.Clone(out[i].Bytes)
	}
	return out
}

// equals reports whether two outcomes have the same answers and kind of failure.
func (o *outcome) equals(b *outcome) bool {
	return kv.KindOf(o.err) == kv.KindOf(b.err) && slices.EqualFunc(o.answers, b.answers, sameArgs)
}
