package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/shard"
)

// ShardStats are the counters and levels of a shard since its start.
type ShardStats struct {
	shard.Status
	// Queue counts messages in the shard's queue.
	Queue int
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

func shardLevel(name, help string, v func(*ShardStats) int) sourced[ShardStats] {
	return shardStat(name, help, leveled, func(s *ShardStats) uint64 { return uint64(v(s)) })
}

func keyRejections(s *ShardStats) uint64 { return s.Locks.KeyQueueFull + s.Stats.KeyRejections }

const (
	counted = prometheus.CounterValue
	leveled = prometheus.GaugeValue
)

var shardSourced = []sourced[ShardStats]{
	shardStat("lock_waits_total", "Requests that waited for a lock.", counted,
		func(s *ShardStats) uint64 { return s.Stats.LockWait.Count }),
	shardTime("lock_wait_seconds_total", "Time that requests waited for locks.",
		func(s *ShardStats) time.Duration { return time.Duration(s.Stats.LockWait.Nanos) }),
	shardStat("wounds_total", "Transactions wounded by an older transaction.", counted,
		func(s *ShardStats) uint64 { return s.Locks.Wounds }),
	shardStat("cache_misses_total", "Reads of what was not in the shard's memory.",
		counted, func(s *ShardStats) uint64 { return s.Stats.CacheMisses }),
	shardStat("rejections_total", "Requests rejected because a queue or the disk was full.", counted,
		func(s *ShardStats) uint64 { return s.Locks.QueueFull + keyRejections(s) + s.Stats.NoSpaceRejections }),
	shardStat("key_rejections_total", "Requests rejected because a key's lock queue was full.", counted,
		keyRejections),
	shardStat("disk_rejections_total", "Requests rejected for lack of disk space.", counted,
		func(s *ShardStats) uint64 { return s.Stats.NoSpaceRejections }),
	shardLevel("queue_length", "Messages in the shard's queue.", func(s *ShardStats) int { return s.Queue }),
	shardLevel("lock_waiters", "Requests that are waiting for a lock.", func(s *ShardStats) int { return s.Waiting }),
	shardLevel("prepared_transactions", "Transactions that are prepared and have no decision yet.",
		func(s *ShardStats) int { return s.Prepared }),
	shardLevel("decision_records", "Decisions kept until every participant acknowledges them.",
		func(s *ShardStats) int { return s.Records }),
	shardLevel("keys_in_memory", "Keys whose latest version is in memory.", func(s *ShardStats) int { return s.Keys }),
	shardLevel("readers", "Read-only transactions that are registered or reading.",
		func(s *ShardStats) int { return s.Readers }),
	shardLevel("cache_misses_in_flight", "Reads of the store in flight; if they stay, the disk hangs.",
		func(s *ShardStats) int { return s.ReadsInFlight }),
	shardLevel("held_updates", "Updates held by readers, or by the lease of an earlier incarnation.",
		func(s *ShardStats) int { return s.Held }),
	shardStat("read_waits_total", "Reads that waited for an undecided update.", counted,
		func(s *ShardStats) uint64 { return s.Stats.ReadWaits }),
	shardTime("read_wait_seconds_total", "Time that reads waited for undecided updates.",
		func(s *ShardStats) time.Duration { return time.Duration(s.Stats.ReadWaitNanos) }),
	shardStat("snapshot_reads_total", "Reads at a snapshot.", counted,
		func(s *ShardStats) uint64 { return s.Stats.PastReads }),
	shardStat("pages_read_total", "Pages of large values read from the store.", counted,
		func(s *ShardStats) uint64 { return s.Stats.PagesRead }),
	shardStat("pages_written_total", "Pages of large values written.", counted,
		func(s *ShardStats) uint64 { return s.Stats.PagesWritten }),
	shardStat("holds_total", "Updates held by readers, or by the lease of an earlier incarnation.", counted,
		func(s *ShardStats) uint64 { return s.Queues.Holds }),
	shardTime("hold_seconds_total", "Time that updates were held.",
		func(s *ShardStats) time.Duration { return time.Duration(s.Queues.HeldNanos) }),
	shardStat("unseal_requests_total", "Requests of readers to postpone a sealed decision.", counted,
		func(s *ShardStats) uint64 { return s.Stats.UnsealsRequested }),
	shardStat("unseals_total", "Decisions postponed for a reader.", counted,
		func(s *ShardStats) uint64 { return s.Queues.Unseals }),
	shardStat("lease_expirations_total", "Reader leases that expired before they were renewed.", counted,
		func(s *ShardStats) uint64 { return s.Queues.Expirations }),
	shardLevel("gc_pending_versions", "Old versions queued for garbage collection.",
		func(s *ShardStats) int { return s.Garbage }),
	shardStat("gc_pending_dropped_total", "Old versions dropped from the full queue and left to a sweep.", counted,
		func(s *ShardStats) uint64 { return s.GarbageLost }),
	shardStat("gc_swept_keys_total", "Keys from which a sweep removed old versions.", counted,
		func(s *ShardStats) uint64 { return s.Stats.Swept }),
	shardStat("lock_phases_total", "Lock phases: periods in which compatible operations share a key.", counted,
		func(s *ShardStats) uint64 { return s.Locks.Phases }),
	shardStat("lock_phase_joins_total", "Locks granted in a running lock phase.", counted,
		func(s *ShardStats) uint64 { return s.Locks.Joins }),
	shardStat("lock_replans_total", "Operations whose lock plan changed because of the value they found.", counted,
		func(s *ShardStats) uint64 { return s.Stats.Replanned }),
	shardStat("expired_keys_total", "Keys deleted because their time to live was over.", counted,
		func(s *ShardStats) uint64 { return s.Stats.Expired }),
	shardTime("expiry_delay_seconds_total", "Time between the expiry of keys and their deletion.",
		func(s *ShardStats) time.Duration { return time.Duration(s.Stats.ExpiredLateNanos) }),
	shardLevel("expired_keys_pending", "Expired keys that are being deleted.",
		func(s *ShardStats) int { return s.Due }),
	{desc: shardDesc("expiry_lag_seconds", "Age of the oldest expired key not deleted yet."), kind: leveled,
		value: func(s *ShardStats) float64 { return s.Overdue.Seconds() }},
	{desc: shardDesc("expiry_suspended", "1 while keys do not expire, as the wall clock is not trusted (see the log)."),
		kind: leveled, value: func(s *ShardStats) float64 { return oneIf(s.ExpirySuspended != shard.NoDoubt) }},
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
