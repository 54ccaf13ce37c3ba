package history

import "fmt"

// Options are the bounds of Judge's effort. The zero value is good.
type Options struct {
	// MaxRounds bounds the rounds of inference; default 40. More is needed
	// only by long chains of conclusions.
	MaxRounds int
	// SearchSteps bounds the search for a serial order, in transactions
	// placed. Default: 200,000 and twelve for each transaction. Negative:
	// no search, and Exact is never true.
	SearchSteps int
}

func (o Options) withDefaults(txns int) Options {
	if o.MaxRounds == 0 {
		o.MaxRounds = 40
	}
	if o.SearchSteps == 0 {
		o.SearchSteps = 200_000 + 12*txns
	}
	return o
}

// Judge decides whether a history is strictly serializable, from the values
// that were read and from real time. It never refuses a history that is. One
// that it accepts with Exact is; without Exact, nothing that could be
// inferred speaks against it.
func Judge(h *History) Verdict { return JudgeWith(h, Options{}) }

// JudgeWith is Judge with other bounds.
func JudgeWith(h *History, opts Options) Verdict {
	opts = opts.withDefaults(len(h.Txns))
	var v Verdict
	m := newModel(h, &v)
	j := newJudge(m, opts)
	v.Txns, v.Keys = len(m.nodes), len(m.names)
	done := v.OK() && j.saturate()
	if v.OK() {
		// What was inferred last, or before the rounds ran out, is certain
		// as well and must not contradict itself.
		j.refuse()
	}
	if v.OK() && done && opts.SearchSteps > 0 && j.searchable() {
		j.search()
	}
	v.Edges, v.Ambiguous = len(j.g.edges), len(j.open)
	for i := range m.nodes {
		if !m.certain[i] {
			v.Dropped++
		}
	}
	return v
}

// explain tells a cycle in a sentence for each edge.
func (j *judge) explain(cycle []edge) {
	lines := []string{"These transactions form a cycle:"}
	for _, e := range cycle {
		lines = append(lines, j.sentence(e))
	}
	j.verdict.add(nameCycle(cycle), lines...)
}

func (j *judge) sentence(e edge) string {
	a, b := who(j.nodes[e.from]), who(j.nodes[e.to])
	if e.kind == depTime {
		return fmt.Sprintf("%s ended before %s started.", a, b)
	}
	key, from, to := j.names[e.key], j.effect(e.from, e.key), j.effect(e.to, e.key)
	switch e.kind {
	case depWR:
		return fmt.Sprintf("%s saw %v at %q, after %s %s.", b, seenBy(to), key, a, did(from))
	case depSum:
		return fmt.Sprintf("%s saw %v at %q, and %s saw %v.", a, seenBy(from), key, b, seenBy(to))
	case depWW:
		return fmt.Sprintf("%s %s at %q before %s %s, as %s came after the first of them and saw %v.",
			a, did(from), key, b, did(to), who(j.nodes[e.why]), seenBy(j.effect(e.why, e.key)))
	}
	scanned := ""
	if e.ranged {
		scanned = " in a scanned range"
	}
	if e.why < 0 {
		return fmt.Sprintf("%s saw %v at %q%s, before %s %s.", a, seenBy(from), key, scanned, b, did(to))
	}
	return fmt.Sprintf("%s saw %v at %q%s, by %s, before %s %s.", a, seenBy(from), key, scanned, who(j.nodes[e.why]), b, did(to))
}

func seenBy(a *access) cell { return cell{obs: a.obs, value: a.saw, num: a.num} }

func did(a *access) string {
	switch a.eff {
	case effPut:
		return "wrote " + quote(a.put)
	case effDel:
		return "deleted it"
	case effAdd:
		return fmt.Sprintf("added %d", a.delta)
	}
	return "touched it"
}
