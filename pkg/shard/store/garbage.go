package store

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// minCollectInterval is the least time between two collections by Tick. The value is somewhat arbitrary.
const minCollectInterval = 5 * time.Millisecond

// Tick collects garbage if there is a batch of it.
func (s *Store) Tick() {
	due := s.env.Now >= s.lastCollection+int64(minCollectInterval)
	if s.garbage.UnclassifiedCount() >= s.cfg.GarbageBatch && due && s.LowWatermark() > s.lastSafePoint {
		s.collect()
	}
}

// Clean collects garbage, expires what readers have fixed, and advances the sweep. It is called once a
// second.
func (s *Store) Clean() {
	s.collect()
	s.retention.Expire()
	s.advanceSweep()
}

// Garbage returns the number of replaced versions to be collected, and the number of notes of such versions
// that were dropped.
func (s *Store) Garbage() (waiting int, lost uint64) { return s.garbage.Len(), s.garbage.Lost }

// HasGarbage reports whether there is, or will be, garbage to collect.
func (s *Store) HasGarbage() bool {
	w := &s.sweeps
	return s.garbage.Len() > 0 || w.active || w.pending || s.garbage.Lost != w.seenLost
}

// collect deletes the replaced versions that cannot be read any more.
func (s *Store) collect() {
	s.lastCollection, s.lastSafePoint = s.env.Now, s.LowWatermark()
	s.env.Log.Append(s.garbage.Collect(s.LowWatermark(), s.retainedCSNs())...)
}

// sweeps is the state of the sweep, which searches all versions of the shard and then all pages, in batches,
// for garbage of which there is no note: notes are bounded, and an earlier incarnation leaves none.
//
//	needed ─ isSweepDue ─▶ active: versions, batch by batch ─▶ pages, batch by batch ─▶ done
//	                          ▲                                                          │
//	                          └── notes dropped meanwhile, or garbage still retained ────┘
//
// Versions are swept before pages: a page is garbage when no version refers to it.
type sweeps struct {
	// pending: a sweep is needed. Since the last one started, notes were dropped, or garbage below upTo was
	// still retained. seenLost is the number of dropped notes at the last check.
	pending  bool
	upTo     kv.CSN
	seenLost uint64
	// unrecorded: an earlier incarnation has left versions without notes.
	unrecorded bool
	// active: a sweep is in progress, and from is the start of its next batch: of versions, or, if pages is set,
	// of pages. reading: a batch is being read.
	active, reading, pages bool
	from                   []byte
	// startSafePoint is the safe point when the last sweep started, startGone the number of snapshots that had
	// been removed by then: unless one has risen, a sweep finds nothing new. lastEnd is when it ended.
	startSafePoint kv.CSN
	startGone      uint64
	lastEnd        int64
	// budget is how many batches may follow immediately.
	budget int
}

const (
	// sweepRows is the number of rows that one batch reads.
	sweepRows = 2000
	// rowsPerLostNote is the number of rows swept per dropped note, maxSweepBatches the largest number of
	// batches per second. The values are somewhat arbitrary: with a history and many writes a sweep takes about
	// a third of the time then.
	rowsPerLostNote, maxSweepBatches = 3, 50
	// minSweepInterval is the least time between two sweeps, unless notes are being dropped.
	minSweepInterval = 30 * time.Second
)

// advanceSweep starts a sweep or continues it. It is called once a second.
func (s *Store) advanceSweep() {
	w := &s.sweeps
	if lost := s.garbage.Lost; lost != w.seenLost {
		w.budget = min(int(lost-w.seenLost)*rowsPerLostNote/sweepRows, maxSweepBatches)
		w.seenLost, w.pending, w.upTo = lost, true, s.csn
	}
	if !w.active && s.isSweepDue() {
		w.active, w.pages, w.pending, w.from = true, false, false, nil
		w.startSafePoint, w.startGone = s.LowWatermark(), s.retention.Known.RemovalCount()
	}
	if w.active && !w.reading {
		s.sweepBatch()
	}
}

// isSweepDue reports whether a sweep is likely to find something: a snapshot was removed, or, without any,
// the safe point has risen.
func (s *Store) isSweepDue() bool {
	w, safePoint := &s.sweeps, s.LowWatermark()
	switch {
	case !w.pending, safePoint == 0:
		return false
	case w.startSafePoint == 0 && w.unrecorded:
		return true
	case w.budget == 0 && s.env.Now < w.lastEnd+int64(minSweepInterval):
		return false
	}
	return w.startGone != s.retention.Known.RemovalCount() || len(s.retention.Known.CSNs()) == 0 &&
		safePoint > w.startSafePoint
}

// sweepBatch requests the next batch of rows.
func (s *Store) sweepBatch() {
	w := &s.sweeps
	w.reading = true
	r := entry.Read{
		Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(w.from, nil),
		Index: s.LowWatermark(), Kept: s.retainedCSNs(), Limit: sweepRows,
	}
	if w.pages {
		// Pages have no CSN.
		r = entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: kv.Range(w.from, nil), Limit: sweepRows}
	}
	s.ReadAt(r, s.onSweepBatch)
}

// onSweepBatch deletes the garbage of a batch. What was retained after the request was sent is at or above
// the safe point of that time, so the result is still garbage.
func (s *Store) onSweepBatch(r *entry.ReadResult) {
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
		s.deleteSweptPages(&g)
	}
	s.stats.Swept += uint64(len(r.Garbage))
	w.from = slices.Clone(r.Resume)
	if r.Resume == nil && !w.pages {
		w.pages = true // the versions that referred to them are deleted
		s.sweepBatch()
		return
	}
	if r.Resume == nil {
		// A CSN that was retained before notes were dropped may still see some of that garbage, and versions above
		// the safe point were not examined. Then another sweep follows.
		kept := s.retainedCSNs()
		w.active, w.pages, w.lastEnd = false, false, s.env.Now
		w.pending = w.pending || w.startSafePoint < w.upTo || len(kept) > 0 && kept[0] < w.upTo
		return
	}
	if w.budget > 0 {
		w.budget--
		s.sweepBatch()
	}
}
