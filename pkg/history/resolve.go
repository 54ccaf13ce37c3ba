package history

import "fmt"

// judge is the state of Judge: what is known so far, and how much more can be
// inferred from it.
type judge struct {
	*model
	opts Options
	g    *graph
	keys []keyState
	// todo are certain nodes whose observations have yet to be resolved.
	todo []int32
	// open are accesses whose observation fits several effects.
	open []int32
	// missing are keys that someone found absent before the history began;
	// vague means that one was found to exist then, as it is not known what.
	missing map[int32]int32
	vague   bool
	// contradicted: a stale read was found and is in the graph.
	contradicted bool
	stir         stir
	// after and before answer what is known to follow or precede a node.
	after, before *nearby
	found         []int32 // scratch
}

// keyState is what saturation knows of one key.
type keyState struct {
	// counter: increments and numbers, and nothing else. Sums are inferred.
	counter bool
	// mixed: increments among other effects. Nothing is inferred.
	mixed bool
	// deleted: some node may delete the key.
	deleted bool
	// writers are the certain register writes, by lo; rebuilt in each round.
	writers *intervals
	// reads are the accesses whose observation is settled, in each round
	// grouped by what they observed.
	reads []int32
	// maybe are the effects of uncertain nodes, as accesses.
	maybe []int32
	// initial bounds a counter's number before the history.
	initial [2]int64
}

func newJudge(m *model, opts Options) *judge {
	j := &judge{model: m, opts: opts, g: newGraph(len(m.nodes)), keys: make([]keyState, len(m.names)), missing: map[int32]int32{}}
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

func (j *judge) classify(k int32) {
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

// resolveAll ties the observations of all certain nodes to effects. A node
// becomes certain when it turns out to have been observed.
func (j *judge) resolveAll() {
	for len(j.todo) > 0 {
		node := j.todo[len(j.todo)-1]
		j.todo = j.todo[:len(j.todo)-1]
		for i := j.first[node]; i < j.first[node+1]; i++ {
			j.resolve(i)
		}
	}
}

// promote makes a node certain.
func (j *judge) promote(node int32) {
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

func (j *judge) resolve(i int32) {
	a := &j.acc[i]
	ks := &j.keys[a.key]
	switch {
	case ks.counter:
		if a.obs == obsAbsent && !j.h.Incomplete { // nobody deletes it
			j.bind(i, fromInitial)
		}
	case a.obs == obsValue:
		j.resolveValue(i)
	case ks.mixed:
		a.from = fromNobody
	case a.obs == obsAbsent && !j.h.Incomplete && !ks.deleted:
		j.bind(i, fromInitial)
	case (a.obs == obsAbsent || a.obs == obsExists) && !j.h.Incomplete:
		a.from = fromOpen
		j.open = append(j.open, i)
	}
}

func (j *judge) resolveValue(i int32) {
	a := &j.acc[i]
	id := valueKey{a.key, a.saw}
	if writer, ok := j.values[id]; ok {
		switch {
		case j.dups[id] != nil:
			a.from = fromOpen
			j.open = append(j.open, i)
		case j.acc[writer].node == a.node:
			j.verdict.add(GarbageRead, fmt.Sprintf("%s read %s at %q before it wrote that itself.", who(j.nodes[a.node]), quote(a.saw), j.names[a.key]))
		default:
			j.bind(i, j.acc[writer].node)
		}
		return
	}
	switch v, known := j.initial[a.key]; {
	case j.passing[id] != nil || j.failed[id] != nil || !j.h.Incomplete && !j.h.InitialUnknown:
		j.unfounded(a, id)
	case j.h.Incomplete:
		a.from = fromNobody
	case known && v != a.saw:
		j.verdict.add(GarbageRead, fmt.Sprintf("%s read %s at %q, which no transaction wrote; it is not from before the history, as %s is.",
			who(j.nodes[a.node]), quote(a.saw), j.names[a.key], quote(v)))
	default:
		j.initial[a.key] = a.saw
		j.bind(i, fromInitial)
	}
}

// unfounded reports a read of a value that was never there to be read.
func (j *judge) unfounded(a *access, id valueKey) {
	read := fmt.Sprintf("%s read %s at %q,", who(j.nodes[a.node]), quote(a.saw), j.names[a.key])
	if t, ok := j.passing[id]; ok {
		j.verdict.add(IntermediateRead, fmt.Sprintf("%s which its writer %s replaced before it ended.", read, who(t)))
	} else if t, ok := j.failed[id]; ok {
		j.verdict.add(DirtyRead, fmt.Sprintf("%s written by %s, which failed.", read, who(t)))
	} else {
		j.verdict.add(GarbageRead, read+" which no transaction wrote.")
	}
}

// bind settles what an access observed.
func (j *judge) bind(i, from int32) {
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

// bindInitial keeps what observers of one initial state say about it.
func (j *judge) bindInitial(a *access) {
	switch a.obs {
	case obsAbsent:
		j.missing[a.key] = a.node
	case obsExists:
		_, known := j.initial[a.key]
		j.vague = j.vague || !known
	}
	absentTo, missing := j.missing[a.key]
	if _, known := j.initial[a.key]; known && missing {
		j.verdict.add(ImpossibleAbsence, fmt.Sprintf("%s found no %q in the state before the history, where it was %s.",
			who(j.nodes[absentTo]), j.names[a.key], quote(j.initial[a.key])))
	}
}

func (j *judge) edge(e edge) {
	if e.from != e.to {
		j.stir.touched = append(j.stir.touched, e.from, e.to)
		j.g.edges = append(j.g.edges, e)
	}
}
