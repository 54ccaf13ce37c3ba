package history

import (
	"fmt"
	"slices"
)

// inferAbsences narrows the observations that match several effects: absences of keys that were deleted more than once,
// bare existence, and values that were written twice. It removes the effects that cannot be the last one before the
// observation. If one remains, it is bound; if none does, that is an anomaly.
func (j *checker) inferAbsences() {
	open := j.open
	j.open = nil
	for _, i := range open {
		fits := j.candidates(i)
		switch len(fits) {
		case 0:
			a := &j.acc[i]
			j.verdict.add(ImpossibleAbsence,
				fmt.Sprintf("%s saw %v at %q, and no transaction that left the key so can be the last one before it.",
					describeTxn(j.nodes[a.node]), cell{obs: a.obs, value: a.saw}, j.names[a.key]))
			return
		case 1:
			j.bind(i, fits[0])
		default:
			j.open = append(j.open, i)
		}
	}
}

// candidates returns the nodes (or fromInitial) whose effect the access i may have observed.
func (j *checker) candidates(i int32) []int32 {
	a := &j.acc[i]
	ks := &j.keys[a.key]
	g := j.g
	r := a.node
	var fits, known []int32
	earliest := g.lo[r] // whatever ended earlier is followed by another effect before r
	if ks.writers != nil {
		if last, ok := ks.writers.lastBefore(g.lo[r]); ok {
			earliest = g.lo[last]
		}
		known = ks.writers.overlapping(earliest, g.hi[r], nil)
	}
	before := j.before.reach(r)
	earlier := slices.DeleteFunc(slices.Clone(known), func(v int32) bool { return v == r || !before.has(v) })
	if len(earlier) == 0 && j.initialFits(a) {
		fits = append(fits, fromInitial)
	}
	for _, v := range known {
		if v != r && j.effectFits(a, v) && !j.after.reach(r).has(v) && !j.isOverwritten(v, earlier) {
			fits = append(fits, v)
		}
	}
	for _, e := range ks.maybe {
		if v := j.acc[e].node; v != r && matches(a, &j.acc[e]) && !g.inTime(r, v) && !j.isOverwritten(v, earlier) {
			fits = append(fits, v)
		}
	}
	return fits
}

// isOverwritten reports whether v precedes one of the writers that are known to precede the observer.
func (j *checker) isOverwritten(v int32, earlier []int32) bool {
	return slices.ContainsFunc(earlier, func(w int32) bool { return w != v && (j.g.inTime(v, w) || j.g.hasEdge(v, w)) })
}

func (j *checker) initialFits(a *access) bool {
	v, known := j.initial[a.key]
	switch a.obs {
	case obsAbsent:
		return !known
	case obsExists:
		return j.h.InitialUnknown
	}
	return known && v == a.saw
}

// effectFits reports whether the node's effect on the key leaves the state that a observed.
func (j *checker) effectFits(a *access, node int32) bool {
	return matches(a, j.effect(node, a.key))
}

func matches(a, effect *access) bool {
	switch a.obs {
	case obsAbsent:
		return effect.eff == effDel
	case obsExists:
		return effect.eff == effPut
	}
	return effect.eff == effPut && effect.put == a.saw
}
