package store

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// collectEvery is the least time between two collections. Somewhat arbitrary.
const collectEvery = 5 * time.Millisecond

// Tick collects garbage if there is a batch of it.
func (s *Store) Tick() {
	if s.garbage.Fresh() >= s.cfg.GarbageBatch && s.env.Now >= s.collected+int64(collectEvery) && s.LowWatermark() > s.collectedTo {
		s.collect()
	}
}

// Clean collects garbage, sweeps, and gives up what nobody has asked to keep for longer; it is
// for once a second.
func (s *Store) Clean() {
	s.collect()
	s.kept.Expire()
	s.tickSweeps()
}

// Garbage is how many replaced versions wait to be collected, and how many notes of such
// were forgotten.
func (s *Store) Garbage() (waiting int, lost uint64) { return s.garbage.Len(), s.garbage.Lost }

// Untidy reports whether there is, or will be, something to collect.
func (s *Store) Untidy() bool {
	w := &s.sweeps
	return s.garbage.Len() > 0 || w.active || w.pending || s.garbage.Lost != w.seen
}

// collect removes versions that nobody can read any more.
func (s *Store) collect() {
	s.collected, s.collectedTo = s.env.Now, s.LowWatermark()
	s.env.Out.Entries = append(s.env.Out.Entries, s.garbage.Collect(s.LowWatermark(), s.keptIndexes())...)
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
func (s *Store) tickSweeps() {
	w := &s.sweeps
	if lost := s.garbage.Lost; lost != w.seen {
		w.left = min(int(lost-w.seen)*sweepAhead/sweepRows, sweepMost)
		w.seen, w.pending, w.upTo = lost, true, s.index
	}
	if !w.active && s.sweepDue() {
		w.active, w.pages, w.pending, w.from, w.floor, w.gone = true, false, false, nil, s.LowWatermark(), s.kept.Known.Gone()
	}
	if w.active && !w.reading {
		s.sweep()
	}
}

// sweepDue reports whether a sweep may find something, and is worth its while:
// a pin has gone, or without any the floor has risen.
func (s *Store) sweepDue() bool {
	w, floor := &s.sweeps, s.LowWatermark()
	switch {
	case !w.pending, floor == 0:
		return false
	case w.floor == 0 && w.inherited:
		return true
	case w.left == 0 && s.env.Now < w.ended+int64(sweepAgain):
		return false
	}
	return w.gone != s.kept.Known.Gone() || len(s.kept.Known.Indexes()) == 0 && floor > w.floor
}

// sweep looks at a piece of the shard's rows.
func (s *Store) sweep() {
	w := &s.sweeps
	w.reading = true
	r := entry.Read{Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(w.from, nil), Index: s.LowWatermark(), Kept: s.keptIndexes(), Limit: sweepRows}
	if w.pages {
		r = entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: kv.Range(w.from, nil), Limit: sweepRows} // of no index
	}
	s.ReadAt(r, s.swept)
}

// swept removes what was found. What is kept since the question was put is at
// the floor of then, or above it.
func (s *Store) swept(r *entry.ReadResult) {
	w := &s.sweeps
	w.reading = false
	if r.Err != nil {
		s.stats.ReadErrors++
		return
	}
	for _, g := range r.Garbage {
		e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: g.Key, Index: g.Below}
		if g.Below > 0 {
			s.env.Write(e)
		}
		e.Action = entry.Delete
		for _, e.Index = range g.Versions {
			s.env.Write(e)
		}
		s.pageSwept(&g)
	}
	s.stats.Swept += uint64(len(r.Garbage))
	w.from = slices.Clone(r.Resume)
	if r.Resume == nil && !w.pages {
		w.pages = true // now that what has named them is gone
		s.sweep()
		return
	}
	if r.Resume == nil {
		// What is kept from before the loss sees some of it, perhaps, and what was
		// above the floor was not looked at.
		kept := s.keptIndexes()
		w.active, w.pages, w.ended = false, false, s.env.Now
		w.pending = w.pending || w.floor < w.upTo || len(kept) > 0 && kept[0] < w.upTo
		return
	}
	if w.left > 0 {
		w.left--
		s.sweep()
	}
}
