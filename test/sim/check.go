package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// check checks the history against all guarantees.
func (w *sim) check() {
	w.checkOutcomes()
	if w.Err != nil {
		return
	}
	if w.opt.GraphOnly {
		w.checkGraph()
		return
	}
	m := w.replay()
	if w.Err != nil {
		return
	}
	w.checkVersionsRead()
	w.checkUnique()
	w.checkStored(m)
	if w.Err == nil {
		w.checkGraph()
	}
}

// checkOutcomes checks that an id has at most one decision, and that all reports agree with it.
func (w *sim) checkOutcomes() {
	decided := map[kv.TxnID]kv.TxnRef{}
	reads := map[kv.TxnID]bool{} // by an attempt whose writes, if any, were rolled back
	for _, n := range w.log.events {
		if n.decided == nil || n.Lost {
			continue
		}
		ref := n.decided.txn
		t := w.log.find(ref)
		if t == nil || !t.writes() {
			reads[ref.TxnID] = true
			continue
		}
		w.sum.Committed++
		if old, twice := decided[ref.TxnID]; twice {
			w.Fail("both %s and %s were decided", name(old), name(ref))
		}
		decided[ref.TxnID] = ref
	}
	for _, t := range w.log.txns {
		ref, yes := decided[t.ref.TxnID]
		if t.outcome == committed && t.writes() && (!yes || t.kind == interactive && ref != t.ref) {
			w.Fail("%s was reported as committed, and was not decided", name(t.ref))
		}
	}
	for id, reported := range w.log.reports {
		_, yes := decided[id]
		if t := w.log.byID[id]; t != nil && t.readOnly {
			continue // it has no outcome that could be queried
		}
		switch {
		case reported.committed && reported.aborted:
			w.Fail("t%d was reported both as committed and as aborted", id.Rand)
		case reported.aborted && yes:
			w.Fail("t%d was reported as aborted, and committed", id.Rand)
		case reported.committed && !yes && !reads[id] && w.wrote(id):
			w.Fail("t%d was reported as committed, and did not commit", id.Rand)
		}
	}
}

// wrote reports whether some attempt of an id has writes.
func (w *sim) wrote(id kv.TxnID) bool {
	return slices.ContainsFunc(w.log.txns, func(t *txnRecord) bool { return t.ref.TxnID == id && t.writes() })
}

// checkVersionsRead checks that no transaction, not even a failed one, has read a version that never existed.
func (w *sim) checkVersionsRead() {
	made := map[string]map[kv.Version]bool{}
	for _, n := range w.log.events {
		if e := n.visible; e != nil && !n.Lost {
			if made[e.key] == nil {
				made[e.key] = map[kv.Version]bool{}
			}
			made[e.key][e.value.Version] = true
		}
	}
	for _, t := range w.log.txns {
		for _, v := range seenVersions(t) {
			if !v.Version.IsZero() && !made[v.Key][v.Version] {
				w.Fail("%s (%s) read version %v of %q, which never became visible", name(t.ref), t.outcomeText(), v.Version, v.Key)
			}
		}
	}
}

// seenVersions lists the versions that a transaction's gets and scans returned.
func seenVersions(t *txnRecord) []history.SeenVersion {
	var out []history.SeenVersion
	mine := map[string]bool{}
	for _, c := range t.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.Writes() && !op.IsRange() && c.failure == nil {
				mine[string(op.Key)] = true
			}
			if op.Kind != msg.OpGet && op.Kind != msg.OpScan || c.raw || i >= len(c.results) {
				continue
			}
			r := &c.results[i]
			if op.Kind == msg.OpGet && !mine[string(op.Key)] && r.Found {
				out = append(out, history.SeenVersion{Key: string(op.Key), Version: r.Version})
			}
			for _, p := range r.Pairs {
				if !mine[string(p.Key)] {
					out = append(out, history.SeenVersion{Key: string(p.Key), Version: p.Version})
				}
			}
		}
	}
	return out
}

// checkStored compares the logs with the model's last state.
func (w *sim) checkStored(m *model) {
	keys := slices.Sorted(maps.Keys(m.cells))
	w.checkDeadlines(keys)
	for _, key := range keys {
		c := m.cells[key]
		s := w.shardStoring(key)
		v, err := s.stored(key)
		switch {
		case err != nil:
			w.Fail("%q cannot be read: %v", key, err)
		case v.Exists() && c.exists && c.object != nil && v.Type == c.typ:
			if err := compareObject(c, &v); err != nil {
				w.Fail("%q at %v, in the log of %v: %v", key, v.Version, s.ID, err)
			}
			if v.Version != c.version {
				w.Fail("%q ends at %v in the log of %v, the model has %v", key, v.Version, s.ID, c.version)
			}
		case v.Exists() != c.exists, v.Exists() && (string(v.Payload) != c.payload() || v.Version != c.version):
			w.Fail("%q ends as %q at %v in the log of %v, the model has %q at %v", key, v.Payload, v.Version, s.ID, c.payload(),
				c.version)
		}
	}
}

// checkGraph runs pkg/history's exact checker on the same versions, without F.
func (w *sim) checkGraph() {
	h := history.ExactHistory{Final: map[string]kv.Version{}}
	at := map[kv.TxnRef]int{}
	chains := w.chainsOf()
	keys := slices.Sorted(maps.Keys(chains))
	for _, key := range keys {
		if err := chains[key].computeStates(); err != nil {
			w.Fail("the graph checker: %v", err)
			return
		}
	}
	for _, t := range w.log.txns {
		x := history.ExactTxn{Label: name(t.ref), Client: t.client, Start: t.start, End: t.end}
		switch {
		case t.outcome == committed, t.observed:
			x.Outcome = history.Committed
		case t.outcome == failed:
			x.Outcome = history.Failed
		default:
			x.Outcome, x.End = history.Unknown, history.Never
		}
		x.Reads = append(seenVersions(t), absentKeys(t, keys)...)
		x.Results = answersOf(t, chains)
		at[t.ref] = len(h.Txns)
		h.Txns = append(h.Txns, x)
	}
	newest := map[string]*visibleEffect{}
	for _, n := range w.log.events {
		e := n.visible
		if e == nil || n.Lost {
			continue
		}
		t := w.log.find(e.txn)
		x := &h.Txns[at[t.ref]]
		x.Writes = append(x.Writes, history.MadeVersion{Key: e.key, Version: e.value.Version,
			Order:   int64(e.value.Version.Moves)<<40 | int64(e.csn),
			Deleted: !e.value.Exists(), Commutes: e.kind == entry.EffectAdd && !t.returnedSum(e.key) ||
				e.kind == entry.EffectChange, Behind: chains[e.key].conflictsOf(e)})
		if old := newest[e.key]; old == nil || later(e.value.Version, e.csn, old.value.Version, old.csn) {
			newest[e.key] = e
		}
	}
	for key, e := range newest {
		h.Final[key] = e.value.Version
	}
	if v := history.CheckExact(h); !v.OK() {
		w.Fail("the graph checker: %v", fmt.Sprint(v.Problems[0]))
	}
}

// returnedSum reports whether an increment of the transaction returned the sum.
func (t *txnRecord) returnedSum(key string) bool {
	for _, c := range t.calls {
		for i := range c.ops {
			if c.ops[i].Kind == msg.OpAddGet && string(c.ops[i].Key) == key && c.failure == nil {
				return true
			}
		}
	}
	return false
}
