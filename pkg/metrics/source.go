package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// GatewayStats are what a gateway counts for itself.
type GatewayStats struct {
	// InFlight counts one-shot transactions that are under way.
	InFlight int
	// Open counts interactive transactions that are open.
	Open int
	// Refused counts requests refused because too much was under way.
	Refused uint64
	// RefusedBy counts new transactions that were refused: by key, by shard, of
	// interactive ones, by node. Displaced are those of them that were while
	// somebody had more than a share.
	RefusedBy [4]uint64
	Displaced uint64
	// Rounds counts those begun to fix a state of the whole store.
	Rounds uint64
	// ClockJumps counts how often the time of day was set by a second or more. IDsAhead
	// is how far ids are made ahead of it, ClockApart how far it is ahead of the other
	// nodes', negative if behind.
	ClockJumps           uint64
	IDsAhead, ClockApart time.Duration
}

// PinStats tell of the pins, where they are kept.
type PinStats struct {
	// History and Named count those without and with a name.
	History, Named int
	// Oldest is the age of the oldest, 0 if there is none.
	Oldest time.Duration
}

// HotStats tell of the hot shard, on its node.
type HotStats struct {
	// Shard is its number.
	Shard kv.ShardID
	// Moved is how many keys that have been moved there are there now, Capacity
	// how many may be, Rules how many the operator has made.
	Moved, Capacity, Rules int
	// Mode says which keys are moved, in one word; Modes are all there are.
	Mode  string
	Modes []string
	// Begun are the moves that were begun, by why, GivenUp those of them that
	// came to nothing as far as is known.
	Begun   []Moves
	GivenUp uint64
	// Came and Went count the moves there, and home.
	Came, Went uint64
	// Busy is the share of its time for which it works, 0 to 1.
	Busy float64
	// Keys are the hottest keys of the cluster, of which MaxHotKeys are shown.
	Keys []HotKey
}

// Moves are those to the hot shard, or home, for one reason.
type Moves struct {
	In     bool
	Reason string
	Count  uint64
}

// StoreStats are what a store counts for itself since it was opened. What it
// does not know is zero.
type StoreStats struct {
	// Appends counts batches, Entries what was in them, Fsyncs those of the
	// log.
	Appends, Entries, Fsyncs uint64
	// DiskBytes is the size on disk, WALBytes and MemtableBytes its parts
	// that are not sorted into tables yet.
	DiskBytes, WALBytes, MemtableBytes uint64
	// ReclaimableBytes estimates how much of DiskBytes deleted or overwritten data still
	// occupies.
	ReclaimableBytes uint64
	// Tables counts the sorted tables, L0Sublevels the layers at the top.
	Tables, L0Sublevels uint64
	// ReadAmplification is the number of layers that a read may have to look
	// into.
	ReadAmplification uint64
	CacheBytes        uint64
	// CacheHits and CacheMisses count blocks.
	CacheHits, CacheMisses uint64
	Flushes, Compactions   uint64
	// CompactionDebtBytes estimates what is left to compact.
	CompactionDebtBytes uint64
	// FlushedBytes and CompactedBytes were written to tables, LoggedBytes to the
	// log.
	FlushedBytes, CompactedBytes, LoggedBytes uint64
	// Compacting counts the compactions under way, FailedCompactions those that
	// failed.
	Compacting, FailedCompactions uint64
	// Corruptions counts damaged blocks and files that were met.
	Corruptions uint64
	// FreeBytes is what the disk has left for the store, SizeBytes what it has
	// altogether; both are 0 if that is not known.
	FreeBytes, SizeBytes uint64
	// Full is 1 if less is free than the reserve and of new writes only deletions
	// are accepted, 2 if those are not either, else 0.
	Full uint64
}

// sources are asked when Prometheus asks.
type sources struct {
	mu      sync.Mutex
	gateway func() GatewayStats
	store   func() StoreStats
	pins    func() PinStats
	hot     func() HotStats
	guard   func() GuardStats
}

// WatchGateway sets where the gateway's numbers come from. f is called by any
// goroutine and must not block.
func (m *Node) WatchGateway(f func() GatewayStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.gateway = f
}

// WatchStore sets where the store's numbers come from. f is called by any
// goroutine.
func (m *Node) WatchStore(f func() StoreStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.store = f
}

// WatchPins sets where the numbers of the pins come from, on the node that
// keeps them. f is called by any goroutine.
func (m *Node) WatchPins(f func() PinStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.pins = f
}

// WatchHot sets where the numbers of the hot shard come from, on its node. f is
// called by any goroutine.
func (m *Node) WatchHot(f func() HotStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.hot = f
}

// sourced is one metric that a source gives.
type sourced[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
	// labels are the values of those that the metric has by itself.
	labels []string
}

func number[T any](v func(*T) uint64) func(*T) float64 {
	return func(t *T) float64 { return float64(v(t)) }
}

func total[T any](name, help string, v func(*T) uint64) sourced[T] {
	return sourced[T]{desc: prometheus.NewDesc("linchpin_"+name, help, nil, nil), kind: prometheus.CounterValue, value: number(v)}
}

