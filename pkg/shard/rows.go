package shard

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
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

// logVersion writes what is visible of a key from now on. The row before it is
// at old, 0 if there is none; live says whether it is a value.
//
// Where nobody can read at an index since, a value takes the row of the value
// before it,
// and what was visible in between is forgotten: a row that is written over
// costs nothing more, while a version of its own has to be deleted later. Of
// several versions in one step only the last is written then.
func (m *Machine) logVersion(it *mvcc.Item, old kv.Index, live bool, v entry.Value) {
	v.Payload = adt.Payload(&v)
	b := m.rows.take(v.EncodedSize())
	v.EncodeTo(b)
	e := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: m.index, Value: b}
	deleted, unread := v.Type == entry.TypeDeleted, old > m.newestRead()
	if deleted && v.Version.Moves > m.moves {
		m.moves, m.dirty = v.Version.Moves, true // in the same batch
	}
	over := unread && old != 0 && live && !deleted
	if over {
		e.Index = old
	}
	it.Index = e.Index
	if unread && old != 0 && it.Step == m.stats.Steps && !bool(m.cfg.Sharing.Combining) {
		m.out.Entries[it.Place] = e
		old = 0
	} else {
		m.write(e)
		it.Step, it.Place = m.stats.Steps, len(m.out.Entries)-1
	}
	if !over {
		m.garbage.Replaced(it.Key, old, m.index, deleted)
	}
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
