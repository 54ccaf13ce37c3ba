package history

import "fmt"

// checker is the state of Check: what is known so far, and what may still be inferred from it.
type checker struct {
	*model
	opts Options
	g    *graph
	keys []keyState
	// todo are certain nodes whose observations are not resolved yet.
	todo []int32
	// open are accesses whose observation matches several effects.
	open []int32
	// initiallyAbsent holds the keys that a transaction found absent initially; initiallyPresent those that one found to
	// exist initially, with an unknown value.
	initiallyAbsent  map[int32]int32
	initiallyPresent bool
	// contradicted: a stale read was found and is in the graph.
	contradicted bool
	stir         changes
	// after and before return what is known to follow or precede a node.
	after, before *nearby
	found         []int32 // scratch
}

// keyState is what inference knows of one key.
type keyState struct {
	// counter: the key has only increments and numbers. Sums are inferred.
	counter bool
	// mixed: the key has increments among other effects. Nothing is inferred.
	mixed bool
	// deleted: some node may delete the key.
	deleted bool
	// writers are the certain register writes, sorted by lo; rebuilt in each round.
	writers *intervals
	// reads are the accesses with a settled observation, in each round grouped by what they observed.
	reads []int32
	// maybe are the effects of uncertain nodes, as accesses.
	maybe []int32
	// initial bounds a counter's initial number.
	initial [2]int64
}

func newChecker(m *model, opts Options) *checker {
	j := &checker{model: m, opts: opts, g: newGraph(len(m.nodes)), keys: make([]keyState, len(m.names)),
		initiallyAbsent: map[int32]int32{}}
	for i, t := range m.nodes {
		j.g.start[i], j.g.end[i] = t.Start, t.End
		if t.Outcome == Unknown {
			j.g.end[i] = Never
		}
		if m.certain[i] {
			j.todo = append(j.todo, int32(i))
		}
	}
	for k := range j.keys {
		j.classify(int32(k))
	}
	return j
}

func (j *checker) classify(k int32) {
	adds, others := false, false
	ks := &j.keys[k]
	for _, i := range j.byKey[k] {
		a := &j.acc[i]
		adds = adds || a.eff == effAdd || a.eff == effSet || a.obs == obsNumber || a.obs == obsBase
		others = others || a.eff == effPut || a.eff == effDel || a.eff == effSet || a.obs == obsValue
		ks.deleted = ks.deleted || a.eff == effDel
	}
	ks.counter = adds && !others
	ks.mixed = adds && others
	if j.h.InitialUnknown {
		ks.initial = [2]int64{-Never, Never}
	}
}

// resolveAll binds the observations of all certain nodes to effects. A node becomes certain when it turns out to have
// been observed.
func (j *checker) resolveAll() {
	for len(j.todo) > 0 {
		node := j.todo[len(j.todo)-1]
		j.todo = j.todo[:len(j.todo)-1]
		for i := j.first[node]; i < j.first[node+1]; i++ {
			j.resolve(i)
		}
	}
}

// promote makes a node certain.
func (j *checker) promote(node int32) {
	if j.certain[node] {
		return
	}
	j.certain[node] = true
	j.todo = append(j.todo, node)
	j.stir.touched = append(j.stir.touched, node)
	for _, p := range j.held[node] {
		j.verdict.add(p.Anomaly, p.Lines...)
	}
}

func (j *checker) resolve(i int32) {
	a := &j.acc[i]
	ks := &j.keys[a.key]
	switch {
	case ks.counter:
		if a.obs == obsAbsent && !j.h.Incomplete { // no transaction deletes it
			j.bind(i, fromInitial)
		}
	case a.obs == obsValue:
		j.resolveValue(i)
	case ks.mixed:
		a.from = fromNone
	case a.obs == obsAbsent && !j.h.Incomplete && !ks.deleted:
		j.bind(i, fromInitial)
	case (a.obs == obsAbsent || a.obs == obsExists) && !j.h.Incomplete:
		a.from = fromOpen
		j.open = append(j.open, i)
	}
}

func (j *checker) resolveValue(i int32) {
	a := &j.acc[i]
	id := valueKey{a.key, a.saw}
	if writer, ok := j.values[id]; ok {
		switch {
		case j.dups[id] != nil:
			a.from = fromOpen
			j.open = append(j.open, i)
		case j.acc[writer].node == a.node:
			j.verdict.add(GarbageRead, fmt.Sprintf("%s read %s at %q before it wrote that itself.", describeTxn(j.nodes[a.node]),
				quote(a.saw), j.names[a.key]))
		default:
			j.bind(i, j.acc[writer].node)
		}
		return
	}
	switch v, known := j.initial[a.key]; {
	case j.intermediate[id] != nil || j.failed[id] != nil || !j.h.Incomplete && !j.h.InitialUnknown:
		j.reportUnwritten(a, id)
	case j.h.Incomplete:
		a.from = fromNone
	case known && v != a.saw:
		j.verdict.add(GarbageRead,
			fmt.Sprintf("%s read %s at %q, which no transaction wrote; it is not from before the history, as %s is.",
				describeTxn(j.nodes[a.node]), quote(a.saw), j.names[a.key], quote(v)))
	default:
		j.initial[a.key] = a.saw
		j.bind(i, fromInitial)
	}
}

// reportUnwritten reports a read of a value that was never visible.
func (j *checker) reportUnwritten(a *access, id valueKey) {
	read := fmt.Sprintf("%s read %s at %q,", describeTxn(j.nodes[a.node]), quote(a.saw), j.names[a.key])
	if t, ok := j.intermediate[id]; ok {
		j.verdict.add(IntermediateRead, fmt.Sprintf("%s which its writer %s replaced before it ended.", read, describeTxn(t)))
	} else if t, ok := j.failed[id]; ok {
		j.verdict.add(DirtyRead, fmt.Sprintf("%s written by %s, which failed.", read, describeTxn(t)))
	} else {
		j.verdict.add(GarbageRead, read+" which no transaction wrote.")
	}
}

// bind settles what an access observed.
func (j *checker) bind(i, from int32) {
	a := &j.acc[i]
	a.from = from
	ks := &j.keys[a.key]
	ks.reads = append(ks.reads, i)
	if from == fromInitial && j.h.InitialUnknown {
		j.bindInitial(a)
	}
	if from >= 0 {
		j.promote(from)
		j.edge(edge{from: from, to: a.node, key: a.key, kind: depWR, why: -1})
	}
}

// bindInitial records what observers of one initial state imply for it.
func (j *checker) bindInitial(a *access) {
	switch a.obs {
	case obsAbsent:
		j.initiallyAbsent[a.key] = a.node
	case obsExists:
		_, known := j.initial[a.key]
		j.initiallyPresent = j.initiallyPresent || !known
	}
	absentTo, missing := j.initiallyAbsent[a.key]
	if _, known := j.initial[a.key]; known && missing {
		j.verdict.add(ImpossibleAbsence, fmt.Sprintf("%s found no %q in the state before the history, where it was %s.",
			describeTxn(j.nodes[absentTo]), j.names[a.key], quote(j.initial[a.key])))
	}
}

func (j *checker) edge(e edge) {
	if e.from != e.to {
		j.stir.touched = append(j.stir.touched, e.from, e.to)
		j.g.edges = append(j.g.edges, e)
	}
}
