package store

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// logVersion writes the row of a value that an effect makes visible. The row before it is at old, 0 if there
// is none, and has the value before.
//
// If no read is possible at a CSN between them, the new value replaces the row before it: overwriting a row
// costs nothing, while a version of its own has to be deleted later. Of several such versions in one step
// only the last one is written.
//
//	row before        readable at its CSN    new row                   the row before
//	of this step      no                     replaces it in memory     is never written
//	earlier           no                     has the same CSN          is overwritten on disk
//	any               yes                    has the current CSN       is garbage once the CSN is not retained
//	any, v deleted    -                      has the current CSN       is garbage, and so is the tombstone later
func (s *Store) logVersion(it *mvcc.Item, before *entry.Value, old kv.CSN, e *entry.Effect, v entry.Value) {
	live := before.Exists()
	unread := s.isUnread(it, old)
	if e.Kind == entry.EffectChange && live && s.logDelta(it, before, old, unread, e.Calls) {
		return
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, CSN: s.csn}
	deleted := v.Type == entry.TypeDeleted
	// When the tombstone is collected, its number of moves would be lost, and the key could return with a
	// version that it had before. s.moves keeps the largest number.
	if deleted && v.Version.Moves > s.moves {
		s.moves, s.movesChanged = v.Version.Moves, true // in the same batch
	}
	// A deletion is written as a row of its own.
	over := unread && old != 0 && live && !deleted
	if over {
		row.CSN = old
	}
	below, pages := it.Below, it.Pages
	// The chain of deltas and pages below ends with a row that has the whole value.
	if len(below)+len(pages) > 0 {
		it.Chain = mvcc.Chain{}
	}
	late := s.encodeRowNow(it, &row, &v)
	it.CSN = row.CSN
	// The row before was written in this step and is replaced, so it does not become garbage.
	if s.placeRow(it, row, unread && old != 0) {
		old = 0
	}
	if late {
		s.deferred.add(it, nil)
	}
	s.recordDroppedPages(it, pages, s.csn)
	if !over {
		s.Collector.notes.AddReplaced(it.Key, below, old, s.csn, deleted)
	} else if len(below) > 0 {
		s.Collector.notes.AddReplaced(it.Key, below, 0, s.csn, false)
	}
	s.startPageMerge(it)
}

// encodeRowNow encodes a value that is written as a whole, or in pages. It returns true if the encoding is
// deferred to the end of the step, since the value may be overwritten until then.
func (s *Store) encodeRowNow(it *mvcc.Item, row *entry.Entry, v *entry.Value) (late bool) {
	if len(v.Payload) > s.cfg.Paging.Threshold && adt.CanBePaged(v) {
		adt.CacheState(&it.Value) // the value was recovered, or has moved here
	}
	paged := s.cfg.Paging.InPages(&it.Value)
	// The encoding is known already.
	if !paged && (v.Payload != nil || v.State == nil) {
		row.Value = s.env.Scratch(v.EncodedSize())
		v.EncodeTo(row.Value)
		return false
	}
	if !paged {
		return true
	}
	if err := s.storeInPages(it, row); err != nil {
		panic(err) // the value has been decoded, so it can be encoded
	}
	return false
}

// placeRow adds a row to the entries of the step. If over is set and the step has already written a row of
// this key, the new row replaces that one; then it returns true.
//
// NoCombining measures what this saves: without it each of the transactions of a step writes its row.
func (s *Store) placeRow(it *mvcc.Item, row entry.Entry, over bool) bool {
	// The entry of this step has not left the shard yet, so it can be replaced in place.
	if over && it.Step == s.env.Steps && !s.cfg.NoCombining {
		s.env.Log.Replace(it.EntryIndex, row)
		return true
	}
	s.env.Log.Append(row)
	it.Step, it.EntryIndex = s.env.Steps, s.env.Log.Last()
	return false
}

// logDelta writes the calls that have changed the value of a key instead of the value, if that is possible
// (mvcc.Item.Extend). Calls of several transactions in one step are written as one row if no read is possible
// in between.
//
// Example. A set of 10,000 members gets one more. The row is "add x", not the set; reading the key folds the rows
// of the chain into the whole value below them.
func (s *Store) logDelta(it *mvcc.Item, before *entry.Value, old kv.CSN, unread bool, calls []msg.Call) bool {
	same := it.Step == s.env.Steps
	calls, over := s.extend(it, calls, mvcc.Step{
		PreviousCSN: old, Unread: unread && !s.cfg.NoCombining, SameStep: same, Before: *before, Paging: s.cfg.Paging,
	})
	// The chain of calls would be larger than the value (mvcc.Item.Extend): the value is written instead.
	if calls == nil {
		return false
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, CSN: s.csn}
	if over {
		row.CSN = old
	}
	it.CSN = row.CSN
	s.placeRow(it, row, over)
	s.deferred.add(it, calls)
	return true
}

// deferredRow is a row that is encoded at the end of the step, since it may be overwritten until then: a
// value, or calls.
type deferredRow struct {
	item  *mvcc.Item
	place int
	value entry.Value
	calls []msg.Call
	// under is the value in the row before, if this row is a patch of it.
	under entry.Value
}

// deferredRows are the rows of the step that are encoded at its end.
//
// Example. 100 transactions of one step add a member to the same set. Its row is replaced 99 times, and the
// set is encoded once.
type deferredRows struct {
	env  *step.Env
	rows []deferredRow
}

// add has the row of an item encoded at the end of the step.
func (d *deferredRows) add(it *mvcc.Item, calls []msg.Call) {
	l := deferredRow{it, it.EntryIndex, it.Value, calls, it.Under}
	// The same row was deferred before in this step; only the newest value is encoded.
	if i := it.DeferredIndex; i < len(d.rows) && d.rows[i].item == it && d.rows[i].place == it.EntryIndex {
		d.rows[i] = l
		return
	}
	it.DeferredIndex = len(d.rows)
	d.rows = append(d.rows, l)
}

// encode encodes the rows at the end of a step. A row that has a value has been overwritten.
func (d *deferredRows) encode() {
	for i := range d.rows {
		l := &d.rows[i]
		d.env.Log.Encode(l.place, func() []byte { return d.encodeRow(l) })
		l.item.Settle()
	}
	d.rows = step.Emptied(d.rows)
}

// encodeRow encodes a row: the patch of a directory, the calls of a delta, or the value.
func (d *deferredRows) encodeRow(l *deferredRow) []byte {
	if l.calls != nil && adt.InPages(&l.value) {
		return entry.EncodePatch(&l.value, adt.Patch(&l.under, &l.value, l.calls))
	}
	if l.calls != nil {
		b := d.env.Scratch(entry.DeltaSize(&l.value, l.calls))
		entry.EncodeDelta(b, &l.value, l.calls)
		return b
	}
	l.value.Payload = adt.Payload(&l.value)
	b := d.env.Scratch(l.value.EncodedSize())
	l.value.EncodeTo(b)
	return b
}

// EncodeDeferred encodes the deferred rows at the end of a step.
func (s *Store) EncodeDeferred() { s.deferred.encode() }
