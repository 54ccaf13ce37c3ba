package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Shard holds the metrics of one shard. The shard's goroutine writes them; any goroutine
// may read them.
type Shard struct {
	id kv.ShardID

	steps, stepNanos, inputs, entries             atomic.Uint64
	waits, waitNanos, wounds                      atomic.Uint64
	cacheMisses, rejected, keyRejections, noSpace atomic.Uint64

	queue, waiting, intents, records, keys, readers, held, coldReading level

	source atomic.Pointer[func() shard.Status]
}

// Levels are the current sizes of a shard's tables.
type Levels struct {
	// Queue counts messages in the shard's queue.
	Queue int
	// Waiting counts requests that wait for a lock.
	Waiting int
	// Intents counts prepared transactions without a decision.
	Intents int
	// Records counts decisions that are kept.
	Records int
	// Keys counts the keys whose latest version is in memory.
	Keys int
	// Readers counts read-only transactions that are registered or reading.
	Readers int
	// Held counts updates held by readers, or by the start of an incarnation.
	Held int
	// ColdReading counts reads of the store in flight.
	ColdReading int
}

// Step counts a step: the messages it processed, the log entries it wrote, and its
// duration.
func (s *Shard) Step(inputs, entries int, took time.Duration) {
	s.steps.Add(1)
	s.inputs.Add(uint64(inputs))
	s.entries.Add(uint64(entries))
	s.stepNanos.Add(uint64(took))
}

// SetLevels publishes the sizes after a step.
func (s *Shard) SetLevels(l Levels) {
	s.queue.Store(int64(l.Queue))
	s.waiting.Store(int64(l.Waiting))
	s.intents.Store(int64(l.Intents))
	s.records.Store(int64(l.Records))
	s.keys.Store(int64(l.Keys))
	s.readers.Store(int64(l.Readers))
	s.held.Store(int64(l.Held))
	s.coldReading.Store(int64(l.ColdReading))
}

// Waited counts requests that waited for a lock, and the sum of their waits.
func (s *Shard) Waited(requests int, sum time.Duration) {
	s.waits.Add(uint64(requests))
	s.waitNanos.Add(uint64(sum))
}

// Wounded counts transactions wounded by an older one.
func (s *Shard) Wounded(n int) { s.wounds.Add(uint64(n)) }

// CacheMiss counts reads that missed the memory.
func (s *Shard) CacheMiss(n int) { s.cacheMisses.Add(uint64(n)) }

// Refused counts requests rejected because a queue was full; byKey of them because of
// the lock queue of one key.
func (s *Shard) Refused(n, byKey int) {
	s.rejected.Add(uint64(n))
	s.keyRejections.Add(uint64(byKey))
}

// RefusedForRoom counts requests rejected because the disk was full.
func (s *Shard) RefusedForRoom(n int) { s.noSpace.Add(uint64(n)) }

// Steps returns the number of steps and the time spent in them.
func (s *Shard) Steps() (n uint64, spent time.Duration) {
	return s.steps.Load(), time.Duration(s.stepNanos.Load())
}

// shardMetric is one metric of all shards.
type shardMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Shard) float64
}

func shardTotal(name, help string, v func(*Shard) *atomic.Uint64) shardMetric {
	return shardMetric{shardDesc(name, help), prometheus.CounterValue,
		func(s *Shard) float64 { return float64(v(s).Load()) }}
}

func shardSeconds(name, help string, v func(*Shard) *atomic.Uint64) shardMetric {
	return shardMetric{shardDesc(name, help), prometheus.CounterValue, func(s *Shard) float64 {
		return time.Duration(v(s).Load()).Seconds()
	}}
}

func shardLevel(name, help string, v func(*Shard) *level) shardMetric {
	return shardMetric{shardDesc(name, help), prometheus.GaugeValue,
		func(s *Shard) float64 { return float64(v(s).Load()) }}
}

func shardDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_shard_"+name, help, []string{"shard"}, nil)
}

