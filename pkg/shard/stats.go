package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Duration summarizes measured durations of one kind.
type Duration = step.Duration

// CommitStats are the counters of commits, ExecStats those of executions.
type (
	CommitStats = agent.Stats
	ExecStats   = exec.Stats
)

// Stats are the counters of a shard. They never decrease.
type Stats struct {
	Steps, Messages uint64
	CommitStats
	ExecStats
	// CacheMisses counts reads of the log for keys, pages and ranges that were not in memory.
	CacheMisses uint64
	// PagesRead and PagesWritten count pages of large values. The former are among the cache misses.
	PagesRead, PagesWritten uint64
	ReadErrors              uint64
	// Reads counts responses to read-only transactions, ReadWaits those that waited for updates, for
	// ReadWaitNanos in total.
	Reads, ReadWaits, ReadWaitNanos uint64
	// PastReads counts reads at a snapshot or at a fixed CSN.
	PastReads uint64
	// Swept counts the keys from which a sweep has removed versions.
	Swept uint64
	// Expired counts the keys deleted at their expiry, ExpiredLateNanos by how much later than that,
	// in total.
	Expired, ExpiredLateNanos uint64
}

// Status is the current state of a shard, in numbers.
type Status struct {
	Shard       kv.ShardID
	Incarnation kv.Incarnation
	CSN         kv.CSN
	Stats       Stats
	Locks       locktable.Counters
	// Keys is the number of keys in memory, KeyBytes the size of the cache.
	Keys, KeyBytes int
	// Waiting counts waiting lock requests, Holders transactions with locks, Prepared prepared
	// participants, Records the last agent's records, Undecided those of them without a decision.
	Waiting, Holders, Prepared, Records, Undecided int
	// MovedKeys counts keys that have been moved here.
	MovedKeys int
	// FixedCSNs counts CSNs that are fixed for readers, Garbage replaced versions that are not
	// collected, Readers the known read-only transactions, Held the updates that readers, or the
	// wait after a restart, keep from being decided.
	FixedCSNs, Garbage, Readers, Held int
	// ReadsInFlight counts reads of the log that have no result yet.
	ReadsInFlight int
	// Due counts the expired keys that are being deleted. Overdue is for how long the first of them
	// has been expired.
	Due     int
	Overdue time.Duration
	// ExpirySuspended is Machine.ExpirySuspended.
	ExpirySuspended timeofday.Doubt
	// GarbageLost counts notes of garbage that were dropped at their bound; a sweep finds it.
	GarbageLost uint64
	Queues      snapshotqueue.Counters
	// Waits are the keys with the longest total waits, longest first.
	Waits []hotshard.KeyHeat
}

// counters collects the counters of the shard and its parts.
func (m *Machine) counters() Stats {
	of, r, e := m.store.Stats(), m.readers.Stats(), m.expiry.Stats()
	return Stats{Steps: m.Steps, Messages: m.messages, CommitStats: *m.last.Stats(), ExecStats: *m.exec.Stats(),
		CacheMisses: of.Reads, PagesRead: of.PagesRead, PagesWritten: of.PagesWritten, ReadErrors: of.ReadErrors,
		Reads: r.Reads, ReadWaits: r.Waits, ReadWaitNanos: r.WaitNanos, PastReads: m.past.Count(), Swept: of.Swept,
		Expired: e.Expired, ExpiredLateNanos: e.LateNanos}
}

// Status returns a copy of the counters and sizes, with at most top keys in Waits.
func (m *Machine) Status(top int) Status {
	garbage, lost := m.store.Collector.Garbage()
	return Status{
		Shard: m.cfg.ID, Incarnation: m.Inc, CSN: m.store.CSN(), Stats: m.counters(), Locks: m.locks.Counters(),
		Keys: m.store.Len(), KeyBytes: m.store.Bytes(), Waiting: m.locks.WaiterCount(), Holders: m.locks.OwnerCount(),
		Prepared: m.queue.Len(), Records: m.records.Len(), Undecided: m.records.Undecided(),
		MovedKeys: m.heat.Moved(), FixedCSNs: m.store.Retention().Len(), Garbage: garbage, GarbageLost: lost,
		Readers: m.readers.Len(), Queues: m.queue.Counters(), Held: m.queue.HeldCount(),
		ReadsInFlight: m.store.ReadsInFlight(), Due: m.expiry.Due(), Overdue: m.expiry.Overdue(),
		ExpirySuspended: m.expiry.Suspended(),
		Waits:           m.heat.Waits(top),
	}
}

// Times are single durations of some kinds, in nanoseconds.
type Times struct{ LockWait, RequestToReady, VoteToDecision []int64 }

// TakeTimes returns the durations measured since the last call, at most 1024 of each kind. They are
// valid until the next call.
func (m *Machine) TakeTimes() Times {
	s := m.last.Stats()
	return Times{m.exec.Stats().LockWait.Take(), s.RequestToReady.Take(), s.VoteToDecision.Take()}
}

// HotStats are the counters of the hot shard.
type HotStats = contention.Stats

// HottestKeys returns at most n keys of the cluster with the longest waits, as reported to the hot
// shard. On other shards it is empty.
func (m *Machine) HottestKeys(n int) []msg.HotKey { return m.heat.Top(n) }

// HotStats returns the counters of the hot shard.
func (m *Machine) HotStats() HotStats { return m.heat.Stats() }

// IsMoved reports whether a key has been moved here.
func (m *Machine) IsMoved(key []byte) bool { return m.heat.IsMoved(key) }

// RetainedSnapshots returns how many snapshots are retained, how many of them have a name, and the
// age of the oldest.
func (m *Machine) RetainedSnapshots(now int64) (all, named int, age time.Duration) {
	return m.snapshots.Len(now)
}
