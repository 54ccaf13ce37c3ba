package store

// The rules that tests break, each with its mutant.

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// leastMoves returns the least number of moves that a new version gets. Versions must not repeat, or a validated read
// could be stale: a key moves away and back, and its tombstones are collected in between.
func (s *Store) leastMoves() uint32 {
	if s.env.Mutants.Has(mutant.CollectedMovesForgotten) {
		return 0
	}
	return s.moves
}

// installRead stores the result of a read, unless a newer value has become visible since the read was sent.
func (s *Store) installRead(it *mvcc.Item, f mvcc.Found) []any {
	if s.env.Mutants.Has(mutant.StaleLoadUsed) {
		it.Loaded = false
	}
	return s.keys.Install(it, f)
}

// rowsToFold returns the rows of a chain, each one once: a delta may be an increment.
func (l *reads) rowsToFold(rows []entry.Row) []entry.Row {
	switch n := len(rows); {
	case n > 1 && l.env.Mutants.Has(mutant.DeltaTwice):
		return append([]entry.Row{rows[0]}, rows...)
	case n > 2 && l.env.Mutants.Has(mutant.DeltaMissed):
		return append(slices.Clone(rows[:n-2]), rows[n-1])
	}
	return rows
}

// isUnread reports whether no read can see the row of a key at a CSN once a new one is visible: it is above every
// readable CSN. Then the new row may replace it.
func (s *Store) isUnread(it *mvcc.Item, at kv.CSN) bool {
	return at > s.newestReadableCSN() || len(it.Below) > 0 && s.env.Mutants.Has(mutant.FoldPastSnapshot)
}

// extend adds calls to the chain of a value (mvcc.Item.Extend). If the newest row is replaced, the value below it stays
// the one before the first of its calls: a patch is made of all of them.
func (s *Store) extend(it *mvcc.Item, calls []msg.Call, p mvcc.Step) (row []msg.Call, over bool) {
	row, over = it.Extend(calls, p)
	if over && s.env.Mutants.Has(mutant.PatchOfLastOnly) {
		it.Under = p.Before
	}
	return row, over
}

// droppedPages returns the pages that only the row before refers to. Each has the CSN of the first row with it, since
// snapshots from there on see it.
func (c *Collector) droppedPages(before, after []entry.PageRef, at kv.CSN) []entry.PageRef {
	dropped := mvcc.DroppedPages(before, after)
	if c.env.Mutants.Has(mutant.PagesPastSnapshot) {
		for i := range dropped {
			dropped[i].FirstCSN = at
		}
	}
	return dropped
}

// retainsEarlier reports whether states of earlier leaders may be read now.
func (k *Retention) retainsEarlier() bool {
	return k.env.Now < k.earlier.Until && !k.env.Mutants.Has(mutant.EarlierStatesCollected)
}

// HasEarlier reports whether a state that an earlier leader has retained can be read at a CSN. Above the CSN at which
// this leader has begun, states of earlier ones were lost with the tail of their log.
func (k *Retention) HasEarlier(csn kv.CSN) bool {
	return k.env.Now < k.earlier.Until && (csn <= k.earlier.CSN || k.env.Mutants.Has(mutant.LostStatesServed))
}

// retainsNothing reports whether everything before the current CSN is garbage.
func (k *Retention) retainsNothing() bool {
	return k.noRetention || k.env.Mutants.Has(mutant.GarbageTooEarly)
}

// readersByName returns the readers for which CSNs are retained: a scan reads for longer than one step.
func (k *Retention) readersByName() map[kv.TxnRef]*FixedCSN {
	if k.env.Mutants.Has(mutant.GarbageTooEarly) {
		return nil
	}
	return k.byReader
}

// snapshotCSNs returns the CSNs of the snapshots in the registry.
func (k *Retention) snapshotCSNs() []kv.CSN {
	if k.env.Mutants.Has(mutant.GarbageTooEarly) || k.env.Mutants.Has(mutant.GarbagePastSnapshot) {
		return nil
	}
	return k.Known.CSNs()
}

// logCollection writes by which CSNs the entries that follow collect, if replicas have to know that.
func (c *Collector) logCollection() {
	s := c.store
	if s.collected.row == nil || c.env.Mutants.Has(mutant.RetentionUnwritten) {
		return
	}
	retained := s.retention.csns(0)
	slices.Sort(retained)
	s.collected.update(s.LowWatermark(), slices.Compact(retained))
}
