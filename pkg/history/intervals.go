package history

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// intervals finds the overlapping ones among the narrowed intervals of some nodes, in time proportional to their
// number.
type intervals struct {
	lo, hi []int64 // of all transactions
	nodes  []int32 // by lo
	// byHi are the same nodes sorted by hi; latest[i] is the one of greatest lo among the first i+1 of them.
	byHi, latest []int32
	// top is a binary tree of the greatest hi. The leaf of node i is at size+i, the root at 1.
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

// startedBy returns the number of nodes with lo <= t.
func (s *intervals) startedBy(t int64) int {
	return sort.Search(len(s.nodes), func(i int) bool { return s.lo[s.nodes[i]] > t })
}

// endedBefore returns the number of nodes with hi < t.
func (s *intervals) endedBefore(t int64) int {
	return sort.Search(len(s.byHi), func(i int) bool { return s.hi[s.byHi[i]] >= t })
}

// lastBefore returns the node of greatest lo among those that end before t.
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

// next returns the first index >= i whose hi is at least from, or the number of nodes. It goes right and up the tree
// until a subtree reaches far enough, then down to the index.
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
