package history

import (
	"cmp"
	"slices"
)

// maxRounds bounds the rounds of inference. Only long chains of inferences need more.
const maxRounds = 40

// saturate infers dependencies until nothing new follows. It returns false if it gave up before that, and stops at the
// first contradiction.
//
// For a register, let r read the version of w, and let v be another writer:
//
//	v precedes r  =>  v precedes w   (else r would have read v's)
//	w precedes v  =>  r precedes v   (else r would not have read w's)
//
// "Precedes" is by any path known so far, real time included; each rule may enable the other. The initial state
// precedes every writer. Counters and absences have rules of their own (counter.go, absence.go).
func (j *checker) saturate() bool {
	for j.verdict.Rounds < maxRounds {
		j.resolveAll()
		if !j.verdict.OK() || j.findContradiction() {
			return true
		}
		j.stir.compare(j.g)
		before, open := len(j.g.edges), len(j.open)
		j.after, j.before = newNearby(j.g, true), newNearby(j.g, false)
		for k := range j.keys {
			if ks := &j.keys[k]; !j.changedNear(int32(k)) {
				continue
			} else if ks.counter {
				j.inferCounter(int32(k))
			} else if !ks.mixed {
				j.inferRegister(int32(k))
			}
			if j.contradicted {
				break // report it as it is, without its consequences
			}
		}
		if !j.contradicted {
			j.inferAbsences()
		}
		j.verdict.Rounds++
		if !j.verdict.OK() || len(j.g.edges) == before && len(j.open) == open && len(j.todo) == 0 {
			return true
		}
	}
	return false
}

// findContradiction searches the graph for a contradiction, and reports it.
func (j *checker) findContradiction() bool {
	cycle := j.g.solve()
	if cycle != nil {
		j.explain(cycle)
	}
	return cycle != nil
}

// inferRegister applies the two rules to one key.
func (j *checker) inferRegister(k int32) {
	ks := &j.keys[k]
	ks.writers, ks.maybe = nil, ks.maybe[:0]
	var writers []int32
	for _, i := range j.byKey[k] {
		if a := &j.acc[i]; a.eff != effNone {
			if j.certain[a.node] {
				writers = append(writers, a.node)
			} else {
				ks.maybe = append(ks.maybe, i)
			}
		}
	}
	if len(writers) == 0 {
		return
	}
	ks.writers = newIntervals(j.g.lo, j.g.hi, writers)
	j.sortReads(k)
	for group := ks.reads; len(group) > 0 && !j.contradicted; {
		from, n := j.acc[group[0]].from, 1
		for n < len(group) && j.acc[group[n]].from == from {
			n++
		}
		if from == fromInitial {
			for _, i := range group[:n] {
				if j.stir.near(j.acc[i].node) {
					j.orderBeforeNewer(i, -1, 0)
				}
			}
		} else if j.stir.near(from) || j.changedNearAny(group[:n]) {
			j.inferVersion(ks, from, group[:n])
		}
		group = group[n:]
	}
}

// sortReads groups a key's settled reads by what they observed.
func (j *checker) sortReads(k int32) {
	slices.SortFunc(j.keys[k].reads, func(a, b int32) int {
		return cmp.Or(cmp.Compare(j.acc[a].from, j.acc[b].from), cmp.Compare(a, b))
	})
}

// inferVersion applies the rules to the version of one writer and its readers.
func (j *checker) inferVersion(ks *keyState, w int32, readers []int32) {
	g := j.g
	at := ks.writers.startedBy(g.hi[w]) // from here on they follow w in time
	for _, i := range readers {
		j.orderBeforeNewer(i, w, at)
	}
	if j.contradicted {
		return
	}
	concurrent := ks.writers.overlapping(g.lo[w], g.hi[w], j.found[:0])
	j.found = concurrent
	undecided := concurrent[:0]
	for _, v := range concurrent {
		if v == w {
			continue
		}
		if j.after.reach(w).has(v) {
			for _, i := range readers {
				j.orderBefore(i, v, w)
			}
		} else if !g.hasEdge(v, w) {
			undecided = append(undecided, v)
		}
	}
	for n := 0; n < len(readers) && len(undecided) > 0; n++ {
		a := &j.acc[readers[n]]
		undecided = slices.DeleteFunc(undecided, func(v int32) bool {
			if a.node == v || !j.before.reach(a.node).has(v) {
				return false
			}
			j.edge(edge{from: v, to: w, key: a.key, kind: depWW, why: a.node})
			return true
		})
	}
}

// reportStale handles a reader i of w's version that follows, in time, a writer that follows w. If that is evident it
// reports it at once, since a longer cycle may exist by now; otherwise it adds the edge that closes the cycle.
func (j *checker) reportStale(i, w int32) bool {
	a := &j.acc[i]
	v, ok := j.keys[a.key].writers.lastBefore(j.g.lo[a.node])
	if !ok || v == a.node || w >= 0 && !j.g.inTime(w, v) {
		return false
	}
	j.contradicted = true
	if j.g.end[v] < j.g.start[a.node] {
		missed := edge{from: a.node, to: v, key: a.key, kind: depRW, why: w, ranged: a.ranged}
		j.explain([]edge{missed, {from: v, to: a.node, kind: depTime, key: -1, why: -1}})
	} else {
		j.orderBefore(i, v, w)
	}
	return true
}

// orderBeforeNewer orders the reader i of w's version (w is -1 for the initial state) before the writers that follow w
// in time. first is the index of the first of them in the key's writers.
func (j *checker) orderBeforeNewer(i, w int32, first int) {
	if j.reportStale(i, w) {
		return
	}
	a := &j.acc[i]
	writers := j.keys[a.key].writers
	for _, v := range writers.nodes[first:max(first, writers.startedBy(j.g.hi[a.node]))] {
		j.orderBefore(i, v, w)
	}
}

// orderBefore orders the reader i of w's version before v.
func (j *checker) orderBefore(i, v, w int32) {
	a := &j.acc[i]
	if a.node != v && !j.g.inTime(a.node, v) && !j.g.hasEdge(a.node, v) {
		j.edge(edge{from: a.node, to: v, key: a.key, kind: depRW, why: w, ranged: a.ranged})
	}
}
