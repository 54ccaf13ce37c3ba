package shard

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// rows is room for the bytes of entries, which live only until they are
// appended: many share an allocation.
type rows struct{ free []byte }

// chunk is how much room is made at a time; what is larger than a part of it
// gets room of its own, so that little is wasted.
const chunk = 16 << 10

func (r *rows) take(n int) []byte {
	if n > chunk/4 {
		return make([]byte, n)
	}
	if n > len(r.free) {
		r.free = make([]byte, chunk)
	}
	b := r.free[:n:n]
	r.free = r.free[n:]
	return b
}

// row is a generated message, or an id.
type row interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

func (r *rows) encode(x row) []byte {
	b := r.take(x.Size())
	if n, err := x.MarshalToSizedBuffer(b); err != nil || n != len(b) {
		panic("shard: a row took another size than it announced") // generated code does not
	}
	return b
}

// write adds an entry to the step's output.
func (m *Machine) write(e entry.Entry) {
	m.out.Entries = append(m.out.Entries, e)
}

// put writes a row of a table other than version.
func (m *Machine) put(t entry.Table, key []byte, x row) {
	m.write(entry.Entry{Table: t, Key: key, Value: m.rows.encode(x)})
}

func (m *Machine) del(t entry.Table, key []byte) {
	m.write(entry.Entry{Action: entry.Delete, Table: t, Key: key})
}

// logVersion writes what an effect has made visible of a key from now on. The
// row before it is at old, 0 if there is none, and has the value before.
//
// Where nobody can read at an index since, a value takes the row of the value
// before it,
// and what was visible in between is forgotten: a row that is written over
// costs nothing more, while a version of its own has to be deleted later. Of
// several versions in one step only the last is written then.
func (m *Machine) logVersion(it *mvcc.Item, before *entry.Value, old kv.Index, e *entry.Effect, v entry.Value) {
	live := before.Exists()
	unread := old > m.newestRead() || len(it.Below) > 0 && m.cfg.Mutants.Has(mutant.FoldPastPin)
	if e.Kind == entry.EffectChange && live && m.logDelta(it, before, old, unread, e.Calls) {
		return
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: m.index}
	deleted := v.Type == entry.TypeDeleted
	if deleted && v.Version.Moves > m.moves {
		m.moves, m.dirty = v.Version.Moves, true // in the same batch
	}
	over := unread && old != 0 && live && !deleted
	if over {
		row.Index = old
	}
	below, pages := it.Below, it.Pages
	if len(below)+len(pages) > 0 {
		it.Chain = mvcc.Chain{}
	}
	late := m.encodeNow(it, &row, &v)
	it.Index = row.Index
	if m.place(it, row, unread && old != 0) {
		old = 0
	}
	if late {
		m.encodeLater(it, nil)
	}
	m.dropPages(it, pages, m.index)
	if !over {
		m.garbage.Replaced(it.Key, below, old, m.index, deleted)
	} else if len(below) > 0 {
		m.garbage.Replaced(it.Key, below, 0, m.index, false)
	}
	m.lighten(it)
}

// encodeNow fills in the row of a value that is written whole, or in pages. It
// reports whether that is left for the end of the step, since the value may be
// written over until then.
func (m *Machine) encodeNow(it *mvcc.Item, row *entry.Entry, v *entry.Value) (late bool) {
	if len(v.Payload) > m.cfg.Paging.Over && adt.CanBePaged(v) {
		adt.Remember(&it.Value) // it has been restored, or has moved here
	}
	paged := m.cfg.Paging.InPages(&it.Value)
	if !paged && (v.Payload != nil || v.State == nil) {
		row.Value = m.rows.take(v.EncodedSize())
		v.EncodeTo(row.Value)
		return false
	}
	if !paged {
		return true
	}
	if err := m.storeInPages(it, row); err != nil {
		panic(err) // it has been decoded
	}
	return false
}

// combining reports whether transactions share rows.
func (m *Machine) combining() bool { return !bool(m.cfg.Sharing.Combining) }

// place puts a row of a key among the step's entries: in the place of the one
// that the step has written already, if over says that nobody can see that, and
// then it reports so.
func (m *Machine) place(it *mvcc.Item, row entry.Entry, over bool) bool {
	if over && it.Step == m.stats.Steps && m.combining() {
		m.out.Entries[it.Place] = row
		return true
	}
	m.write(row)
	it.Step, it.Place = m.stats.Steps, len(m.out.Entries)-1
	return false
}

// logDelta writes the calls that have made the value of a key, if that will do
// (mvcc.Item.Extend). Those of several transactions in one step are one row
// where nobody can read in between.
func (m *Machine) logDelta(it *mvcc.Item, before *entry.Value, old kv.Index, unread bool, calls []msg.Call) bool {
	same := it.Step == m.stats.Steps
	calls, over := it.Extend(calls, mvcc.Step{Old: old, Unread: unread && m.combining(), Same: same, Before: *before, Paging: m.cfg.Paging})
	if calls == nil {
		return false
	}
	if over && m.cfg.Mutants.Has(mutant.PatchOfTheLast) {
		it.Under = *before
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: m.index}
	if over {
		row.Index = old
	}
	it.Index = row.Index
	m.place(it, row, over)
	m.encodeLater(it, calls)
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
func (m *Machine) encodeLater(it *mvcc.Item, calls []msg.Call) {
	l := lateRow{it, it.Place, it.Value, calls, it.Under}
	if i := it.Late; i < len(m.late) && m.late[i].item == it && m.late[i].place == it.Place {
		m.late[i] = l
		return
	}
	it.Late = len(m.late)
	m.late = append(m.late, l)
}

// encodeLate fills in the rows that are still empty. Others have been written
// over meanwhile.
func (m *Machine) encodeLate() {
	for i := range m.late {
		l := &m.late[i]
		if e := &m.out.Entries[l.place]; e.Value == nil {
			e.Value = m.encodeRow(l)
		}
		l.item.Settle()
	}
	m.late = emptied(m.late)
}

func (m *Machine) encodeRow(l *lateRow) []byte {
	if l.calls != nil && adt.InPages(&l.value) {
		return entry.EncodePatch(&l.value, adt.Patch(&l.under, &l.value, l.calls))
	}
	if l.calls != nil {
		b := m.rows.take(entry.DeltaSize(&l.value, l.calls))
		entry.EncodeDelta(b, &l.value, l.calls)
		return b
	}
	l.value.Payload = adt.Payload(&l.value)
	b := m.rows.take(l.value.EncodedSize())
	l.value.EncodeTo(b)
	return b
}

func (m *Machine) refKey(r kv.TxnRef) []byte {
	b := m.rows.take(r.Size())
	_, _ = r.MarshalTo(b) // fails only for want of room
	return b
}

func (m *Machine) idKey(id kv.TxnID) []byte {
	b := m.rows.take(id.Size())
	_, _ = id.MarshalTo(b) // fails only for want of room
	return b
}