func gauge[T any](name, help string, v func(*T) uint64) sourced[T] {
	return sourced[T]{desc: prometheus.NewDesc("linchpin_"+name, help, nil, nil), kind: prometheus.GaugeValue, value: number(v)}
}

func seconds[T any](name, help string, v func(*T) time.Duration) sourced[T] {
	return sourced[T]{desc: prometheus.NewDesc("linchpin_"+name, help, nil, nil), kind: prometheus.GaugeValue, value: func(t *T) float64 { return v(t).Seconds() }}
}

var admissionRefusals = prometheus.NewDesc("linchpin_gateway_admission_refusals_total",
	"New transactions refused, by what had its share of places: a key, a shard, the interactive ones, or the node.", []string{"cause"}, nil)

// refusals is the metric of one cause.
func refusals(i int, cause string) sourced[GatewayStats] {
	return sourced[GatewayStats]{admissionRefusals, prometheus.CounterValue, func(g *GatewayStats) float64 { return float64(g.RefusedBy[i]) }, []string{cause}}
}

var gatewayMetrics = []sourced[GatewayStats]{
	gauge("gateway_inflight_transactions", "One-shot transactions under way.", func(g *GatewayStats) uint64 { return uint64(g.InFlight) }),
	gauge("gateway_open_transactions", "Interactive transactions that are open.", func(g *GatewayStats) uint64 { return uint64(g.Open) }),
	total("gateway_refusals_total", "Requests refused because too much was under way.", func(g *GatewayStats) uint64 { return g.Refused }),
	refusals(0, "key"), refusals(1, "shard"), refusals(2, "open"), refusals(3, "node"),
	total("gateway_displaced_total", "Requests refused while some other key or shard had more places than its share. It should stay 0.", func(g *GatewayStats) uint64 { return g.Displaced }),
	total("gateway_pin_rounds_total", "Rounds begun to fix a state of the whole store.", func(g *GatewayStats) uint64 { return g.Rounds }),
	total("node_clock_jumps_total", "Times that the time of day was set by a second or more while the node ran.", func(g *GatewayStats) uint64 { return g.ClockJumps }),
	seconds("node_clock_ids_ahead_seconds", "How far ids of transactions are made ahead of the time of day, since a shard has forgotten by a clock that was ahead; else 0.",
		func(g *GatewayStats) time.Duration { return g.IDsAhead }),
	seconds("node_clock_apart_seconds", "How far the node's clock is ahead of most other nodes', negative if it is behind; 0 where there is no other.",
		func(g *GatewayStats) time.Duration { return g.ClockApart }),
}

var pinsKept = prometheus.NewDesc("linchpin_pins", "States of the whole store that are kept, by why: history or named. Shown where they are kept.", []string{"kind"}, nil)

var pinMetrics = []sourced[PinStats]{
	{pinsKept, prometheus.GaugeValue, func(p *PinStats) float64 { return float64(p.History) }, []string{"history"}},
	{pinsKept, prometheus.GaugeValue, func(p *PinStats) float64 { return float64(p.Named) }, []string{"named"}},
	{prometheus.NewDesc("linchpin_oldest_pin_age_seconds", "How long ago the oldest state that is kept was the present; 0 if none is.", nil, nil),
		prometheus.GaugeValue, func(p *PinStats) float64 { return p.Oldest.Seconds() }, nil},
}

var hotMoves = prometheus.NewDesc("linchpin_hot_moves_total", "Keys moved to the hot shard (in), and home (out). Shown on its node.", []string{"direction"}, nil)

var hotMetrics = []sourced[HotStats]{
	{hotMoves, prometheus.CounterValue, func(h *HotStats) float64 { return float64(h.Came) }, []string{"in"}},
	{hotMoves, prometheus.CounterValue, func(h *HotStats) float64 { return float64(h.Went) }, []string{"out"}},
	total("hot_moves_given_up_total", "Moves that failed, or of which nothing was heard in time. Shown on the hot shard's node.", func(h *HotStats) uint64 { return h.GivenUp }),
	gauge("hot_keys_limit", "Keys that may be moved to the hot shard, besides those that the cluster was made with.", func(h *HotStats) uint64 { return uint64(h.Capacity) }),
	gauge("hot_rules", "Rules by which the operator keeps keys on the hot shard, or from it.", func(h *HotStats) uint64 { return uint64(h.Rules) }),
	gauge("hot_moved_keys", "Keys that have been moved to the hot shard and are there now.", func(h *HotStats) uint64 { return uint64(h.Moved) }),
	{prometheus.NewDesc("linchpin_hot_busy_ratio", "The share of its time for which the hot shard works, 0 to 1.", nil, nil),
		prometheus.GaugeValue, func(h *HotStats) float64 { return h.Busy }, nil},
}

