package history

import "slices"

// changes records where the last round changed something, so that the next round examines only these parts. What
// follows for a transaction depends on the bounds and edges of the transactions concurrent with it; so it is enough to
// examine transactions that overlap a changed one, by its interval before the change.
type changes struct {
	all    bool // everything has changed
	always bool // examine everything, for comparison in tests
	lo, hi []int64
	// touched are nodes that have new edges or became certain.
	touched []int32
	// node holds for each node whether something near it changed.
	node []bool
}

// compare compares the bounds with those of the round before.
func (s *changes) compare(g *graph) {
	s.all = s.lo == nil || s.always
	if s.all {
		s.node = make([]bool, g.len())
		s.save(g)
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
	s.save(g)
}

func (s *changes) save(g *graph) {
	s.lo = append(s.lo[:0], g.lo...)
	s.hi = append(s.hi[:0], g.hi...)
	s.touched = s.touched[:0]
}

// near reports whether something near v changed.
func (s *changes) near(v int32) bool { return s.all || s.node[v] }

// changedNear reports whether something near any of a key's transactions changed.
func (j *checker) changedNear(k int32) bool {
	return j.stir.all || slices.ContainsFunc(j.byKey[k], func(i int32) bool { return j.stir.node[j.acc[i].node] })
}

// changedNearAny reports whether something near one of some readers changed.
func (j *checker) changedNearAny(readers []int32) bool {
	return j.stir.all || slices.ContainsFunc(readers, func(i int32) bool { return j.stir.node[j.acc[i].node] })
}
