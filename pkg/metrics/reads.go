package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ShardStats are counters and levels that a shard keeps itself, since its start.
type ShardStats struct {
	// ReadWaits counts reads that waited for updates; ReadWait is the sum of the waits.
	ReadWaits uint64
	ReadWait  time.Duration
	// PastReads counts reads at a snapshot.
	PastReads uint64
	// PagesRead and PagesWritten count pages of large values.
	PagesRead, PagesWritten uint64
	// Holds counts updates held by readers or by the start of an incarnation; Held is
	// the sum of the holds.
	Holds uint64
	Held  time.Duration
	// UnsealsAsked counts requests to postpone a decision, Unseals the granted ones.
	UnsealsAsked, Unseals uint64
	// Lapses counts reader leases that expired.
	Lapses uint64
	// GarbageNotes is the number of old versions queued for garbage collection.
	// GarbageLost counts those dropped from the full queue, Swept the keys from which
	// a sweep removed versions.
	GarbageNotes       int
	GarbageLost, Swept uint64
	// Replanned counts operations whose lock plan changed because of the value found.
	Replanned uint64
	// Phases counts lock phases, Joins the locks granted in a running one.
	Phases, Joins uint64
	// Expired counts keys deleted after their time to live, ExpiredLate is the sum of
	// the delays. Due is the number of keys being deleted, Overdue the age of the
	// oldest of them.
	Expired              uint64
	ExpiredLate, Overdue time.Duration
	Due                  int
	// ExpirySuspended reports that keys from before the start do not expire yet.
	ExpirySuspended bool
}

// Watch sets the source of the shard's own counters. f is called at each scrape, by any
// goroutine.
func (s *Shard) Watch(f func() ShardStats) { s.source.Store(&f) }

func shardStat(name, help string, kind prometheus.ValueType, v func(*ShardStats) uint64) sourced[ShardStats] {
	return sourced[ShardStats]{desc: shardDesc(name, help), kind: kind, value: number(v)}
}

func shardTime(name, help string, v func(*ShardStats) time.Duration) sourced[ShardStats] {
	return sourced[ShardStats]{shardDesc(name, help), prometheus.CounterValue,
		func(s *ShardStats) float64 { return v(s).Seconds() }, nil}
}

const (
	counted = prometheus.CounterValue
	leveled = prometheus.GaugeValue
)

var shardSourced = []sourced[ShardStats]{
	shardStat("read_waits_total", "Reads that waited for an undecided update.", counted,
		func(s *ShardStats) uint64 { return s.ReadWaits }),
	shardTime("read_wait_seconds_total", "Time that reads waited for undecided updates.",
		func(s *ShardStats) time.Duration { return s.ReadWait }),
	shardStat("snapshot_reads_total", "Reads at a snapshot.", counted,
		func(s *ShardStats) uint64 { return s.PastReads }),
	shardStat("pages_read_total", "Pages of large values read from the store.", counted,
		func(s *ShardStats) uint64 { return s.PagesRead }),
	shardStat("pages_written_total", "Pages of large values written.", counted,
		func(s *ShardStats) uint64 { return s.PagesWritten }),
	shardStat("holds_total", "Updates held by readers, or by the lease of an earlier incarnation.", counted,
		func(s *ShardStats) uint64 { return s.Holds }),
	shardTime("hold_seconds_total", "Time that updates were held.",
		func(s *ShardStats) time.Duration { return s.Held }),
	shardStat("unseal_requests_total", "Requests of readers to postpone a sealed decision.", counted,
		func(s *ShardStats) uint64 { return s.UnsealsAsked }),
	shardStat("unseals_total", "Decisions postponed for a reader.", counted,
		func(s *ShardStats) uint64 { return s.Unseals }),
	shardStat("lease_expirations_total", "Reader leases that expired before they were renewed.", counted,
		func(s *ShardStats) uint64 { return s.Lapses }),
	shardStat("gc_pending_versions", "Old versions queued for garbage collection.", leveled,
		func(s *ShardStats) uint64 { return uint64(s.GarbageNotes) }),
	shardStat("gc_pending_dropped_total", "Old versions dropped from the full queue and left to a sweep.", counted,
		func(s *ShardStats) uint64 { return s.GarbageLost }),
	shardStat("gc_swept_keys_total", "Keys from which a sweep removed old versions.", counted,
		func(s *ShardStats) uint64 { return s.Swept }),
	shardStat("lock_phases_total", "Lock phases: periods in which compatible operations share a key.", counted,
		func(s *ShardStats) uint64 { return s.Phases }),
	shardStat("lock_phase_joins_total", "Locks granted in a running lock phase.", counted,
		func(s *ShardStats) uint64 { return s.Joins }),
	shardStat("lock_replans_total", "Operations whose lock plan changed because of the value they found.", counted,
		func(s *ShardStats) uint64 { return s.Replanned }),
	shardStat("expired_keys_total", "Keys deleted because their time to live was over.", counted,
		func(s *ShardStats) uint64 { return s.Expired }),
	shardTime("expiry_delay_seconds_total", "Time between the expiry of keys and their deletion.",
		func(s *ShardStats) time.Duration { return s.ExpiredLate }),
	shardStat("expired_keys_pending", "Expired keys that are being deleted.", leveled,
		func(s *ShardStats) uint64 { return uint64(s.Due) }),
	{desc: shardDesc("expiry_lag_seconds", "Age of the oldest expired key that is not deleted yet."), kind: leveled,
		value: func(s *ShardStats) float64 { return s.Overdue.Seconds() }},
	shardStat("expiry_suspended",
		"1 while keys do not expire because the wall clock is not trusted; the log has the reason.", leveled,
		func(s *ShardStats) uint64 {
			if s.ExpirySuspended {
				return 1
			}
			return 0
		}),
}
