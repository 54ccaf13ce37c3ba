package history

import (
	"cmp"
	"fmt"
	"slices"
)

// search looks for a serial order that explains all observations. Such an order proves that a history is strictly
// serializable, whereas inference alone only fails to refute it.
//
// It places one transaction after another, depth first. A transaction may be placed if
//
//   - everything that precedes it in the graph is placed;
//   - no unplaced transaction ended before it started;
//   - its observations match the state;
//   - it does not overwrite a version that an unplaced transaction is known to
//     have read.
//
// A transaction whose effects no unplaced transaction has yet to read is placed at once and never undone, since it
// cannot block any other. Otherwise the one whose interval ends first is tried first. The search records sets of placed
// transactions that led to a dead end, with the state that they left, and detects some dead ends in advance
// (search_wait.go). Transactions of unknown outcome that were not observed may be placed or left out.
type search struct {
	*checker
	needed int // certain nodes
	placed int
	isIn   []bool
	preds  []int32 // unplaced predecessors in the graph
	// next and prev link the unplaced certain nodes by lo; the last node, head, is both ends.
	next, prev []int32
	byHi       []int32
	atHi       []int32 // node's index in byHi
	firstHi    int     // no node before it in byHi is unplaced
	options    []int32 // uncertain nodes

	state   []keyContent
	unread  []int32 // number of unplaced settled readers, by the access that they observed
	unread0 []int32 // the same for the initial state, by key

	// unsettled are keys with observations of no single known effect.
	unsettled []bool

	undo           []undoState
	cands          []int32 // of all frames, one after another
	frames         []searchFrame
	hash           stateHash
	failed         map[stateHash]struct{}
	longestBlocked []int32 // what could not be placed in the longest attempt
	most           int
}

// keyContent is a key's state: the access that last put or deleted it, or -1, and its number.
type keyContent struct {
	by  int32
	obs obsKind // obsAbsent, obsValue or obsNumber
	num int64
}

type undoState struct {
	key int32
	old keyContent
}

type searchFrame struct {
	node     int32 // placed by this frame; -1 none
	from, at int   // its candidates are cands[from:], at is the next
	to       int
	undo     int
}

// searchable reports whether the initial state is known well enough to execute from it.
func (j *checker) searchable() bool {
	if j.h.Incomplete {
		return false
	}
	if !j.h.InitialUnknown {
		return true
	}
	for k := range j.keys {
		ks := &j.keys[k]
		if ks.mixed || ks.counter && ks.initial[0] != ks.initial[1] {
			return false
		}
		if ks.counter {
			if sure, perhaps := j.absences(int32(k)); perhaps && !sure {
				return false
			}
		}
	}
	return len(j.open) == 0 && len(j.counts) == 0 && !j.initiallyPresent
}

// absences reports whether a certain node found the key absent initially, and whether an uncertain one did.
func (j *checker) absences(k int32) (sure, perhaps bool) {
	for _, i := range j.byKey[k] {
		if a := &j.acc[i]; a.obs == obsAbsent {
			sure, perhaps = sure || j.certain[a.node], perhaps || !j.certain[a.node]
		}
	}
	return sure, perhaps
}

func (j *checker) search() {
	s := newSearch(j)
	budget := j.opts.SearchSteps
	switch found := s.run(&budget); {
	case found:
		j.verdict.Exact = true
	case budget > 0:
		lines := []string{fmt.Sprintf("Every order of the %d transactions was tried. "+
			"The longest one placed %d and could not place", s.needed, s.most)}
		for _, v := range s.longestBlocked {
			lines = append(lines, s.describe(v))
		}
		j.verdict.add(NotSerializable, lines...)
	}
}

func newSearch(j *checker) *search {
	n := len(j.nodes)
	s := &search{
		checker: j, isIn: make([]bool, n), preds: make([]int32, n), next: make([]int32, n+1), prev: make([]int32, n+1),
		atHi: make([]int32, n), state: make([]keyContent, len(j.keys)), unread: make([]int32, len(j.acc)),
		unread0: make([]int32, len(j.keys)), failed: map[stateHash]struct{}{},
	}
	for v := range int32(n) {
		s.preds[v] = j.g.inOff[v+1] - j.g.inOff[v]
		if !j.certain[v] {
			if len(j.held[v]) == 0 {
				s.options = append(s.options, v)
			}
			continue
		}
		s.needed++
		s.byHi = append(s.byHi, v)
	}
	byLo := slices.Clone(s.byHi)
	slices.SortFunc(byLo, func(a, b int32) int { return cmp.Or(cmp.Compare(j.g.lo[a], j.g.lo[b]), cmp.Compare(a, b)) })
	slices.SortFunc(s.byHi, func(a, b int32) int { return cmp.Or(cmp.Compare(j.g.hi[a], j.g.hi[b]), cmp.Compare(a, b)) })
	last := int32(n)
	for i, v := range byLo {
		s.next[last], s.prev[v] = v, last
		last = v
		s.atHi[s.byHi[i]] = int32(i)
	}
	s.next[last], s.prev[n] = int32(n), last
	s.unsettled = make([]bool, len(s.state))
	for i := range s.acc {
		if a := &s.acc[i]; a.obs != obsNone && a.from < fromInitial {
			s.unsettled[a.key] = true
		}
	}
	for _, cs := range s.counts {
		for _, c := range cs {
			for _, k := range c.keys {
				s.unsettled[k] = true
			}
		}
	}
	for k := range s.state {
		s.state[k] = s.initialContent(int32(k))
		for _, i := range j.keys[k].reads {
			s.count(i, 1)
		}
	}
	return s
}

