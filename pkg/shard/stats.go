package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Duration sums up times of one kind.
type Duration = step.Duration

// Stats are a shard's counters; they only rise.
type Stats struct {
	Steps, Messages uint64
	// Committed counts transactions decided here, Applied those applied as a
	// participant; Aborted those that were decided against, by reason.
	Committed, Applied uint64
	Aborted            [16]uint64
	ColdReads          uint64
	// PagesRead and PagesWritten count pages of large values; the former are among
	// the cold reads.
	PagesRead, PagesWritten uint64
	ReadErrors              uint64
	MarksSent               uint64
	Broken                  uint64
	// Reads counts answers to read-only transactions, ReadWaits those that had
	// to wait for updates, in ReadWaitNanos together.
	Reads, ReadWaits, ReadWaitNanos uint64
	// PastReads counts reads in the past: at a pin, or at a kept index.
	PastReads uint64
	// UnsealsAsked counts requests to put a decision off.
	UnsealsAsked uint64
	// Swept counts the keys of which a sweep has removed versions.
	Swept uint64
	// Replanned counts pieces that turned out to need other locks than they had
	// been given, by what their keys held.
	Replanned uint64
	// Planned counts plans of calls that were made, for their locks or when they
	// were executed. A call that nobody interferes with takes one.
	Planned uint64
	// Crowded counts requests that were refused because too many others held
	// their key, NoRoom those for which there was no room on the disk.
	Crowded, NoRoom uint64
	// Expired counts the keys that were deleted when they were due, ExpiredLateNanos
	// after what time that was, together.
	Expired, ExpiredLateNanos uint64
	// LockWait is the time that requests waited for locks. ParkToReady is the time that parked pieces waited for votes and rows;
	// VoteToDecide that of participants for the decision.
	LockWait, ParkToReady, VoteToDecide Duration
}

// KeyWait says how much waiting a key has caused.
type KeyWait = contention.KeyWait

// Snapshot is what a shard looks like at the moment.
type Snapshot struct {
	Shard       kv.ShardID
	Incarnation kv.Incarnation
	Index       kv.Index
	Stats       Stats
	Locks       locktable.Counters
	// Keys is the number of keys in memory, KeyBytes the size of the cache.
	Keys, KeyBytes int
	// Waiting requests, Holders of locks, Prepared participants, Records, and those
	// of them whose outcome is open.
	Waiting, Holders, Prepared, Records, Undecided int
	// Guests are keys that have been moved here.
	Guests int
	// Readers are read-only transactions that the shard knows of.
	// Held are updates that readers, or the start of a new life, hold back.
	Keeps, Garbage, Readers, Held int
	// Due are the keys that are due and being deleted, Overdue is for how long the
	// first of those has been that are known of.
	Due     int
	Overdue time.Duration
	// ExpirySuspended is why keys that earlier incarnations have given a time to live are
	// not deleted by the time of day.
	ExpirySuspended timeofday.Doubt
	// GarbageLost counts the notes of garbage that were forgotten.
	GarbageLost uint64
	Queues      snapshotqueue.Counters
	// Waits are the keys that have caused most waiting, most first.
	Waits []KeyWait
}

// counters are the shard's own and those of its parts.
func (m *Machine) counters() Stats {
	of, c, r := m.store.Stats(), m.last.Stats(), m.readers.Stats()
	s := Stats{Steps: m.Steps, Messages: m.messages, Committed: c.Committed, Applied: c.Applied, Aborted: c.Aborted,
		MarksSent: c.WoundsSent, Broken: c.LocksBroken, UnsealsAsked: c.UnsealsRequested, ParkToReady: c.RequestToReady, VoteToDecide: c.VoteToDecision,
		Reads: r.Reads, ReadWaits: r.Waits, ReadWaitNanos: r.WaitNanos, PastReads: m.past.Count()}
	x := m.exec.Stats()
	s.Replanned, s.Planned, s.Crowded, s.NoRoom, s.LockWait = x.Replanned, x.Planned, x.Crowded, x.NoRoom, x.LockWait
	s.ColdReads, s.PagesRead, s.PagesWritten, s.ReadErrors, s.Swept = of.Reads, of.PagesRead, of.PagesWritten, of.ReadErrors, of.Swept
	s.Expired, s.ExpiredLateNanos = m.expiry.Stats().Expired, m.expiry.Stats().LateNanos
	return s
}

// Snapshot copies the shard's counters and sizes.
func (m *Machine) Snapshot(top int) Snapshot {
	garbage, lost := m.store.Garbage()
	return Snapshot{
		Shard: m.cfg.ID, Incarnation: m.Inc, Index: m.store.Index(), Stats: m.counters(), Locks: m.locks.Counters(),
		Keys: m.store.Len(), KeyBytes: m.store.Bytes(), Waiting: m.locks.Waiting(), Holders: m.locks.Held(),
		Prepared: m.queue.Len(), Records: m.recs.Len(), Undecided: m.recs.Undecided(), Guests: m.heat.Moved(), Keeps: m.store.Kept().Len(), Garbage: garbage,
		GarbageLost: lost, Readers: m.readers.Len(), Queues: m.queue.Counters(), Held: m.queue.Held(),
		Due: m.expiry.Due(), Overdue: m.expiry.Overdue(), ExpirySuspended: m.expiry.Suspended(),
		Waits: m.heat.Waits(top),
	}
}

// Times are single times of some kinds, in nanoseconds.
type Times struct{ LockWait, ParkToReady, VoteToDecide []int64 }

// TakeTimes drains the times that have ended since the last call, at most
// 1024 of each kind. They are valid until the next call.
func (m *Machine) TakeTimes() Times {
	return Times{m.exec.Stats().LockWait.Take(), m.last.Stats().RequestToReady.Take(), m.last.Stats().VoteToDecision.Take()}
}

// Levels are the few numbers that are wanted after every step.
type Levels struct {
	Waiting, Prepared, Records, Keys int
	// Readers and Held are those of Snapshot.
	Readers, Held int
	// ColdReading are the reads of the disk that are under way.
	ColdReading            int
	Marks, ColdReads, Full uint64
	// Crowded counts what was refused because of one key, NoRoom what was for
	// want of room on the disk, Full the rest.
	Crowded, NoRoom uint64
}

// Levels tells them.
func (m *Machine) Levels() Levels {
	c := m.locks.Counters()
	return Levels{Waiting: m.locks.Waiting(), Prepared: m.queue.Len(), Records: m.recs.Len(), Keys: m.store.Len(),
		Readers: m.readers.Len(), Held: m.queue.Held(), ColdReading: m.store.Reading(), Marks: c.Marks, ColdReads: m.store.Stats().Reads, Full: c.Full, Crowded: c.Crowded + m.exec.Stats().Crowded, NoRoom: m.exec.Stats().NoRoom}
}

// HotStats tell of the hot shard.
type HotStats = contention.Stats

// HotTop lists at most n of the cluster's keys for which most is waited, as the
// hot shard has heard of them. Other shards know of none.
func (m *Machine) HotTop(n int) []hotshard.KeyState { return m.heat.Top(n) }

// HotStats gives them.
func (m *Machine) HotStats() HotStats { return m.heat.Stats() }

// IsGuest reports whether a key has been moved here.
func (m *Machine) IsGuest(key []byte) bool { return m.heat.IsMoved(key) }

// Pins is how many states are kept here, how many of them have a name, and
// for how long by now the oldest has been past.
func (m *Machine) Pins(now int64) (all, named int, age time.Duration) { return m.snapshots.Len(now) }
