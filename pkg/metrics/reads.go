package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/shard"
)

// Watch sets the source of the shard's own counters. f is called at each scrape, by any
// goroutine.
func (s *Shard) Watch(f func() shard.Status) { s.source.Store(&f) }

func shardStat(name, help string, kind prometheus.ValueType, v func(*shard.Status) uint64) sourced[shard.Status] {
	return sourced[shard.Status]{desc: shardDesc(name, help), kind: kind, value: number(v)}
}

func shardTime(name, help string, v func(*shard.Status) time.Duration) sourced[shard.Status] {
	return sourced[shard.Status]{shardDesc(name, help), prometheus.CounterValue,
		func(s *shard.Status) float64 { return v(s).Seconds() }, nil}
}

const (
	counted = prometheus.CounterValue
	leveled = prometheus.GaugeValue
)

var shardSourced = []sourced[shard.Status]{
	shardStat("read_waits_total", "Reads that waited for an undecided update.", counted,
		func(s *shard.Status) uint64 { return s.Stats.ReadWaits }),
	shardTime("read_wait_seconds_total", "Time that reads waited for undecided updates.",
		func(s *shard.Status) time.Duration { return time.Duration(s.Stats.ReadWaitNanos) }),
	shardStat("snapshot_reads_total", "Reads at a snapshot.", counted,
		func(s *shard.Status) uint64 { return s.Stats.PastReads }),
	shardStat("pages_read_total", "Pages of large values read from the store.", counted,
		func(s *shard.Status) uint64 { return s.Stats.PagesRead }),
	shardStat("pages_written_total", "Pages of large values written.", counted,
		func(s *shard.Status) uint64 { return s.Stats.PagesWritten }),
	shardStat("holds_total", "Updates held by readers, or by the lease of an earlier incarnation.", counted,
		func(s *shard.Status) uint64 { return s.Queues.Holds }),
	shardTime("hold_seconds_total", "Time that updates were held.",
		func(s *shard.Status) time.Duration { return time.Duration(s.Queues.HeldNanos) }),
	shardStat("unseal_requests_total", "Requests of readers to postpone a sealed decision.", counted,
		func(s *shard.Status) uint64 { return s.Stats.UnsealsRequested }),
	shardStat("unseals_total", "Decisions postponed for a reader.", counted,
		func(s *shard.Status) uint64 { return s.Queues.Unseals }),
	shardStat("lease_expirations_total", "Reader leases that expired before they were renewed.", counted,
		func(s *shard.Status) uint64 { return s.Queues.Expirations }),
	shardStat("gc_pending_versions", "Old versions queued for garbage collection.", leveled,
		func(s *shard.Status) uint64 { return uint64(s.Garbage) }),
	shardStat("gc_pending_dropped_total", "Old versions dropped from the full queue and left to a sweep.", counted,
		func(s *shard.Status) uint64 { return s.GarbageLost }),
	shardStat("gc_swept_keys_total", "Keys from which a sweep removed old versions.", counted,
		func(s *shard.Status) uint64 { return s.Stats.Swept }),
	shardStat("lock_phases_total", "Lock phases: periods in which compatible operations share a key.", counted,
		func(s *shard.Status) uint64 { return s.Locks.Phases }),
	shardStat("lock_phase_joins_total", "Locks granted in a running lock phase.", counted,
		func(s *shard.Status) uint64 { return s.Locks.Joins }),
	shardStat("lock_replans_total", "Operations whose lock plan changed because of the value they found.", counted,
		func(s *shard.Status) uint64 { return s.Stats.Replanned }),
	shardStat("expired_keys_total", "Keys deleted because their time to live was over.", counted,
		func(s *shard.Status) uint64 { return s.Stats.Expired }),
	shardTime("expiry_delay_seconds_total", "Time between the expiry of keys and their deletion.",
		func(s *shard.Status) time.Duration { return time.Duration(s.Stats.ExpiredLateNanos) }),
	shardStat("expired_keys_pending", "Expired keys that are being deleted.", leveled,
		func(s *shard.Status) uint64 { return uint64(s.Due) }),
	{desc: shardDesc("expiry_lag_seconds", "Age of the oldest expired key that is not deleted yet."), kind: leveled,
		value: func(s *shard.Status) float64 { return s.Overdue.Seconds() }},
	shardStat("expiry_suspended",
		"1 while keys do not expire because the wall clock is not trusted; the log has the reason.", leveled,
		func(s *shard.Status) uint64 {
			if s.ExpirySuspended != shard.NoDoubt {
				return 1
			}
			return 0
		}),
}
