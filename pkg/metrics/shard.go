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

// Shard holds the metrics of one shard. The shard's goroutine writes them; any goroutine
// may read them.
type Shard struct {
	id kv.ShardID

	steps, stepNanos, inputs, entries atomic.Uint64

	source atomic.Pointer[func() ShardStats]
}

// Step counts a step: the messages it processed, the log entries it wrote, and its
// duration.
func (s *Shard) Step(inputs, entries int, took time.Duration) {
	s.steps.Add(1)
	s.inputs.Add(uint64(inputs))
	s.entries.Add(uint64(entries))
	s.stepNanos.Add(uint64(took))
}

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