// initialContent returns the content of a key before the history. If sums imply that a counter began at zero, it was
// either at zero or absent: at zero, unless a transaction found it absent.
func (s *search) initialContent(k int32) keyContent {
	if s.keys[k].counter && s.h.InitialUnknown {
		n := s.keys[k].initial[0]
		if absent, _ := s.absences(k); n != 0 || !absent {
			return keyContent{by: -1, obs: obsNumber, num: n}
		}
	}
	if _, known := s.initial[k]; known {
		return keyContent{by: -1, obs: obsValue}
	}
	return keyContent{by: -1, obs: obsAbsent}
}

// count adds d to the number of unplaced readers of what the access i observed.
func (s *search) count(i, d int32) {
	a := &s.acc[i]
	switch {
	case a.from >= 0 && s.certain[a.node]:
		s.unread[s.effectAt(a.from, a.key)] += d
	case a.from == fromInitial && s.certain[a.node]:
		s.unread0[a.key] += d
	}
}

func (s *search) effectAt(node, k int32) int32 {
	for i := s.first[node]; ; i++ {
		if s.acc[i].key == k {
			return i
		}
	}
}

// run runs the search. The budget stays positive if the search was exhaustive.
func (s *search) run(budget *int) bool {
	w := newWaits(s)
	s.push()
	for len(s.frames) > 0 {
		if s.placed == s.needed {
			return true
		}
		f := &s.frames[len(s.frames)-1]
		if f.node >= 0 {
			s.unplace(f)
		}
		if f.at == f.to {
			s.failed[s.hash] = struct{}{}
			s.cands = s.cands[:f.from]
			s.frames = s.frames[:len(s.frames)-1]
			continue
		}
		*budget--
		if *budget <= 0 {
			return false
		}
		s.place(f, s.cands[f.at])
		f.at++
		if _, known := s.failed[s.hash]; !known && !w.hasDeadlock(f.node) {
			s.push()
		}
	}
	return s.needed == 0
}

// push opens a frame with the transactions that can be placed next.
func (s *search) push() {
	f := searchFrame{node: -1, from: len(s.cands), undo: len(s.undo)}
	if s.firstHi < len(s.byHi) {
		s.collectCandidates()
	}
	f.at, f.to = f.from, len(s.cands)
	s.frames = append(s.frames, f)
	if f.to == f.from && s.placed >= s.most && s.placed < s.needed {
		s.recordDeadEnd()
	}
}

// collectCandidates appends the candidates: a harmless one alone, or all, sorted by hi.
func (s *search) collectCandidates() {
	from, end := len(s.cands), int32(len(s.nodes))
	deadline := s.g.hi[s.byHi[s.firstHi]]
	for v := s.next[end]; v != end && s.g.lo[v] <= deadline; v = s.next[v] {
		if s.preds[v] > 0 || !s.fits(v) {
			continue
		}
		if s.isHarmless(v) {
			s.cands = append(s.cands[:from], v)
			return
		}
		s.cands = append(s.cands, v)
	}
	slices.SortFunc(s.cands[from:], func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.g.hi[a], s.g.hi[b]),
			cmp.Compare(a, b))
	})
	for _, v := range s.options {
		if !s.isIn[v] && s.g.start[v] <= deadline && s.fits(v) {
			s.cands = append(s.cands, v)
		}
	}
}

// recordDeadEnd records what was unplaced at a dead end.
func (s *search) recordDeadEnd() {
	s.most = s.placed
	s.longestBlocked = s.longestBlocked[:0]
	end := int32(len(s.nodes))
	for v := s.next[end]; v != end && len(s.longestBlocked) < 3; v = s.next[v] {
		s.longestBlocked = append(s.longestBlocked, v)
	}
}

// describe describes a transaction with its observations and effects.
func (s *search) describe(v int32) string {
	line := describeTxn(s.nodes[v])
	for i := range s.accesses(v) {
		a := &s.accesses(v)[i]
		if a.obs != obsNone {
			line += fmt.Sprintf(", saw %v at %q", observed(a), s.names[a.key])
		}
		if a.eff != effNone {
			line += fmt.Sprintf(", %s (%q)", effectText(a), s.names[a.key])
		}
	}
	return line
}
