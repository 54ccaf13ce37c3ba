package check

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// shrink reduces a counterexample while it remains one, and describes it. The reduced trial may
// violate another rule than the original one.
//
// It is greedy: the first reduction that is still a counterexample is taken, and reductions start again from it. The
// result is minimal in that no single reduction of it is one.
func (c *checker) shrink(tr *trial, r *refutation) string {
	for tries := 0; tries < maxShrinkTrials; {
		smaller := false
		for _, next := range tr.reductions() {
			tries++
			if tries > maxShrinkTrials {
				break
			}
			if s := c.refute(next); s != nil {
				tr, r, smaller = next, s, true
				break
			}
		}
		if !smaller {
			break
		}
	}
	return c.describe(r)
}

// maxShrinkTrials bounds the trials of one reduction.
const maxShrinkTrials = 5000

// reductions returns slightly smaller trials, the largest reduction first.
func (tr *trial) reductions() (out []*trial) {
	edit := func(f func(*trial)) {
		next := tr.clone()
		f(next)
		out = append(out, next)
	}
	if n := len(tr.setup); n > 3 {
		edit(func(t *trial) { t.setup = t.setup[n/2:] })
		edit(func(t *trial) { t.setup = t.setup[:n/2] })
	}
	for i := range tr.txns {
		edit(func(t *trial) { t.drop(i) })
	}
	for i := range tr.setup {
		edit(func(t *trial) { t.setup = slices.Delete(t.setup, i, i+1) })
	}
	if tr.reader != nil {
		edit(func(t *trial) { t.reader = nil })
	}
	for i := range tr.txns {
		a := &tr.txns[i]
		for k := range a.calls {
			if len(a.calls) > 1 {
				edit(func(t *trial) { t.txns[i].calls = slices.Delete(t.txns[i].calls, k, k+1) })
			}
		}
		if a.ahead {
			edit(func(t *trial) { t.txns[i].ahead = false })
		}
		for j, f := range a.fates {
			if f != undecided {
				edit(func(t *trial) { t.txns[i].fates[j] = undecided })
			}
		}
	}
	tr.visitSteps(func(n int, s *step) {
		for _, args := range s.simplerArgs() {
			edit(func(t *trial) {
				t.visitSteps(func(m int, s *step) {
					if m == n {
						s.args = args
					}
				})
			})
		}
	})
	return out
}

// clone copies what reductions change. Arguments are shared: they are replaced, not changed.
func (tr *trial) clone() *trial {
	out := &trial{setup: slices.Clone(tr.setup)}
	for _, a := range tr.txns {
		a.calls, a.fates = slices.Clone(a.calls), slices.Clone(a.fates)
		out.txns = append(out.txns, a)
	}
	if tr.reader != nil {
		r := *tr.reader
		out.reader = &r
	}
	return out
}

// drop removes a transaction, and the decisions of later ones about it.
func (tr *trial) drop(i int) {
	tr.txns = slices.Delete(tr.txns, i, i+1)
	for j := i; j < len(tr.txns); j++ {
		tr.txns[j].fates = slices.Delete(tr.txns[j].fates, i, i+1)
	}
}

// visitSteps visits all calls with their number, which is the same in a clone.
func (tr *trial) visitSteps(f func(n int, s *step)) {
	n := 0
	visit := func(s *step) { f(n, s); n++ }
	for i := range tr.setup {
		visit(&tr.setup[i])
	}
	for i := range tr.txns {
		for k := range tr.txns[i].calls {
			visit(&tr.txns[i].calls[k])
		}
	}
	if tr.reader != nil {
		visit(tr.reader)
	}
}

// simplerArgs returns simpler arguments of a call: fewer, or smaller numbers.
func (s *step) simplerArgs() (out []adt.Args) {
	for cut := 1; cut <= min(4, len(s.args)); cut++ {
		if a := s.args[:len(s.args)-cut]; s.method.CheckArgs(a) == nil {
			out = append(out, a)
		}
	}
	for cut := 1; cut <= min(4, len(s.args)); cut++ {
		if a := s.args[cut:]; s.method.CheckArgs(a) == nil {
			out = append(out, a)
		}
	}
	for i := range s.args {
		for _, d := range simplerData(s.args[i]) {
			a := slices.Clone(s.args)
			a[i] = d
			out = append(out, a)
		}
	}
	return out
}

// simplerData returns simpler data of the same kind. Small numbers are reduced by 1, so that the smallest one that
// still fails is found.
func simplerData(d msg.Datum) (out []msg.Datum) {
	switch {
	case d.Kind == msg.DatumInt && (d.Int > 1 || d.Int < 0):
		if d.Int > 100 || d.Int < -100 {
			out = append(out, adt.Int(1), adt.Int(10))
		} else if d.Int > 1 {
			out = append(out, adt.Int(d.Int-1))
		}
		if d.Int < 0 {
			out = append(out, adt.Int(0), adt.Int(1))
		}
	case d.Kind == msg.DatumFloat && d.Float != 1 && d.Float != 0:
		out = append(out, adt.Float(1))
	case d.Kind == msg.DatumBytes && len(d.Bytes) > 1:
		out = append(out, adt.Bytes(d.Bytes[:1]))
	}
	return out
}
