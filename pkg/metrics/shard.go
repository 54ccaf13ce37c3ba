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
)

// Shard is what is measured of one shard. It is written by the shard's
// goroutine and read by any.
type Shard struct {
	id kv.ShardID

	steps, stepNanos, inputs, entries   atomic.Uint64
	waits, waitNanos, wounds            atomic.Uint64
	coldReads, refused, crowded, noRoom atomic.Uint64

	queue, waiting, intents, records, keys, readers, held, coldReading level

	source atomic.Pointer[func() ShardStats]
}

// Levels are a shard's sizes now.
type Levels struct {
	// Queue counts messages that wait for the next step.
	Queue int
	// Waiting counts requests that wait for a lock.
	Waiting int
	// Intents counts transactions that are prepared and undecided.
	Intents int
	// Records counts decisions that are kept.
	Records int
	// Keys counts the keys of which the newest version is in memory.
	Keys int
	// Readers counts read-only transactions that are registered, or of which
	// there is a read or its answer.
	Readers int
	// Held counts updates that wait for readers, or for the start of a new
	// life to be over.
	Held int
	// ColdReading counts the reads of the disk that are under way.
	ColdReading int
}

// Step counts a step: the messages it took in, the entries it wrote, and the
// time it took.
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

// Waited counts requests that have waited for a lock, and their time in sum.
func (s *Shard) Waited(requests int, sum time.Duration) {
	s.waits.Add(uint64(requests))
	s.waitNanos.Add(uint64(sum))
}

// Wounded counts transactions that were marked by an older one.
func (s *Shard) Wounded(n int) { s.wounds.Add(uint64(n)) }

// ColdRead counts reads that went to the disk.
func (s *Shard) ColdRead(n int) { s.coldReads.Add(uint64(n)) }

// Refused counts requests that were refused because a queue was full, and those
// of them for which that was one of a single key.
func (s *Shard) Refused(n, byKey int) {
	s.refused.Add(uint64(n))
	s.crowded.Add(uint64(byKey))
}

// RefusedForRoom counts those that were refused for want of room on the disk.
func (s *Shard) RefusedForRoom(n int) { s.noRoom.Add(uint64(n)) }

// Steps gives the number of steps and the time spent in them.
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
	return shardMetric{shardDesc(name, help), prometheus.CounterValue, func(s *Shard) float64 { return float64(v(s).Load()) }}
}

func shardSeconds(name, help string, v func(*Shard) *atomic.Uint64) shardMetric {
	return shardMetric{shardDesc(name, help), prometheus.CounterValue, func(s *Shard) float64 {
		return time.Duration(v(s).Load()).Seconds()
	}}
}

func shardLevel(name, help string, v func(*Shard) *level) shardMetric {
	return shardMetric{shardDesc(name, help), prometheus.GaugeValue, func(s *Shard) float64 { return float64(v(s).Load()) }}
}

func shardDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_shard_"+name, help, []string{"shard"}, nil)
}

var shardMetrics = []shardMetric{
	shardTotal("steps_total", "Steps of the shard's machine.", func(s *Shard) *atomic.Uint64 { return &s.steps }),
	shardSeconds("step_seconds_total", "Time spent in steps.", func(s *Shard) *atomic.Uint64 { return &s.stepNanos }),
	shardTotal("inputs_total", "Messages that steps took in.", func(s *Shard) *atomic.Uint64 { return &s.inputs }),
	shardTotal("entries_total", "Log entries that steps wrote.", func(s *Shard) *atomic.Uint64 { return &s.entries }),
	shardTotal("waits_total", "Requests that waited for a lock.", func(s *Shard) *atomic.Uint64 { return &s.waits }),
	shardSeconds("wait_seconds_total", "Time that requests waited for locks.", func(s *Shard) *atomic.Uint64 { return &s.waitNanos }),
	shardTotal("wounds_total", "Transactions that an older one marked.", func(s *Shard) *atomic.Uint64 { return &s.wounds }),
	shardTotal("cold_reads_total", "Reads that were sent to the disk.", func(s *Shard) *atomic.Uint64 { return &s.coldReads }),
	shardTotal("refusals_total", "Requests refused because a queue or the disk was full.", func(s *Shard) *atomic.Uint64 { return &s.refused }),
	shardTotal("key_refusals_total", "Those of them that were refused because too many others wanted one of their keys.", func(s *Shard) *atomic.Uint64 { return &s.crowded }),
	shardTotal("disk_refusals_total", "Those of them that were refused because the disk had less free than its reserve.", func(s *Shard) *atomic.Uint64 { return &s.noRoom }),
	shardLevel("queue_length", "Messages that wait for the next step.", func(s *Shard) *level { return &s.queue }),
	shardLevel("waiting_requests", "Requests that wait for a lock now.", func(s *Shard) *level { return &s.waiting }),
	shardLevel("intents", "Transactions that are prepared and undecided.", func(s *Shard) *level { return &s.intents }),
	shardLevel("records", "Decisions that are kept for enquiries.", func(s *Shard) *level { return &s.records }),
	shardLevel("keys_in_memory", "Keys of which the newest version is in memory.", func(s *Shard) *level { return &s.keys }),
	shardLevel("readers", "Read-only transactions that are registered or reading.", func(s *Shard) *level { return &s.readers }),
	shardLevel("cold_reads_pending", "Reads of the disk that are under way.", func(s *Shard) *level { return &s.coldReading }),
	shardLevel("held_updates", "Updates that wait for readers, or for the first lease of a new life to be over.", func(s *Shard) *level { return &s.held }),
}

// shards has the handles of the node's shards.
type shards struct {
	mu  sync.Mutex
	all map[kv.ShardID]*Shard
}

// Shard is the handle of a shard, the same at each call.
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
