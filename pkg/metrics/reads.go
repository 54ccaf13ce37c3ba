package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ShardStats are what a shard counts for itself since it started, mostly of
// readers and of what is kept for them.
type ShardStats struct {
	// ReadWaits counts reads that had to wait for updates, ReadWait is their
	// time in sum.
	ReadWaits uint64
	ReadWait  time.Duration
	// PastReads counts reads at a pin, or at an index that is kept for a reader.
	PastReads uint64
	// PagesRead and PagesWritten count pages of large values.
	PagesRead, PagesWritten uint64
	// Holds counts updates that readers, or the start of a new life, held back,
	// Held is their time in sum.
	Holds uint64
	Held  time.Duration
	// UnsealsAsked counts requests to put a decision off, Unseals those that
	// were granted.
	UnsealsAsked, Unseals uint64
	// Lapses counts registrations of readers that lapsed.
	Lapses uint64
	// GarbageNotes is how many versions are noted now that can go when nobody
	// sees them any more. GarbageLost counts the notes that were forgotten,
	// Swept the keys of which a sweep has removed versions instead.
	GarbageNotes       int
	GarbageLost, Swept uint64
	// Replanned counts pieces of transactions that turned out to need other locks
	// than they had been given, by what their keys held.
	Replanned uint64
	// Phases counts the phases of keys that were opened, Joins the locks that were
	// granted beside others in one that ran.
	Phases, Joins uint64
	// Expired counts the keys that were deleted because their time to live was over,
	// ExpiredLate is after what time, together. Due are the keys that are being
	// deleted now, Overdue is how late the first of those is that are due.
	Expired              uint64
	ExpiredLate, Overdue time.Duration
	Due                  int
	// ExpirySuspended: keys from before the start are not deleted by the time of day.
	ExpirySuspended bool
}

// Watch sets where the shard's own numbers come from. f is called by any
// goroutine, when Prometheus asks.
func (s *Shard) Watch(f func() ShardStats) { s.source.Store(&f) }

func shardStat(name, help string, kind prometheus.ValueType, v func(*ShardStats) uint64) sourced[ShardStats] {
	return sourced[ShardStats]{desc: shardDesc(name, help), kind: kind, value: number(v)}
}

func shardTime(name, help string, v func(*ShardStats) time.Duration) sourced[ShardStats] {
	return sourced[ShardStats]{desc: shardDesc(name, help), kind: prometheus.CounterValue, value: func(s *ShardStats) float64 { return v(s).Seconds() }}
}

const (
	counted = prometheus.CounterValue
	leveled = prometheus.GaugeValue
)

var shardSourced = []sourced[ShardStats]{
	shardStat("read_waits_total", "Reads that waited for updates.", counted, func(s *ShardStats) uint64 { return s.ReadWaits }),
	shardTime("read_wait_seconds_total", "Time that reads waited for updates.", func(s *ShardStats) time.Duration { return s.ReadWait }),
	shardStat("past_reads_total", "Reads in a state of the past.", counted, func(s *ShardStats) uint64 { return s.PastReads }),
	shardStat("pages_read_total", "Pages of large values that were asked for from the disk, which are among its cold reads.", counted, func(s *ShardStats) uint64 { return s.PagesRead }),
	shardStat("pages_written_total", "Pages of large values that were written.", counted, func(s *ShardStats) uint64 { return s.PagesWritten }),
	shardStat("holds_total", "Updates that were held back, by readers or by the start of a new life.", counted, func(s *ShardStats) uint64 { return s.Holds }),
	shardTime("held_seconds_total", "Time that updates were held back.", func(s *ShardStats) time.Duration { return s.Held }),
	shardStat("unseal_requests_total", "Requests to put a decision off for the sake of a reader.", counted, func(s *ShardStats) uint64 { return s.UnsealsAsked }),
	shardStat("unseals_total", "Decisions that were put off for the sake of a reader.", counted, func(s *ShardStats) uint64 { return s.Unseals }),
	shardStat("lapses_total", "Registrations of readers that lapsed.", counted, func(s *ShardStats) uint64 { return s.Lapses }),
	shardStat("garbage_notes", "Versions noted to be removed when nobody sees them any more.", leveled, func(s *ShardStats) uint64 { return uint64(s.GarbageNotes) }),
	shardStat("garbage_notes_lost_total", "Notes of garbage that were forgotten; sweeps find what they named.", counted, func(s *ShardStats) uint64 { return s.GarbageLost }),
	shardStat("swept_keys_total", "Keys of which a sweep removed versions.", counted, func(s *ShardStats) uint64 { return s.Swept }),
	shardStat("phases_total", "Phases of keys: runs of locks that go together, opened by the first of them.", counted, func(s *ShardStats) uint64 { return s.Phases }),
	shardStat("phase_joins_total", "Locks that were granted beside others, in a phase that ran.", counted, func(s *ShardStats) uint64 { return s.Joins }),
	shardStat("replanned_total", "Calls of data types that turned out to need other locks, by what their keys held.", counted, func(s *ShardStats) uint64 { return s.Replanned }),
	shardStat("expired_keys_total", "Keys that were deleted because their time to live was over.", counted, func(s *ShardStats) uint64 { return s.Expired }),
	shardTime("expired_late_seconds_total", "For how long keys were there after their time to live was over.", func(s *ShardStats) time.Duration { return s.ExpiredLate }),
	shardStat("due_keys", "Keys whose time to live is over and that are being deleted.", leveled, func(s *ShardStats) uint64 { return uint64(s.Due) }),
	{desc: shardDesc("overdue_seconds", "For how long the key has been due that has been for longest, 0 if none is."), kind: leveled,
		value: func(s *ShardStats) float64 { return s.Overdue.Seconds() }},
	shardStat("expiry_suspended", "1 while keys from before the start are not deleted by the time of day, since it is not relied on yet; the log says why.", leveled,
		func(s *ShardStats) uint64 {
			if s.ExpirySuspended {
				return 1
			}
			return 0
		}),
}
