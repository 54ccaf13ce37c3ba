package history

// nearby is the set of transactions that follow one (or, backward, precede it) by dependencies alone and are concurrent
// with it. It is reused for many transactions.
type nearby struct {
	g       *graph
	forward bool
	of      int32
	seen    []uint32 // the count at the last visit of each node
	count   uint32
	stack   []int32
}

func newNearby(g *graph, forward bool) *nearby {
	return &nearby{g: g, forward: forward, of: -1, seen: make([]uint32, g.len())}
}

// reach computes the set of v. It is valid for the graph as it was last bounded; a new nearby is needed after that.
//
// A path with a time edge is found by comparing bounds. If the bounds do not decide, a path of dependencies alone from
// a to b only contains transactions whose intervals include all instants from lo(b) to hi(a), since what narrows one
// bound narrows the next. So the walk visits only transactions that are concurrent with v, however long the history is.
func (s *nearby) reach(v int32) *nearby {
	if s.of == v {
		return s
	}
	s.of = v
	s.count++
	s.stack = append(s.stack[:0], v)
	for len(s.stack) > 0 {
		u := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if s.forward {
			for _, e := range s.g.outEdges(u) {
				s.step(e.to)
			}
		} else {
			for _, i := range s.g.inEdges(u) {
				s.step(s.g.edges[i].from)
			}
		}
	}
	return s
}

func (s *nearby) step(w int32) {
	if s.seen[w] != s.count && !s.inTime(w) {
		s.seen[w] = s.count
		s.stack = append(s.stack, w)
	}
}

func (s *nearby) inTime(w int32) bool {
	if s.forward {
		return s.g.inTime(s.of, w)
	}
	return s.g.inTime(w, s.of)
}

// has reports whether w follows (or, backward, precedes) the transaction of the set by any path, time edges included.
func (s *nearby) has(w int32) bool { return s.seen[w] == s.count || s.inTime(w) }
