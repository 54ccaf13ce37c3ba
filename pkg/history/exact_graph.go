package history

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// searchGaps bounds the search for positions that inference left open, in graphs solved.
const searchGaps = 2000

// decide builds the graph and searches for cycles.
func (x *exact) decide() {
	for k := range x.chains {
		x.orderChain(int32(k))
	}
	var open []*exactRead
	for i := range x.reads {
		if r := &x.reads[i]; r.gaps != nil {
			open = append(open, r)
		} else {
			x.link(r, r.rank)
		}
	}
	cycle := x.g.solve()
	for cycle == nil && len(open) > 0 {
		before := len(open)
		open = slices.DeleteFunc(open, x.narrow)
		if !x.verdict.OK() {
			return
		}
		cycle = x.g.solve()
		if len(open) == before {
			break
		}
	}
	x.verdict.Ambiguous = len(open)
	if cycle != nil {
		x.explain(cycle)
		return
	}
	budget := searchGaps
	switch found := x.searchPositions(open, &budget); {
	case found:
		x.verdict.Exact = true
	case budget > 0:
		r := open[0]
		x.verdict.add(ImpossibleAbsence,
			x.observation(r)+", and with the reads of other transactions no order of the writes allows it.")
	}
}

// orderChain adds the ww edges of a key. A run of commuting increments is ordered only relative to the plain writes on
// both sides.
func (x *exact) orderChain(k int32) {
	chain := x.chains[k]
	plain := -1 // index of the last plain write
	for i, id := range chain {
		w := &x.writes[id]
		if plain >= 0 {
			x.edge(x.writes[chain[plain]].txn, w.txn, k, depWW, -1, false)
		}
		for _, v := range w.Behind {
			if from, ok := x.visibleTxn(k, v); ok {
				x.edge(from, w.txn, k, depWW, -1, false)
			}
		}
		if w.Commutes {
			continue
		}
		for j := plain + 1; j < i; j++ {
			x.edge(x.writes[chain[j]].txn, w.txn, k, depWW, -1, false)
		}
		plain = i
	}
}

// link adds the edges of a read at a rank of its key.
func (x *exact) link(r *exactRead, rank int) {
	if r.positions != nil {
		x.linkPosition(r, &r.positions[rank])
		return
	}
	chain := x.chains[r.key]
	why := int32(-1)
	for j := rank - 1; j >= 0; j-- { // what it read: a run, and the write below
		w := &x.writes[chain[j]]
		x.edge(w.txn, r.txn, r.key, depWR, -1, false)
		if j == rank-1 {
			why = w.txn
		}
		if !w.Commutes {
			break
		}
	}
	for j := rank; j < len(chain); j++ { // what it did not read: a run, and the write above
		w := &x.writes[chain[j]]
		x.edge(r.txn, w.txn, r.key, depRW, why, r.ranged)
		if !w.Commutes {
			break
		}
	}
}

// linkPosition adds the edges of a result at a position.
func (x *exact) linkPosition(r *exactRead, p *Position) {
	why := int32(-1)
	for _, v := range p.After {
		if from, ok := x.visibleTxn(r.key, v); ok {
			x.edge(from, r.txn, r.key, depWR, -1, false)
			why = from
		}
	}
	if to, ok := x.visibleTxn(r.key, p.Before); ok {
		x.edge(r.txn, to, r.key, depRW, why, false)
	}
}

// visibleTxn returns the transaction that wrote a version of a key, if the version became visible.
func (x *exact) visibleTxn(k int32, v kv.Version) (int32, bool) {
	at, ok := x.versions[versionKey{k, v}]
	if !ok || x.writes[at].rank == 0 {
		return 0, false
	}
	return x.writes[at].txn, true
}

func (x *exact) edge(from, to, key int32, kind depKind, why int32, ranged bool) {
	if from != to {
		x.g.edges = append(x.g.edges, edge{from: from, to: to, key: key, kind: kind, why: why, ranged: ranged})
	}
}

// narrow removes the positions of an absence that the graph excludes. If one is left it links the read. It reports
// whether the read is linked.
func (x *exact) narrow(r *exactRead) bool {
	chain := x.chains[r.key]
	after, before := newNearby(x.g, true).reach(r.txn), newNearby(x.g, false).reach(r.txn)
	r.gaps = slices.DeleteFunc(r.gaps, func(rank int) bool {
		if r.positions != nil {
			return x.isRuledOut(r, &r.positions[rank], after, before)
		}
		if rank > 0 {
			if after.has(x.writes[chain[rank-1]].txn) {
				return true
			}
		}
		return rank < len(chain) && x.writes[chain[rank]].txn != r.txn && before.has(x.writes[chain[rank]].txn)
	})
	switch len(r.gaps) {
	case 0:
		x.verdict.add(ImpossibleAbsence, x.observation(r)+", but no order of the writes allows it.")
	case 1:
		x.link(r, r.gaps[0])
		return true
	}
	return false
}

// isRuledOut reports whether a result cannot have been returned at a position, given the transactions that follow and
// precede its reader.
func (x *exact) isRuledOut(r *exactRead, p *Position, after, before *nearby) bool {
	for _, v := range p.After {
		if from, ok := x.visibleTxn(r.key, v); ok && from != r.txn && after.has(from) {
			return true
		}
	}
	to, ok := x.visibleTxn(r.key, p.Before)
	return ok && to != r.txn && before.has(to)
}

// observation describes a read whose position is open.
func (x *exact) observation(r *exactRead) string {
	if r.positions != nil {
		return fmt.Sprintf("%s read a result that %q gives only at some times", x.describe(r.txn), x.names[r.key])
	}
	return fmt.Sprintf("%s found no %q", x.describe(r.txn), x.names[r.key])
}

// searchPositions tries the remaining positions of open reads, one read after another.
func (x *exact) searchPositions(open []*exactRead, budget *int) bool {
	if len(open) == 0 {
		return true
	}
	saved := slices.Clone(x.g.edges)
	for _, rank := range open[0].gaps {
		*budget--
		if *budget <= 0 {
			return false
		}
		x.link(open[0], rank)
		if x.g.solve() == nil && x.searchPositions(open[1:], budget) {
			return true
		}
		x.g.edges, x.g.sorted = slices.Clone(saved), len(saved)
	}
	return false
}

func (x *exact) explain(cycle []edge) {
	lines := []string{"These transactions form a cycle:"}
	for _, e := range cycle {
		lines = append(lines, x.sentence(e))
	}
	x.verdict.add(nameCycle(cycle), lines...)
}

func (x *exact) sentence(e edge) string {
	a, b := x.describe(e.from), x.describe(e.to)
	switch e.kind {
	case depTime:
		return fmt.Sprintf("%s ended before %s started.", a, b)
	case depWR:
		return fmt.Sprintf("%s read %q with the write of %s in it.", b, x.names[e.key], a)
	case depWW:
		return fmt.Sprintf("%s replaced the version of %q that %s wrote.", b, x.names[e.key], a)
	}
	if e.ranged {
		return fmt.Sprintf("%s scanned a range that holds %q and did not see the write of %s.", a, x.names[e.key], b)
	}
	return fmt.Sprintf("%s read %q before the write of %s.", a, x.names[e.key], b)
}
