package store

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// minCollectInterval is the least time between two collections by Tick. The value is somewhat arbitrary.
const minCollectInterval = 5 * time.Millisecond

// Collector deletes the versions and pages that cannot be read any more: those of which there is a note when
// the safe point passes them, the others by sweeps.
//
//	CSN 5  k = A                       note: A is garbage below CSN 9
//	CSN 9  k = B replaces A            safe point 7: A can be read at 7 and 8, and stays
//	                                   safe point 9: A is deleted, unless a retained CSN is in [5, 9)
type Collector struct {
	env   *step.Env
	store *Store
	// notes are the notes of replaced versions and dropped pages.
	notes  *mvcc.Garbage
	sweeps sweeps
	// lastCollection is when garbage was last collected, lastSafePoint the safe point at that time.
	lastCollection int64
	lastSafePoint  kv.CSN
}

// RecordUnknown records that there will be garbage without a note.
func (c *Collector) RecordUnknown() { c.notes.AddUnlisted() }

// Tick collects garbage if there is a batch of it.
func (c *Collector) Tick() {
	due := c.env.Now >= c.lastCollection+int64(minCollectInterval)
	if c.notes.UnclassifiedCount() >= c.store.cfg.GarbageBatch && due && c.store.LowWatermark() > c.lastSafePoint {
		c.collect()
	}
}

// Clean collects garbage, expires what readers have fixed, and advances the sweep. It is called once a
// second.
func (c *Collector) Clean() {
	c.collect()
	c.store.retention.Expire()
	c.advanceSweep()
}

// Garbage returns the number of replaced versions to be collected, and the number of notes of such versions
// that were dropped.
func (c *Collector) Garbage() (waiting int, lost uint64) { return c.notes.Len(), c.notes.Lost }

// HasGarbage reports whether there is, or will be, garbage to collect.
//
// While there is some, the shard requests the registry's list even without writes (past.Snapshots.Clean).
func (c *Collector) HasGarbage() bool {
	w := &c.sweeps
	return c.notes.Len() > 0 || w.active || w.pending || c.notes.Lost != w.seenLost
}

// collect deletes the replaced versions that cannot be read any more.
func (c *Collector) collect() {
	c.lastCollection, c.lastSafePoint = c.env.Now, c.store.LowWatermark()
	removed := c.notes.Collect(c.store.LowWatermark(), c.store.retainedCSNs())
	if len(removed) > 0 {
		c.logCollection()
	}
	c.env.Log.Append(removed...)
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
func (c *Collector) advanceSweep() {
	w := &c.sweeps
	if lost := c.notes.Lost; lost != w.seenLost {
		w.budget = min(int(lost-w.seenLost)*rowsPerLostNote/sweepRows, maxSweepBatches)
		w.seenLost, w.pending, w.upTo = lost, true, c.store.csn
	}
	if !w.active && c.isSweepDue() {
		w.active, w.pages, w.pending, w.from = true, false, false, nil
		w.startSafePoint, w.startGone = c.store.LowWatermark(), c.store.retention.Known.RemovalCount()
	}
	if w.active && !w.reading {
		c.sweepBatch()
	}
}

// isSweepDue reports whether a sweep is likely to find something: a snapshot was removed, or, without any,
// the safe point has risen.
func (c *Collector) isSweepDue() bool {
	w, safePoint := &c.sweeps, c.store.LowWatermark()
	switch {
	case !w.pending, safePoint == 0, c.store.retention.retainsEarlier():
		return false
	case w.startSafePoint == 0 && w.unrecorded:
		return true
	case w.budget == 0 && c.env.Now < w.lastEnd+int64(minSweepInterval):
		return false
	}
	return w.startGone != c.store.retention.Known.RemovalCount() || len(c.store.retention.Known.CSNs()) == 0 &&
		safePoint > w.startSafePoint
}

// sweepBatch requests the next batch of rows.
func (c *Collector) sweepBatch() {
	w := &c.sweeps
	w.reading = true
	r := entry.Read{
		Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(w.from, nil),
		CSN: c.store.LowWatermark(), Retained: c.store.retainedCSNs(), Limit: sweepRows,
	}
	if w.pages {
		// Pages have no CSN.
		r = entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: kv.Range(w.from, nil), Limit: sweepRows}
	}
	c.store.ReadAt(r, c.onSweepBatch)
}

// onSweepBatch deletes the garbage of a batch. What was retained after the request was sent is at or above
// the safe point of that time, so the result is still garbage.
//
// A batch that cannot be read is requested again by the next Clean.
func (c *Collector) onSweepBatch(r *entry.ReadResult) {
	w := &c.sweeps
	w.reading = false
	if r.Err != nil {
		c.store.stats.ReadErrors++
		return
	}
	if len(r.Garbage) > 0 {
		c.logCollection()
	}
	for _, g := range r.Garbage {
		e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: g.Key, CSN: g.Below}
		if g.Below > 0 {
			c.env.Write(e)
		}
		e.Action = entry.Delete
		for _, e.CSN = range g.Versions {
			c.env.Write(e)
		}
		c.deleteSweptPages(&g)
	}
	c.store.stats.Swept += uint64(len(r.Garbage))
	w.from = slices.Clone(r.Resume)
	if r.Resume == nil && !w.pages {
		w.pages = true // the versions that referred to them are deleted
		c.sweepBatch()
		return
	}
	if r.Resume == nil {
		// A CSN that was retained before notes were dropped may still see some of that garbage, and versions above
		// the safe point were not examined. Then another sweep follows.
		retained := c.store.retainedCSNs()
		w.active, w.pages, w.lastEnd = false, false, c.env.Now
		w.pending = w.pending || w.startSafePoint < w.upTo || len(retained) > 0 && retained[0] < w.upTo
		return
	}
	if w.budget > 0 {
		w.budget--
		c.sweepBatch()
	}
}

// deleteSweptPages deletes the pages that a sweep has found.
func (c *Collector) deleteSweptPages(g *entry.Garbage) {
	for _, id := range g.Pages {
		c.env.Delete(entry.TablePage, entry.PageKey(g.Key, id))
	}
}
