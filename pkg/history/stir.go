package history

import "slices"

// stir tells where the last round changed something, so that the next needs
// to look again only there. What follows for a transaction depends on the
// bounds and edges of those that are concurrent with it; so it is enough to
// look at transactions that overlap one which changed, as it was before.
type stir struct {
	all    bool // everything is new
	always bool // look everywhere, to be compared with
	lo, hi []int64
	// touched are nodes with new edges, or newly certain.
	touched []int32
	// node tells for each whether something near it changed.
	node []bool
}

// note compares the bounds with those of the round before.
func (s *stir) note(g *graph) {
	s.all = s.lo == nil || s.always
	if s.all {
		s.node = make([]bool, g.len())
		s.keep(g)
		return
	}
	changed := s.touched
	for v := range g.lo {
		if g.lo[v] != s.lo[v] || g.hi[v] != s.hi[v] {
			changed = append(changed, int32(v))
		}
	}
	slices.Sort(changed)
	near := newIntervals(s.lo, s.hi, slices.Compact(changed))
	for v := range s.node {
		s.node[v] = near.anyOverlapping(s.lo[v], s.hi[v])
	}
	s.keep(g)
}

func (s *stir) keep(g *graph) {
	s.lo = append(s.lo[:0], g.lo...)
	s.hi = append(s.hi[:0], g.hi...)
	s.touched = s.touched[:0]
}

// at reports whether something near v changed.
func (s *stir) at(v int32) bool { return s.all || s.node[v] }

// stirred reports whether something near any of a key's transactions changed.
func (j *judge) stirred(k int32) bool {
	return j.stir.all || slices.ContainsFunc(j.byKey[k], func(i int32) bool { return j.stir.node[j.acc[i].node] })
}

// stirredGroup reports whether something near one of some readers changed.
func (j *judge) stirredGroup(readers []int32) bool {
	return j.stir.all || slices.ContainsFunc(readers, func(i int32) bool { return j.stir.node[j.acc[i].node] })
}
