package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// Duration sums up times of one kind.
type Duration struct {
	Count uint64
	Nanos int64
	// recent are those since the last take, at most maxRecent of them; taken
	// are those before.
	recent, taken []int64
}

const maxRecent = 1024

func (d *Duration) add(nanos int64) {
	d.Count++
	d.Nanos += nanos
	if len(d.recent) < maxRecent {
		d.recent = append(d.recent, nanos)
	}
}

func (d *Duration) take() []int64 {
	d.recent, d.taken = d.taken[:0], d.recent
	return d.taken
}

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

// KeyWait says how much waiting a key has caused since it came to be noticed.
type KeyWait struct {
	Key    []byte
	Shard  kv.ShardID
	Nanos  int64
	Count  uint64
	Holder kv.TxnRef
	// Last is when somebody last waited for it.
	Last int64
}

func (s *Stats) abort(f *msg.Failure) {
	if f != nil && int(f.Reason) < len(s.Aborted) {
		s.Aborted[f.Reason]++
	}
}

// Snapshot is what a shard looks like at the moment.
type Snapshot struct {
	Shard       kv.ShardID
	Incarnation kv.Incarnation
	Index       kv.Index
	Stats       Stats
	Locks       lock.Counters
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
	// GarbageLost counts the notes of garbage that were forgotten.
	GarbageLost uint64
	Queues      snapshotqueue.Counters
	// Waits are the keys that have caused most waiting, most first.
	Waits []KeyWait
}

// Snapshot copies the shard's counters and sizes.
func (m *Machine) Snapshot(top int) Snapshot {
	return Snapshot{
		Shard: m.cfg.ID, Incarnation: m.inc, Index: m.index, Stats: m.stats, Locks: m.locks.Counters(),
		Keys: m.store.Len(), KeyBytes: m.store.Bytes(), Waiting: m.locks.Waiting(), Holders: m.locks.Held(),
		Prepared: m.queue.Len(), Records: m.recs.Len(), Undecided: m.recs.Undecided(), Guests: len(m.guests.keys), Keeps: len(m.keeps), Garbage: m.garbage.Len(),
		GarbageLost: m.garbage.Lost, Readers: m.readersKnown(), Queues: m.queue.Counters(), Held: m.queue.Held(),
		Due: len(m.deadlines.due), Overdue: m.overdue(),
		Waits: m.waits(top),
	}
}

// waits lists the keys for which somebody has waited lately, most first.
func (m *Machine) waits(top int) (out []KeyWait) {
	for _, k := range m.heat.meter.Top(m.now, top, 0) {
		if k.Count > 0 {
			out = append(out, KeyWait{Key: k.Key, Shard: m.cfg.ID, Nanos: k.Nanos, Count: k.Count, Holder: k.Holder, Last: k.Last})
		}
	}
	return out
}

// readersKnown counts read-only transactions: those that are registered, or
// those that the shard has something of, whichever are more.
func (m *Machine) readersKnown() int { return max(len(m.readers), m.queue.Readers()) }

// Times are single times of some kinds, in nanoseconds.
type Times struct{ LockWait, ParkToReady, VoteToDecide []int64 }

// TakeTimes drains the times that have ended since the last call, at most
// 1024 of each kind. They are valid until the next call.
func (m *Machine) TakeTimes() Times {
	return Times{m.stats.LockWait.take(), m.stats.ParkToReady.take(), m.stats.VoteToDecide.take()}
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
		Readers: m.readersKnown(), Held: m.queue.Held(), ColdReading: len(m.cold), Marks: c.Marks, ColdReads: m.stats.ColdReads, Full: c.Full, Crowded: c.Crowded + m.stats.Crowded, NoRoom: m.stats.NoRoom}
}

// HotStats tell of the hot shard: how many keys have been moved there and are
// there now, and how many moves there and home it has seen in this life; and of
// the planner, if keys are moved at all.
type HotStats struct {
	Moved      int
	Came, Went uint64
	// Planned: there is a planner. Capacity is how many keys may be moved there;
	// Mode and Rules, a number, are the operator's; Counters are the planner's.
	Planned         bool
	Capacity, Rules int
	Mode            hotshard.Mode
	Counters        hotshard.PlannerCounters
}

// HotTop lists at most n of the cluster's keys for which most is waited, as the
// hot shard has heard of them. Other shards know of none.
func (m *Machine) HotTop(n int) []hotshard.KeyState {
	if m.heat.planner == nil {
		return nil
	}
	top := m.heat.planner.Top(m.now, n)
	for i := range top {
		if top[i].Shard == m.cfg.ID {
			top[i].Waits.Queue = m.queueOf(top[i].Key)
		}
	}
	return top
}

// HotStats gives them.
func (m *Machine) HotStats() HotStats {
	s := HotStats{Moved: len(m.guests.keys), Came: m.guests.came, Went: m.guests.went}
	if p := m.heat.planner; p != nil {
		s.Planned, s.Capacity, s.Rules, s.Mode, s.Counters = true, p.Capacity(), len(m.heat.rules), m.heat.mode, p.Counters()
	}
	return s
}
