package shard

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// collect removes versions that nobody can read any more.
func (m *Machine) collect() {
	m.collected, m.collectedTo = m.now, m.floorIndex()
	m.out.Entries = append(m.out.Entries, m.garbage.Collect(m.floorIndex(), m.keptIndexes())...)
}

// sweeps walk all versions of the shard, and then all pages, a piece at a time, and
// remove what the notes of garbage have forgotten.
type sweeps struct {
	// pending: notes have been forgotten since the last sweep began, or their
	// versions, which are below upTo, were still seen at some pin. seen is how
	// many notes had been when the shard last looked.
	pending bool
	upTo    kv.Index
	seen    uint64
	// inherited: an earlier life has left versions of which there are no notes.
	inherited bool
	// active: a sweep is under way, and from is where its next piece begins: of the
	// versions, or, when it is through with them, of the pages. reading: a piece is
	// being read.
	active, reading, pages bool
	from                   []byte
	// floor is that of the last sweep's begin, and gone counts the pins that had
	// gone by then: unless one has risen since, there is nothing new to find.
	// ended is when it ended.
	floor kv.Index
	gone  uint64
	ended int64
	// left is how many pieces may follow at once.
	left int
}

const (
	// sweepRows is how many versions one piece of a sweep looks at.
	sweepRows = 2000
	// sweepAhead is how many rows are swept for each lost note, sweepMost how
	// many pieces at most a second. Somewhat arbitrary: where a history is kept
	// and much is written, a walk takes a third of its time then.
	sweepAhead, sweepMost = 3, 50
	// sweepAgain is the least time between two sweeps, unless notes are being
	// lost.
	sweepAgain = 30 * time.Second
)

// tickSweeps begins a sweep, or goes on with it; once a second.
func (m *Machine) tickSweeps() {
	s := &m.sweeps
	if lost := m.garbage.Lost; lost != s.seen {
		s.left = min(int(lost-s.seen)*sweepAhead/sweepRows, sweepMost)
		s.seen, s.pending, s.upTo = lost, true, m.index
	}
	if !s.active && m.sweepDue() {
		s.active, s.pages, s.pending, s.from, s.floor, s.gone = true, false, false, nil, m.floorIndex(), m.pins.known.Gone()
	}
	if s.active && !s.reading {
		m.sweep()
	}
}

// sweepDue reports whether a sweep may find something, and is worth its while:
// a pin has gone, or without any the floor has risen.
func (m *Machine) sweepDue() bool {
	s, floor := &m.sweeps, m.floorIndex()
	switch {
	case !s.pending, floor == 0:
		return false
	case s.floor == 0 && s.inherited:
		return true
	case s.left == 0 && m.now < s.ended+int64(sweepAgain):
		return false
	}
	return s.gone != m.pins.known.Gone() || len(m.pins.known.Indexes()) == 0 && floor > s.floor
}

// sweepsLeft reports whether there is, or will be, something to sweep.
func (m *Machine) sweepsLeft() bool {
	return m.sweeps.active || m.sweeps.pending || m.garbage.Lost != m.sweeps.seen
}

// sweep looks at a piece of the shard's rows.
func (m *Machine) sweep() {
	s := &m.sweeps
	s.reading = true
	r := entry.Read{Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(s.from, nil), Index: m.floorIndex(), Kept: m.keptIndexes(), Limit: sweepRows}
	if s.pages {
		r = entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: kv.Range(s.from, nil), Limit: sweepRows} // of no index
	}
	m.askAt(r, &coldRead{then: m.swept})
}

// swept removes what was found. What is kept since the question was put is at
// the floor of then, or above it.
func (m *Machine) swept(r *entry.ReadResult) {
	s := &m.sweeps
	s.reading = false
	if r.Err != nil {
		m.stats.ReadErrors++
		return
	}
	for _, g := range r.Garbage {
		e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: g.Key, Index: g.Below}
		if g.Below > 0 {
			m.write(e)
		}
		e.Action = entry.Delete
		for _, e.Index = range g.Versions {
			m.write(e)
		}
		m.pageSwept(&g)
	}
	m.stats.Swept += uint64(len(r.Garbage))
	s.from = slices.Clone(r.Resume)
	if r.Resume == nil && !s.pages {
		s.pages = true // now that what has named them is gone
		m.sweep()
		return
	}
	if r.Resume == nil {
		// What is kept from before the loss sees some of it, perhaps, and what was
		// above the floor was not looked at.
		kept := m.keptIndexes()
		s.active, s.pages, s.ended = false, false, m.now
		s.pending = s.pending || s.floor < s.upTo || len(kept) > 0 && kept[0] < s.upTo
		return
	}
	if s.left > 0 {
		s.left--
		m.sweep()
	}
}
