package history

import "slices"

// searches bounds the number of nodes from which a shortest cycle is searched. A cycle that is not the shortest one is
// good enough.
const (
	searches  = 64
	hugeCycle = 10_000
)

// shortCycle returns a short cycle among dependencies that contain one.
func (g *graph) shortCycle() []edge {
	var best []edge
	within := make([]int32, g.len())
	for i, scc := range g.components() {
		for _, v := range scc {
			within[v] = int32(i + 1)
		}
		for _, v := range scc[:min(len(scc), searches)] {
			if len(best) == 2 || len(scc) > hugeCycle && best != nil {
				return best
			}
			same := func(w int32) bool { return within[w] == int32(i+1) }
			if c := g.path(v, func(w int32) bool { return w == v }, same); c != nil && (best == nil || len(c) < len(best)) {
				best = c
			}
		}
		if i >= searches {
			break
		}
	}
	return best
}

// shortInversion returns a short path that ends, at a node in late, before that began in real time, closed by the time
// edge.
func (g *graph) shortInversion(late []int32) []edge {
	var best []edge
	for _, v := range late[:min(len(late), searches)] {
		c := g.pathBack(v, func(w int32) bool { return g.start[w] > g.end[v] })
		if c != nil && (best == nil || len(c)+1 < len(best)) {
			best = append(c, edge{from: v, to: c[0].from, kind: depTime, key: -1, why: -1})
		}
	}
	return best
}

// path returns a shortest path of at least one edge from v to a goal, through allowed transactions.
func (g *graph) path(v int32, goal, allowed func(int32) bool) []edge {
	parent := map[int32]int32{} // the edge by which a node was reached first
	queue := []int32{v}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for i := g.out[u]; i < g.out[u+1]; i++ {
			w := g.edges[i].to
			if _, seen := parent[w]; seen || !allowed(w) {
				continue
			}
			parent[w] = i
			if goal(w) {
				return g.unwind(parent, v, w)
			}
			queue = append(queue, w)
		}
	}
	return nil
}

func (g *graph) unwind(parent map[int32]int32, v, w int32) []edge {
	var p []edge
	for {
		e := g.edges[parent[w]]
		p = append(p, e)
		w = e.from
		if w == v {
			slices.Reverse(p)
			return p
		}
	}
}

// pathBack returns a shortest path of at least one edge from some origin to v.
func (g *graph) pathBack(v int32, origin func(int32) bool) []edge {
	child := map[int32]int32{v: -1}
	queue := []int32{v}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for _, i := range g.inEdges(u) {
			w := g.edges[i].from
			if _, seen := child[w]; seen {
				continue
			}
			child[w] = i
			if origin(w) {
				var p []edge
				for w != v {
					e := g.edges[child[w]]
					p = append(p, e)
					w = e.to
				}
				return p
			}
			queue = append(queue, w)
		}
	}
	return nil
}

// components returns the strongly connected components of at least two transactions, smallest first (Tarjan's algorithm
// with an explicit stack).
func (g *graph) components() [][]int32 {
	n := g.len()
	num := make([]int32, n) // order of discovery from 1; 0 is undiscovered
	low := make([]int32, n)
	on := make([]bool, n)
	var stack []int32
	var found [][]int32
	type frame struct{ v, next int32 }
	var calls []frame
	count := int32(0)
	enter := func(v int32) {
		count++
		num[v], low[v], on[v] = count, count, true
		stack = append(stack, v)
		calls = append(calls, frame{v, g.out[v]})
	}
	for root := range int32(n) {
		if num[root] != 0 {
			continue
		}
		for enter(root); len(calls) > 0; {
			f := &calls[len(calls)-1]
			if f.next < g.out[f.v+1] {
				w := g.edges[f.next].to
				f.next++
				if num[w] == 0 {
					enter(w)
				} else if on[w] {
					low[f.v] = min(low[f.v], num[w])
				}
				continue
			}
			v := f.v
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				u := calls[len(calls)-1].v
				low[u] = min(low[u], low[v])
			}
			if low[v] == num[v] {
				at := len(stack) - 1
				for stack[at] != v {
					at--
				}
				if len(stack)-at > 1 {
					found = append(found, slices.Clone(stack[at:]))
				}
				for _, w := range stack[at:] {
					on[w] = false
				}
				stack = stack[:at]
			}
		}
	}
	slices.SortStableFunc(found, func(a, b []int32) int { return len(a) - len(b) })
	return found
}

// nameCycle returns the name of a cycle in the literature.
func nameCycle(c []edge) Anomaly {
	var count [depTime + 1]int
	var kinds []depKind // of the items: depSum is depRW, then depWR
	oneKey, ranged := true, false
	for _, e := range c {
		oneKey = oneKey && e.key == c[0].key
		ranged = ranged || e.ranged && e.kind == depRW
		if e.kind == depSum {
			kinds = append(kinds, depRW, depWR)
		} else {
			kinds = append(kinds, e.kind)
		}
	}
	for _, k := range kinds {
		count[k]++
	}
	switch {
	case count[depTime] > 0:
		return RealTimeInversion
	case count[depRW] == 0 && count[depWR] == 0:
		return DirtyWrite
	case count[depRW] == 0:
		return CircularFlow
	case oneKey:
		return LostUpdate
	case ranged:
		return Phantom
	case count[depRW] == 1:
		return ReadSkew
	}
	for i, k := range kinds {
		if k == depRW && kinds[(i+1)%len(kinds)] == depRW {
			return WriteSkew
		}
	}
	return LongFork
}
