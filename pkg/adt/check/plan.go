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

// outcome is what a transaction's calls came to when they were planned.
type outcome struct {
	// answers are by calls, up to one that failed.
	answers [][]msg.Datum
	err     error
	// modes are all that it needs; for a failure that names none, those of its
	// method.
	modes []adt.Mode
	// logged are its changes as others see them; plain before any were combined.
	logged, plain []msg.Call
}

// visitor visits the calls of undecided transactions, one after another.
type visitor = func(func([]msg.Call))

// perform plans a transaction's calls one after another on a value.
func (c *checker) perform(v entry.Value, calls []step, who int, ahead bool, others visitor) (outcome, entry.Value) {
	var o outcome
	for i := range calls {
		s := &calls[i]
		p, modes := c.plan(&v, s, who<<8|i, ahead, others)
		o.modes = append(o.modes, modes...)
		if p.Err != nil {
			if len(modes) == 0 {
				o.modes = append(o.modes, c.t.Modes(s.method, s.method.Kind, s.args)...)
			}
			o.err = p.Err
			return o, v
		}
		o.answers = append(o.answers, p.Answer)
		c.admissible(&v, s, &p)
		if len(p.Calls) == 0 {
			c.done[s.method.Number] = true
			continue
		}
		after, err := c.apply(&v, p.Calls)
		if err != nil {
			o.err = err
			return o, v // as it was
		}
		v = after
		c.done[s.method.Number] = true
		o.plain = append(o.plain, p.Calls...)
		o.logged = c.t.Gather(slices.Clone(o.logged), p.Calls)
	}
	return o, v
}

func (c *checker) plan(v *entry.Value, s *step, number int, ahead bool, others visitor) (adt.Plan, []adt.Mode) {
	r := adt.Request{Method: s.method, Args: slices.Clone(s.args), Value: v, Ahead: ahead, Others: others}
	binary.BigEndian.PutUint64(r.Unique[16:], uint64(number))
	p, modes := r.Plan(nil)
	if !sameArgs(r.Args, s.args) {
		c.wrong("The call %s alters its arguments, which become %s.", s, step{s.method, r.Args})
	}
	return p, modes
}

// admissible holds a plan against what its method declares.
func (c *checker) admissible(v *entry.Value, s *step, p *adt.Plan) {
	m := s.method
	switch {
	case len(p.Answer) > 0 && !m.Answers:
		c.wrong("The method %s answers something and does not say so (Answers).", m.Name)
	case len(p.Calls) > 0 && !m.Changes:
		c.wrong("The method %s changes the value, under %q, which is declared not to.", m.Name, c.t.Kinds[m.Kind-1].Name)
	case p.Need == 0 && len(p.Calls) > 0:
		c.wrong("The call %s changes the value and needs no lock.", s)
	case p.Need == 0:
		return
	case !c.t.Has(p.Need):
		c.wrong("The call %s needs the kind of lock %d, which is not declared.", s, p.Need)
		return
	}
	need := &c.t.Kinds[p.Need-1]
	c.needed[[2]uint32{m.Number, uint32(p.Need)}] = true
	if len(p.Calls) > 0 && !need.Changes {
		c.wrong("The call %s changes the value under the lock %q, which is declared not to.", s, need.Name)
	}
	if len(p.Calls) == 0 && need.Changes {
		c.idles(m, need)
	}
	for k := adt.Kind(1); int(k) <= len(c.t.Kinds); k++ {
		if strictness(c.t.Relation(p.Need, k)) > strictness(c.t.Relation(m.Kind, k)) {
			c.wrong("The call %s needs the lock %q, which keeps %q out. The lock that stands in its place where the value is not known, %q, does not.",
				s, need.Name, c.t.Kinds[k-1].Name, c.t.Kinds[m.Kind-1].Name)
		}
	}
	for i := range p.Calls {
		if to := c.t.Method(p.Calls[i].Method); to == nil || !c.t.CanChange(to) {
			c.wrong("The call %s plans the change number %d, which there is not.", s, p.Calls[i].Method)
		} else if err := to.Fits(p.Calls[i].Args); err != nil {
			c.wrong("The call %s plans a change that cannot be made: %v.", s, err)
		}
	}
}

func (c *checker) idles(m *adt.TypeMethod, need *adt.KindSpec) {
	says := fmt.Sprintf("%s sometimes needs the lock %q though it changes nothing", m.Name, need.Name)
	if !slices.Contains(c.idle, says) {
		c.idle = append(c.idle, says)
	}
}

// strictness orders what Relation gives.
func strictness(w adt.When) int {
	switch w {
	case adt.Always:
		return 0
	case adt.OtherPart:
		return 1
	}
	return 2
}

// apply makes changes, twice, and finds out whether they are the same both
// times and leave alone what they were given.
func (c *checker) apply(v *entry.Value, calls []msg.Call) (entry.Value, error) {
	before := c.form(v)
	args := make([]adt.Args, len(calls))
	for i := range calls {
		args[i] = cloneArgs(calls[i].Args)
	}
	after, err := c.t.Apply(v, calls)
	after.Version = kv.Version{Write: 1} // as one that exists
	form := ""
	if err == nil {
		form = c.form(&after)
	}
	again, err2 := c.t.Apply(v, calls)
	again.Version = after.Version
	says := c.words(calls)
	switch {
	case kv.KindOf(err) != kv.KindOf(err2), err == nil && c.form(&again) != form:
		c.wrong("Applying %s twice to the same value does not give the same.", says)
	case c.form(v) != before:
		c.wrong("Applying %s alters the value that it is given.", says)
	case err == nil && c.form(&after) != form:
		c.wrong("Applying %s alters what it has given before.", says)
	}
	for i := range calls {
		if !sameArgs(calls[i].Args, args[i]) {
			c.wrong("Applying %s alters the arguments.", says)
		}
	}
	if err == nil {
		c.emptied(&after, v, calls)
		c.keep(&after, "after "+says)
	}
	return after, err
}

// emptied: a value that goes away is as good as none, to the last bit.
func (c *checker) emptied(after, v *entry.Value, calls []msg.Call) {
	if after.Exists() {
		return
	}
	s, err := c.t.State(v)
	for i := range calls {
		if err == nil {
			s, err = c.t.Change(c.t.Method(calls[i].Method), s, calls[i].Args)
		}
	}
	if err == nil && string(c.t.Encode(s)) != string(c.t.Encode(c.t.Zero())) {
		c.wrong("After %s the value is Empty, and yet another one than Zero.", c.words(calls))
	}
}

// together reports whether two sets of modes may be held beside each other.
func (c *checker) together(a, b []adt.Mode) bool {
	for _, x := range a {
		for _, y := range b {
			if (c.changes(x) || c.changes(y)) && !c.t.Together(x, y) {
				return false
			}
		}
	}
	return true
}

func (c *checker) changes(m adt.Mode) bool { return c.t.Has(m.Kind()) && c.t.Kinds[m.Kind()-1].Changes }

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

// same reports whether a transaction came to the same twice.
func (o *outcome) same(b *outcome) bool {
	return kv.KindOf(o.err) == kv.KindOf(b.err) && slices.EqualFunc(o.answers, b.answers, sameArgs)
}