var storeMetrics = []sourced[StoreStats]{
	total("log_appends_total", "Batches appended to the log.", func(s *StoreStats) uint64 { return s.Appends }),
	total("log_entries_total", "Entries appended to the log.", func(s *StoreStats) uint64 { return s.Entries }),
	total("log_fsyncs_total", "Completed fsyncs of the log.", func(s *StoreStats) uint64 { return s.Fsyncs }),
	gauge("store_disk_bytes", "Size of the store on disk.", func(s *StoreStats) uint64 { return s.DiskBytes }),
	gauge("store_reclaimable_bytes", "Estimate of how much of the store deleted or overwritten data still occupies; linchpin reclaim frees it.",
		func(s *StoreStats) uint64 { return s.ReclaimableBytes }),
	gauge("store_wal_bytes", "Size of the write-ahead log.", func(s *StoreStats) uint64 { return s.WALBytes }),
	gauge("store_memtable_bytes", "Size of the tables in memory.", func(s *StoreStats) uint64 { return s.MemtableBytes }),
	gauge("store_tables", "Sorted tables on disk.", func(s *StoreStats) uint64 { return s.Tables }),
	gauge("store_l0_sublevels", "Layers of tables that overlap, at the top.", func(s *StoreStats) uint64 { return s.L0Sublevels }),
	gauge("store_read_amplification", "Layers that a read may have to look into.", func(s *StoreStats) uint64 { return s.ReadAmplification }),
	gauge("store_cache_bytes", "Size of the block cache.", func(s *StoreStats) uint64 { return s.CacheBytes }),
	total("store_cache_hits_total", "Blocks found in the cache.", func(s *StoreStats) uint64 { return s.CacheHits }),
	total("store_cache_misses_total", "Blocks read from disk.", func(s *StoreStats) uint64 { return s.CacheMisses }),
	total("store_flushes_total", "Tables flushed from memory.", func(s *StoreStats) uint64 { return s.Flushes }),
	total("store_compactions_total", "Compactions of tables.", func(s *StoreStats) uint64 { return s.Compactions }),
	gauge("store_compaction_debt_bytes", "Estimate of what is left to compact.", func(s *StoreStats) uint64 { return s.CompactionDebtBytes }),
	total("store_flushed_bytes_total", "Bytes written by flushes.", func(s *StoreStats) uint64 { return s.FlushedBytes }),
	total("store_logged_bytes_total", "Bytes written to the write-ahead log.", func(s *StoreStats) uint64 { return s.LoggedBytes }),
	gauge("store_compactions_running", "Compactions under way.", func(s *StoreStats) uint64 { return s.Compacting }),
	total("store_failed_compactions_total", "Compactions that failed.", func(s *StoreStats) uint64 { return s.FailedCompactions }),
	gauge("store_disk_free_bytes", "What the disk below the store has left for it; 0 if that is not known.", func(s *StoreStats) uint64 { return s.FreeBytes }),
	gauge("store_disk_size_bytes", "Size of the disk below the store; 0 if that is not known.", func(s *StoreStats) uint64 { return s.SizeBytes }),
	total("store_compacted_bytes_total", "Bytes written by compactions.", func(s *StoreStats) uint64 { return s.CompactedBytes }),
	gauge("store_full", "1 if less is free than the reserve, so that new writes but deletions are refused; 2 if less than half of it, so that those are, too; else 0.",
		func(s *StoreStats) uint64 { return s.Full }),
	total("store_corruptions_total", "Damaged blocks and files that were met.", func(s *StoreStats) uint64 { return s.Corruptions }),
}

// Describe implements prometheus.Collector.
func (*sources) Describe(to chan<- *prometheus.Desc) {
	to <- admissionRefusals
	for _, d := range guardDescs {
		to <- d
	}
	for _, m := range gatewayMetrics {
		if m.labels == nil {
			to <- m.desc
		}
	}
	for _, m := range storeMetrics {
		to <- m.desc
	}
	for _, m := range pinMetrics[1:] { // the first two are one
		to <- m.desc
	}
	for _, m := range hotMetrics[1:] { // so are these
		to <- m.desc
	}
	for _, m := range hotKeyMetrics[numHotCauses-1:] { // and these
		to <- m.desc
	}
	to <- hotShard
	to <- hotMode
	to <- hotBegun
}

// Collect implements prometheus.Collector.
func (s *sources) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	gateway, store, pins, hot, guard := s.gateway, s.store, s.pins, s.hot, s.guard
	s.mu.Unlock()
	collect(to, gateway, gatewayMetrics)
	collect(to, store, storeMetrics)
	collect(to, pins, pinMetrics)
	if guard != nil {
		now := guard()
		collectGuard(to, &now)
	}
	if hot != nil {
		now := hot()
		collect(to, func() HotStats { return now }, hotMetrics)
		collectPlanner(to, &now)
		collectHotKeys(to, now.Keys)
	}
}

// collect asks a source, if there is one. labels come before those that a
// metric has by itself.
func collect[T any](to chan<- prometheus.Metric, ask func() T, ms []sourced[T], labels ...string) {
	if ask == nil {
		return
	}
	now := ask()
	for _, m := range ms {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&now), slices.Concat(labels, m.labels)...)
	}
}
