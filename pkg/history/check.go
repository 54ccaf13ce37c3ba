package history

import "fmt"

// Options bound the effort of Check. The zero value stands for the defaults.
type Options struct {
	// SearchSteps bounds the search for a serial order, in placed transactions. Default: 200,000 plus twelve per
	// transaction. Negative: no search, and Exact is never true.
	SearchSteps int
}

func (o Options) withDefaults(txns int) Options {
	if o.SearchSteps == 0 {
		o.SearchSteps = 200_000 + 12*txns
	}
	return o
}

// Check checks whether a history is strictly serializable, by the values that were read and by real time. It never
// rejects a history that is. If it accepts one with Exact, the history is strictly serializable; without Exact, no
// contradiction could be inferred.
func Check(h *History) Verdict { return CheckWith(h, Options{}) }

// CheckWith is Check with other bounds.
func CheckWith(h *History, opts Options) Verdict {
	opts = opts.withDefaults(len(h.Txns))
	var v Verdict
	m := newModel(h, &v)
	j := newChecker(m, opts)
	v.Txns, v.Keys = len(m.nodes), len(m.names)
	done := v.OK() && j.saturate()
	if v.OK() {
		// The last inferences, or those before the rounds ran out, are certain as well, and may contradict each other.
		j.findContradiction()
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

// explain describes a cycle, one sentence per edge.
func (j *checker) explain(cycle []edge) {
	lines := []string{"These transactions form a cycle:"}
	for _, e := range cycle {
		lines = append(lines, j.sentence(e))
	}
	j.verdict.add(nameCycle(cycle), lines...)
}

func (j *checker) sentence(e edge) string {
	a, b := describeTxn(j.nodes[e.from]), describeTxn(j.nodes[e.to])
	if e.kind == depTime {
		return fmt.Sprintf("%s ended before %s started.", a, b)
	}
	key, from, to := j.names[e.key], j.effect(e.from, e.key), j.effect(e.to, e.key)
	switch e.kind {
	case depWR:
		return fmt.Sprintf("%s saw %v at %q, after %s %s.", b, observed(to), key, a, effectText(from))
	case depSum:
		return fmt.Sprintf("%s saw %v at %q, and %s saw %v.", a, observed(from), key, b, observed(to))
	case depWW:
		return fmt.Sprintf("%s %s at %q before %s %s, as %s came after the first of them and saw %v.",
			a, effectText(from), key, b, effectText(to), describeTxn(j.nodes[e.why]), observed(j.effect(e.why, e.key)))
	}
	scanned := ""
	if e.ranged {
		scanned = " in a scanned range"
	}
	if e.why < 0 {
		return fmt.Sprintf("%s saw %v at %q%s, before %s %s.", a, observed(from), key, scanned, b, effectText(to))
	}
	return fmt.Sprintf("%s saw %v at %q%s, by %s, before %s %s.", a, observed(from), key, scanned,
		describeTxn(j.nodes[e.why]), b, effectText(to))
}

func observed(a *access) cell { return cell{obs: a.obs, value: a.saw, num: a.num} }

func effectText(a *access) string {
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