var shardMetrics = []shardMetric{
	shardTotal("steps_total", "Batches of messages that the shard has processed.",
		func(s *Shard) *atomic.Uint64 { return &s.steps }),
	shardSeconds("step_seconds_total", "Time spent processing; a rate near 1 means that the shard is saturated.",
		func(s *Shard) *atomic.Uint64 { return &s.stepNanos }),
	shardTotal("messages_total", "Messages processed.", func(s *Shard) *atomic.Uint64 { return &s.inputs }),
	shardTotal("log_entries_total", "Log entries written.", func(s *Shard) *atomic.Uint64 { return &s.entries }),
	shardTotal("lock_waits_total", "Requests that waited for a lock.",
		func(s *Shard) *atomic.Uint64 { return &s.waits }),
	shardSeconds("lock_wait_seconds_total", "Time that requests waited for locks.",
		func(s *Shard) *atomic.Uint64 { return &s.waitNanos }),
	shardTotal("wounds_total", "Transactions wounded by an older transaction.",
		func(s *Shard) *atomic.Uint64 { return &s.wounds }),
	shardTotal("cache_misses_total", "Reads of keys, ranges or old versions that were not in the shard's memory.",
		func(s *Shard) *atomic.Uint64 { return &s.cacheMisses }),
	shardTotal("rejections_total", "Requests rejected because a queue or the disk was full.",
		func(s *Shard) *atomic.Uint64 { return &s.rejected }),
	shardTotal("key_rejections_total", "Requests rejected because the lock queue of one key was full.",
		func(s *Shard) *atomic.Uint64 { return &s.keyRejections }),
	shardTotal("disk_rejections_total", "Requests rejected because the free disk space was below the reserve.",
		func(s *Shard) *atomic.Uint64 { return &s.noSpace }),
	shardLevel("queue_length", "Messages in the shard's queue.", func(s *Shard) *level { return &s.queue }),
	shardLevel("lock_waiters", "Requests that are waiting for a lock.", func(s *Shard) *level { return &s.waiting }),
	shardLevel("prepared_transactions", "Transactions that are prepared and have no decision yet.",
		func(s *Shard) *level { return &s.intents }),
	shardLevel("decision_records", "Decisions kept until every participant acknowledges them.",
		func(s *Shard) *level { return &s.records }),
	shardLevel("keys_in_memory", "Keys whose latest version is in memory.", func(s *Shard) *level { return &s.keys }),
	shardLevel("readers", "Read-only transactions that are registered or reading.",
		func(s *Shard) *level { return &s.readers }),
	shardLevel("cache_misses_in_flight", "Reads of the store in flight; a level that stays means that the disk hangs.",
		func(s *Shard) *level { return &s.coldReading }),
	shardLevel("held_updates", "Updates held by readers, or by the lease of an earlier incarnation.",
		func(s *Shard) *level { return &s.held }),
}

// shards has the handles of the node's shards.
type shards struct {
	mu  sync.Mutex
	all map[kv.ShardID]*Shard
}

// Shard returns the handle of a shard, the same at each call.
func (m *Node) Shard(id kv.ShardID) *Shard {
	m.shards.mu.Lock()
	defer m.shards.mu.Unlock()
	if m.shards.all == nil {
		m.shards.all = make(map[kv.ShardID]*Shard)
	}
	s := m.shards.all[id]
	if s == nil {
		s = &Shard{id: id}
		m.shards.all[id] = s
	}
	return s
}

// Describe implements prometheus.Collector.
func (*shards) Describe(to chan<- *prometheus.Desc) {
	for _, m := range shardMetrics {
		to <- m.desc
	}
	for _, m := range shardSourced {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (s *shards) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	all := slices.SortedFunc(maps.Values(s.all), func(a, b *Shard) int { return cmp.Compare(a.id, b.id) })
	s.mu.Unlock()
	for _, sh := range all {
		for _, m := range shardMetrics {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(sh), itoa(uint16(sh.id)))
		}
		if f := sh.source.Load(); f != nil {
			collect(to, *f, shardSourced, itoa(uint16(sh.id)))
		}
	}
}
