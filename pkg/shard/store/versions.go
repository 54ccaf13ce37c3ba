package store

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// logVersion writes what an effect has made visible of a key from now on. The
// row before it is at old, 0 if there is none, and has the value before.
//
// Where nobody can read at an index since, a value takes the row of the value
// before it,
// and what was visible in between is forgotten: a row that is written over
// costs nothing more, while a version of its own has to be deleted later. Of
// several versions in one step only the last is written then.
func (s *Store) logVersion(it *mvcc.Item, before *entry.Value, old kv.Index, e *entry.Effect, v entry.Value) {
	live := before.Exists()
	unread := old > s.newestRead() || len(it.Below) > 0 && s.env.Mutants.Has(mutant.FoldPastPin)
	if e.Kind == entry.EffectChange && live && s.logDelta(it, before, old, unread, e.Calls) {
		return
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: s.index}
	deleted := v.Type == entry.TypeDeleted
	if deleted && v.Version.Moves > s.moves {
		s.moves, s.news = v.Version.Moves, true // in the same batch
	}
	over := unread && old != 0 && live && !deleted
	if over {
		row.Index = old
	}
	below, pages := it.Below, it.Pages
	if len(below)+len(pages) > 0 {
		it.Chain = mvcc.Chain{}
	}
	late := s.encodeNow(it, &row, &v)
	it.Index = row.Index
	if s.place(it, row, unread && old != 0) {
		old = 0
	}
	if late {
		s.encodeLater(it, nil)
	}
	s.dropPages(it, pages, s.index)
	if !over {
		s.garbage.Replaced(it.Key, below, old, s.index, deleted)
	} else if len(below) > 0 {
		s.garbage.Replaced(it.Key, below, 0, s.index, false)
	}
	s.lighten(it)
}

// encodeNow fills in the row of a value that is written whole, or in pages. It
// reports whether that is left for the end of the step, since the value may be
// written over until then.
func (s *Store) encodeNow(it *mvcc.Item, row *entry.Entry, v *entry.Value) (late bool) {
	if len(v.Payload) > s.cfg.Paging.Over && adt.CanBePaged(v) {
		adt.Remember(&it.Value) // it has been restored, or has moved here
	}
	paged := s.cfg.Paging.InPages(&it.Value)
	if !paged && (v.Payload != nil || v.State == nil) {
		row.Value = s.env.Room(v.EncodedSize())
		v.EncodeTo(row.Value)
		return false
	}
	if !paged {
		return true
	}
	if err := s.storeInPages(it, row); err != nil {
		panic(err) // it has been decoded
	}
	return false
}

// place puts a row of a key among the step's entries: in the place of the one
// that the step has written already, if over says that nobody can see that, and
// then it reports so.
func (s *Store) place(it *mvcc.Item, row entry.Entry, over bool) bool {
	if over && it.Step == s.env.Steps && !s.cfg.Apart {
		s.env.Out.Entries[it.Place] = row
		return true
	}
	s.env.Write(row)
	it.Step, it.Place = s.env.Steps, len(s.env.Out.Entries)-1
	return false
}

// logDelta writes the calls that have made the value of a key, if that will do
// (mvcc.Item.Extend). Those of several transactions in one step are one row
// where nobody can read in between.
func (s *Store) logDelta(it *mvcc.Item, before *entry.Value, old kv.Index, unread bool, calls []msg.Call) bool {
	same := it.Step == s.env.Steps
	calls, over := it.Extend(calls, mvcc.Step{Old: old, Unread: unread && !s.cfg.Apart, Same: same, Before: *before, Paging: s.cfg.Paging})
	if calls == nil {
		return false
	}
	if over && s.env.Mutants.Has(mutant.PatchOfTheLast) {
		it.Under = *before
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: s.index}
	if over {
		row.Index = old
	}
	it.Index = row.Index
	s.place(it, row, over)
	s.encodeLater(it, calls)
	return true
}

// lateRow is a row of the step that is encoded at its end, since it may still
// be written over: a whole value, or calls.
type lateRow struct {
	item  *mvcc.Item
	place int
	value entry.Value
	calls []msg.Call
	// under is the value in the row before, if this is a patch.
	under entry.Value
}

// encodeLater has the entry at the item's place filled in when the step ends.
func (s *Store) encodeLater(it *mvcc.Item, calls []msg.Call) {
	l := lateRow{it, it.Place, it.Value, calls, it.Under}
	if i := it.Late; i < len(s.late) && s.late[i].item == it && s.late[i].place == it.Place {
		s.late[i] = l
		return
	}
	it.Late = len(s.late)
	s.late = append(s.late, l)
}

// EncodeLate fills in, at the end of a step, the rows that are still empty. Others have been written
// over meanwhile.
func (s *Store) EncodeLate() {
	for i := range s.late {
		l := &s.late[i]
		if e := &s.env.Out.Entries[l.place]; e.Value == nil {
			e.Value = s.encodeRow(l)
		}
		l.item.Settle()
	}
	s.late = step.Emptied(s.late)
}

func (s *Store) encodeRow(l *lateRow) []byte {
	if l.calls != nil && adt.InPages(&l.value) {
		return entry.EncodePatch(&l.value, adt.Patch(&l.under, &l.value, l.calls))
	}
	if l.calls != nil {
		b := s.env.Room(entry.DeltaSize(&l.value, l.calls))
		entry.EncodeDelta(b, &l.value, l.calls)
		return b
	}
	l.value.Payload = adt.Payload(&l.value)
	b := s.env.Room(l.value.EncodedSize())
	l.value.EncodeTo(b)
	return b
}
