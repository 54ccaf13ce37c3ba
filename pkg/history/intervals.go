package history

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// intervals finds, among the narrowed intervals of some nodes, those that
// overlap another, in time proportional to how many they are.
type intervals struct {
	lo, hi []int64 // of all transactions
	nodes  []int32 // by lo
	// byHi are the same nodes by hi, and latest the one of greatest lo among
	// the first of them.
	byHi, latest []int32
	// top is a binary tree of the greatest hi, with node i's leaf at size+i
	// and the root at 1.
	top  []int64
	size int
}

func newIntervals(lo, hi []int64, nodes []int32) *intervals {
	s := &intervals{lo: lo, hi: hi, nodes: nodes, byHi: slices.Clone(nodes)}
	slices.SortFunc(s.nodes, func(a, b int32) int { return cmp.Or(cmp.Compare(lo[a], lo[b]), cmp.Compare(a, b)) })
	slices.SortFunc(s.byHi, func(a, b int32) int { return cmp.Or(cmp.Compare(hi[a], hi[b]), cmp.Compare(a, b)) })
	s.latest = make([]int32, len(nodes))
	for i, v := range s.byHi {
		s.latest[i] = v
		if i > 0 && lo[s.latest[i-1]] > lo[v] {
			s.latest[i] = s.latest[i-1]
		}
	}
	for s.size = 1; s.size < len(nodes); s.size *= 2 {
	}
	s.top = make([]int64, 2*s.size)
	for i := range s.size {
		s.top[s.size+i] = math.MinInt64
		if i < len(nodes) {
			s.top[s.size+i] = hi[s.nodes[i]]
		}
	}
	for i := s.size - 1; i > 0; i-- {
		s.top[i] = max(s.top[2*i], s.top[2*i+1])
	}
	return s
}

// startedBy is how many nodes have lo <= t.
func (s *intervals) startedBy(t int64) int {
	return sort.Search(len(s.nodes), func(i int) bool { return s.lo[s.nodes[i]] > t })
}

// endedBefore is how many nodes have hi < t.
func (s *intervals) endedBefore(t int64) int {
	return sort.Search(len(s.byHi), func(i int) bool { return s.hi[s.byHi[i]] >= t })
}

// lastBefore is the node of greatest lo among those that end before t.
func (s *intervals) lastBefore(t int64) (int32, bool) {
	if i := s.endedBefore(t); i > 0 {
		return s.latest[i-1], true
	}
	return 0, false
}

// overlapping appends the nodes with lo <= to and hi >= from, by lo.
func (s *intervals) overlapping(from, to int64, into []int32) []int32 {
	limit := s.startedBy(to)
	for i := 0; i < limit; i++ {
		i = s.next(i, from)
		if i < limit {
			into = append(into, s.nodes[i])
		}
	}
	return into
}

// anyOverlapping reports whether a node has lo <= to and hi >= from.
func (s *intervals) anyOverlapping(from, to int64) bool {
	return len(s.nodes) > 0 && s.next(0, from) < s.startedBy(to)
}

// next is the first index from i on whose hi is at least from, or the number
// of nodes: to the right and up the tree until something reaches far enough,
// then down to it.
func (s *intervals) next(i int, from int64) int {
	p := s.size + i
	for s.top[p] < from {
		for p&1 == 1 {
			p >>= 1
		}
		if p == 0 {
			return len(s.nodes)
		}
		p++
	}
	for p < s.size {
		p *= 2
		if s.top[p] < from {
			p++
		}
	}
	return p - s.size
}
