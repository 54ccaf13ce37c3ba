package history

import (
	"cmp"
	"slices"
)

// depKind is the reason why one transaction precedes another.
type depKind uint8

const (
	depWR   depKind = iota // to read what from wrote
	depWW                  // to replaced what from wrote, or a later version
	depRW                  // from read a version before the one that to wrote
	depSum                 // from read a counter before more was added, to after it
	depTime                // from ended before to started
)

// edge means that from precedes to in every serial order.
type edge struct {
	from, to int32
	// key is the key's number in the checker's table.
	key int32
	// why is the transaction from which the edge was inferred: for depRW the writer of the version that was read, for
	// depWW the reader that implies the order; -1 for none.
	why  int32
	kind depKind
	// ranged: the read was the absence of a key from a range.
	ranged bool
}

// graph is a set of transactions with their real-time intervals and known dependencies.
//
// Real time needs no edges. Let a precede b "in time" if end(a) < start(b). If a cycle contains several time edges, it
// contains a shorter one with a single time edge: of all the stretches between time edges take the one whose last
// transaction b has the least end. The time edge into the stretch's first transaction a starts at a transaction that
// ended no earlier than b, so b precedes a in time too, and the stretch closes a cycle by itself. So the history is
// free of cycles if and only if the dependencies alone are, and no path of dependencies leads from a to b with end(b) <
// start(a). The latter is found by propagating the latest start along the paths.
type graph struct {
	start, end []int64
	edges      []edge // after index in the order of compareEdges
	sorted     int    // the number of sorted edges
	out        []int32
	in         []int32 // indices of in-edges, grouped by to
	inOff      []int32
	order      []int32 // topological
	lo, hi     []int64 // bounds of the instant at which each takes effect
}

func newGraph(n int) *graph { return &graph{start: make([]int64, n), end: make([]int64, n)} }

func (g *graph) len() int { return len(g.start) }

// index sorts the edges, removes duplicates and builds the lists of neighbours.
func (g *graph) index() {
	n := g.len()
	g.mergeNew()
	g.out = make([]int32, n+1)
	g.inOff = make([]int32, n+1)
	for _, e := range g.edges {
		g.out[e.from+1]++
		g.inOff[e.to+1]++
	}
	for i := range n {
		g.out[i+1] += g.out[i]
		g.inOff[i+1] += g.inOff[i]
	}
	next := slices.Clone(g.inOff)
	g.in = make([]int32, len(g.edges))
	for i, e := range g.edges {
		g.in[next[e.to]] = int32(i)
		next[e.to]++
	}
}

// mergeNew sorts the new edges and merges them into the sorted ones.
func (g *graph) mergeNew() {
	old, fresh := g.edges[:g.sorted], g.edges[g.sorted:]
	if len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, compareEdges)
	if len(old) > 0 {
		merged := make([]edge, 0, len(g.edges))
		for len(old) > 0 && len(fresh) > 0 {
			if compareEdges(old[0], fresh[0]) <= 0 {
				merged, old = append(merged, old[0]), old[1:]
			} else {
				merged, fresh = append(merged, fresh[0]), fresh[1:]
			}
		}
		g.edges = append(append(merged, old...), fresh...)
	}
	g.edges = slices.CompactFunc(g.edges, func(a, b edge) bool { return a.from == b.from && a.to == b.to })
	g.sorted = len(g.edges)
}

// compareEdges puts the simplest of parallel edges first: a read of the write itself, then an overwrite, then an
// inferred edge.
func compareEdges(a, b edge) int {
	if c := cmp.Compare(a.from, b.from); c != 0 {
		return c
	}
	if c := cmp.Compare(a.to, b.to); c != 0 {
		return c
	}
	if c := cmp.Compare(a.kind, b.kind); c != 0 {
		return c
	}
	return cmp.Compare(a.key, b.key)
}

func (g *graph) outEdges(v int32) []edge { return g.edges[g.out[v]:g.out[v+1]] }
func (g *graph) inEdges(v int32) []int32 { return g.in[g.inOff[v]:g.inOff[v+1]] }
func (g *graph) inTime(a, b int32) bool  { return g.hi[a] < g.lo[b] }
func (g *graph) hasEdge(a, b int32) bool {
	_, ok := slices.BinarySearchFunc(g.outEdges(a), b, func(e edge, to int32) int { return cmp.Compare(e.to, to) })
	return ok
}

// sort computes a topological order; it returns false if there is none.
func (g *graph) sort() bool {
	n := g.len()
	indegree := make([]int32, n)
	g.order = g.order[:0]
	for v := range int32(n) {
		indegree[v] = g.inOff[v+1] - g.inOff[v]
		if indegree[v] == 0 {
			g.order = append(g.order, v)
		}
	}
	for i := 0; i < len(g.order); i++ {
		for _, e := range g.outEdges(g.order[i]) {
			indegree[e.to]--
			if indegree[e.to] == 0 {
				g.order = append(g.order, e.to)
			}
		}
	}
	return len(g.order) == n
}

// bound narrows each transaction's interval to [lo, hi] by the transactions that precede and follow it, and returns
// those whose interval becomes empty. Afterwards inTime(a, b) is exactly "some path from a to b has a time edge".
func (g *graph) bound() (late []int32) {
	g.lo = append(g.lo[:0], g.start...)
	g.hi = append(g.hi[:0], g.end...)
	for _, v := range g.order {
		for _, e := range g.outEdges(v) {
			g.lo[e.to] = max(g.lo[e.to], g.lo[v])
		}
		if g.lo[v] > g.end[v] {
			late = append(late, v)
		}
	}
	for _, v := range slices.Backward(g.order) {
		for _, e := range g.outEdges(v) {
			g.hi[v] = min(g.hi[v], g.hi[e.to])
		}
	}
	return late
}

// solve indexes, sorts and bounds the graph; it returns a short cycle if there is one.
func (g *graph) solve() []edge {
	g.index()
	if !g.sort() {
		return g.shortCycle()
	}
	if late := g.bound(); len(late) > 0 {
		return g.shortInversion(late)
	}
	return nil
}
