package history

// waits detects dead ends before the search reaches them. Each unplaced transaction waits for its predecessors in the
// graph. If it overwrites a version, it also waits for those that have yet to read that version. Placing a writer adds
// waits of the latter kind: the next writer of the key waits for the new version's readers. If one of these in turn
// waits for another writer of the key, nothing can be placed any more.
//
// Only transactions that are concurrent with the writer are considered, and waits in time are not. Other waits would
// have been inferred; an overlooked one only costs time.
type waits struct {
	*search
	// group is the index in its key's reads at which the readers of an access begin.
	group []int32
	seen  []uint32
	count uint32
	stack []int32
	// horizon and left bound the walk: nothing that starts later, and at most this number.
	horizon int64
	left    int
}

// maxWaits is more than the usual number of concurrent transactions.
const maxWaits = 400

func newWaits(s *search) *waits {
	w := &waits{search: s, group: make([]int32, len(s.acc)), seen: make([]uint32, len(s.nodes))}
	for k := range s.keys {
		s.sortReads(int32(k))
		last := int32(fromInitial)
		for at, i := range s.keys[k].reads {
			if from := s.acc[i].from; from != last {
				w.group[s.effectAt(from, int32(k))] = int32(at)
				last = from
			}
		}
	}
	return w
}

// readers returns the readers of the version of key k that access by made; by is -1 for the initial state.
func (w *waits) readers(k, by int32) []int32 {
	reads, from, at := w.keys[k].reads, int32(fromInitial), int32(0)
	if by >= 0 {
		if w.unread[by] == 0 {
			return nil
		}
		from, at = w.acc[by].node, w.group[by]
	} else if w.unread0[k] == 0 {
		return nil
	}
	end := at
	for int(end) < len(reads) && w.acc[reads[end]].from == from {
		end++
	}
	return reads[at:end]
}

// hasDeadlock reports whether v, placed last, leaves no order for the others.
func (w *waits) hasDeadlock(v int32) bool {
	w.horizon = w.g.hi[v]
	for i := w.first[v]; i < w.first[v+1]; i++ {
		a := &w.acc[i]
		if a.eff == effNone || w.keys[a.key].counter {
			continue
		}
		for _, r := range w.readers(a.key, i) {
			if reader := w.acc[r].node; !w.isIn[reader] && w.g.lo[reader] <= w.horizon && w.waitsForWriter(reader, a.key) {
				return true
			}
		}
	}
	return false
}

// waitsForWriter reports whether r waits for another transaction that writes
// the key k.
func (w *waits) waitsForWriter(r, k int32) bool {
	w.count++
	w.left = maxWaits
	w.seen[r] = w.count
	w.stack = append(w.stack[:0], r)
	for len(w.stack) > 0 {
		u := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if u != r && w.writes(u, k) {
			return true
		}
		w.push(u)
	}
	return false
}

func (w *waits) writes(u, k int32) bool {
	for _, a := range w.accesses(u) {
		if a.key == k && a.eff != effNone {
			return true
		}
	}
	return false
}

// push adds what u waits for.
func (w *waits) push(u int32) {
	for _, e := range w.g.inEdges(u) {
		w.add(w.g.edges[e].from)
	}
	for i := w.first[u]; i < w.first[u+1]; i++ {
		a := &w.acc[i]
		if a.eff == effNone || w.keys[a.key].counter {
			continue
		}
		for _, r := range w.readers(a.key, w.state[a.key].by) {
			w.add(w.acc[r].node)
		}
	}
}

func (w *waits) add(q int32) {
	if !w.isIn[q] && w.seen[q] != w.count && w.g.lo[q] <= w.horizon && w.left > 0 {
		w.left--
		w.seen[q] = w.count
		w.stack = append(w.stack, q)
	}
}
