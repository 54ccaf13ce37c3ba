package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// coldRead is a question to the log that has no answer yet. One of the
// fields says who asked.
type coldRead struct {
	index kv.Index
	item  *mvcc.Item // a key
	task  *task      // a range
	round int
	seq   uint32
	scan  bool        // of a scan operation
	page  *msg.ScanAt // a page of a scan at a kept index
	// then takes the answer to anything else.
	then func(*entry.ReadResult)
}

// ask puts a question as of the current index.
func (m *Machine) ask(r entry.Read, c *coldRead) uint64 {
	r.Index = m.index
	return m.askAt(r, c)
}

// askAt puts a question as of the index that it names, which may be 0: the
// empty shard. Garbage collection spares that index until the answer comes.
func (m *Machine) askAt(r entry.Read, c *coldRead) uint64 {
	m.lastID++
	r.ID = m.lastID
	if len(m.cold) == 0 {
		m.coldTop = 0
	}
	m.coldTop = max(m.coldTop, r.Index)
	c.index = r.Index
	m.cold[r.ID] = c
	m.out.Reads = append(m.out.Reads, r)
	m.stats.ColdReads++
	return r.ID
}

func (m *Machine) coldResult(r *entry.ReadResult) {
	c := m.cold[r.ID]
	if c == nil {
		return
	}
	delete(m.cold, r.ID)
	switch {
	case c.item != nil:
		m.itemRead(c.item, r)
	case c.task != nil:
		m.rangeRead(c, r)
	case c.page != nil:
		m.pageRead(c.page, r)
	default:
		c.then(r)
	}
}

func (m *Machine) itemRead(it *mvcc.Item, r *entry.ReadResult) {
	f, err := m.found(r)
	var waiting []any
	if err != nil && !it.Loaded {
		it.Loading, waiting, it.Waiting = 0, it.Waiting, nil
		for _, w := range waiting {
			switch w := w.(type) {
			case *task:
				w.err = err
			case *prepared:
				m.unread = append(m.unread, w) // asked for again later
			}
		}
	} else {
		waiting = m.store.Install(it, f, m.cfg.Mutants.Has(mutant.ColdReadStale))
	}
	m.store.Unpin(it)
	m.tell(waiting)
}

// tell informs those who waited for an item.
func (m *Machine) tell(waiting []any) {
	for _, w := range waiting {
		switch w := w.(type) {
		case *task:
			if w.missing--; w.missing == 0 && w.stage == stageLoading {
				m.loaded(w)
			}
		case *prepared:
			if m.stands(w) && m.ready(w) && w.decided != nil {
				m.onDecide(w.decided)
			}
		}
	}
}

// found decodes the answer about one key.
func (m *Machine) found(r *entry.ReadResult) (mvcc.Found, error) {
	if r.Err != nil {
		return mvcc.Found{}, r.Err
	}
	rows := r.Rows
	switch n := len(rows); {
	case n > 1 && m.cfg.Mutants.Has(mutant.DeltaTwice):
		rows = append([]entry.Row{rows[0]}, rows...)
	case n > 2 && m.cfg.Mutants.Has(mutant.DeltaMissed):
		rows = append(append([]entry.Row(nil), rows[:n-2]...), rows[n-1])
	}
	return mvcc.Fold(rows)
}

func (m *Machine) rangeRead(c *coldRead, r *entry.ReadResult) {
	t := c.task
	if t.stage != stageRanging || t.round != c.round {
		return // dropped meanwhile
	}
	rows, err := decodeRows(r)
	if err != nil {
		t.err = err
	}
	t.rows[c.seq] = rows
	t.missing--
	if c.scan {
		dropped, err := t.scans.arrived(r)
		t.missing -= dropped
		if err != nil {
			t.err, t.rows = err, map[uint32]mvcc.RangeRows{}
		}
	}
	if t.missing == 0 {
		m.run(t)
	}
}

func decodeRows(r *entry.ReadResult) (out mvcc.RangeRows, err error) {
	if r.Err != nil {
		return out, r.Err
	}
	out.Resume = r.Resume
	out.Rows = make([]mvcc.RangeRow, len(r.Rows))
	for i, row := range r.Rows {
		v, partial, err := entry.DecodeHead(row.Value)
		if err != nil {
			return out, err
		}
		out.Rows[i] = mvcc.RangeRow{Key: row.Key, Value: v, Index: row.Index, Partial: partial,
			Paged: entry.IsDirectory(row.Value) || entry.IsPatch(row.Value)}
	}
	return out, nil
}

// lookup is a question about an id's outcome that has no answer yet.
type lookup struct {
	// now is what became of the id since the question was put: the answer
	// may have been read before.
	now *entry.Outcome
}

// lookUp asks the log for the outcome of an id.
func (m *Machine) lookUp(id kv.TxnID, then func(*entry.Outcome, error)) {
	l := &lookup{}
	m.looking[id] = append(m.looking[id], l)
	m.ask(entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: m.idKey(id)}, &coldRead{then: func(r *entry.ReadResult) {
		if rest := slices.DeleteFunc(m.looking[id], func(x *lookup) bool { return x == l }); len(rest) > 0 {
			m.looking[id] = rest
		} else {
			delete(m.looking, id)
		}
		if l.now != nil {
			then(l.now, nil)
			return
		}
		o := &entry.Outcome{}
		err := r.Err
		if err == nil && len(r.Rows) > 0 {
			err = o.Unmarshal(r.Rows[0].Value)
		}
		then(o, err)
	}})
}

// finish writes an outcome down, in memory and in the log. It does not keep o.
func (m *Machine) finish(id kv.TxnID, o *entry.Outcome) {
	if m.committed.note(id.Time) {
		m.dirty = true
	}
	m.memory.Finish(id, record.Finished{Committed: o.Committed, Applied: o.Applied})
	m.outcomes = append(m.outcomes, entry.Entry{Table: entry.TableOutcome, Key: m.idKey(id), Value: m.rows.encode(o)})
	for _, l := range m.looking[id] {
		if m.cfg.Mutants.Has(mutant.LookUpBlind) {
			break
		}
		now := *o
		l.now = &now
	}
}
