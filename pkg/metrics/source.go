package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// GatewayStats are the counters and levels of a gateway.
type GatewayStats struct {
	// InFlight counts one-shot transactions in flight.
	InFlight int
	// Open counts open interactive transactions.
	Open int
	// Refused counts requests rejected by a limit of the gateway.
	Refused uint64
	// RefusedBy counts new transactions that admission rejected, by the limit reached:
	// of a key, of a shard, of interactive transactions, of the node. Displaced counts
	// those of them that were rejected while another key or shard exceeded its share.
	RefusedBy [4]uint64
	Displaced uint64
	// Rounds counts snapshot rounds.
	Rounds uint64
	// ClockJumps counts steps of the wall clock of a second or more. IDsAhead is how far
	// transaction ids are ahead of the wall clock, ClockApart how far the wall clock is
	// ahead of most other nodes', negative if it is behind.
	ClockJumps           uint64
	IDsAhead, ClockApart time.Duration
}

// SnapshotStats are the levels of the snapshot registry.
type SnapshotStats struct {
	// History and Named count the snapshots of the history and the named ones.
	History, Named int
	// Oldest is the age of the oldest snapshot, 0 if there is none.
	Oldest time.Duration
}

// HotStats are the counters and levels of the hot shard, reported by its node.
type HotStats struct {
	shard.HotStats
	Shard kv.ShardID
	// Busy is the utilization of the hot shard, 0 to 1.
	Busy float64
	// Keys are the hottest keys of the cluster; the first MaxHotKeys have series.
	Keys []msg.HotKey
}

// StoreStats are the counters and levels of a store.
type StoreStats struct {
	Log engine.Stats
	pebblestore.Metrics
	// Disk is zero if it is unknown.
	Disk pebblestore.Disk
	// Full is 1 if the free space is below the reserve and the node accepts only
	// deletions, 2 if it rejects those too, else 0.
	Full uint64
}

// sources are the functions that give the stats at each scrape.
type sources struct {
	mu        sync.Mutex
	gateway   func() GatewayStats
	store     func() StoreStats
	snapshots func() (SnapshotStats, bool)
	hot       func() (HotStats, bool)
	guard     func() GuardStats
}

// WatchGateway sets the source of the GatewayStats. f is called by any goroutine and must
// not block.
func (m *Node) WatchGateway(f func() GatewayStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.gateway = f
}

// WatchStore sets the source of the StoreStats. f is called by any goroutine.
func (m *Node) WatchStore(f func() StoreStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.store = f
}

// WatchSnapshots sets the source of the SnapshotStats, and whether the node has the snapshot
// registry now. f is called by any goroutine.
func (m *Node) WatchSnapshots(f func() (SnapshotStats, bool)) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.snapshots = f
}

// WatchHot sets the source of the HotStats, and whether the node serves the hot shard now.
// f is called by any goroutine.
func (m *Node) WatchHot(f func() (HotStats, bool)) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.hot = f
}

// sourced is a metric that a source gives.
type sourced[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
	// labels are the values of the labels of the desc itself.
	labels []string
}

func number[T any](v func(*T) uint64) func(*T) float64 {
	return func(t *T) float64 { return float64(v(t)) }
}

// plain returns the description of a metric without labels.
func plain(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_"+name, help, nil, nil)
}

func total[T any](name, help string, v func(*T) uint64) sourced[T] {
	return sourced[T]{plain(name, help), prometheus.CounterValue, number(v), nil}
}

func gauge[T any](name, help string, v func(*T) uint64) sourced[T] {
	return sourced[T]{plain(name, help), prometheus.GaugeValue, number(v), nil}
}

func seconds[T any](name, help string, v func(*T) time.Duration) sourced[T] {
	value := func(t *T) float64 { return v(t).Seconds() }
	return sourced[T]{plain(name, help), prometheus.GaugeValue, value, nil}
}

var admissionRejections = prometheus.NewDesc("linchpin_gateway_admission_rejections_total",
	"Transactions rejected as all admission slots were taken: of a key, a shard, interactive transactions, or the node.",
	[]string{"limit"}, nil)

// rejections is the metric of one limit.
func rejections(i int, limit string) sourced[GatewayStats] {
	value := func(g *GatewayStats) float64 { return float64(g.RefusedBy[i]) }
	return sourced[GatewayStats]{admissionRejections, prometheus.CounterValue, value, []string{limit}}
}

var gatewayMetrics = []sourced[GatewayStats]{
	gauge("gateway_inflight_transactions", "One-shot transactions in flight.",
		func(g *GatewayStats) uint64 { return uint64(g.InFlight) }),
	gauge("gateway_open_transactions", "Open interactive transactions.",
		func(g *GatewayStats) uint64 { return uint64(g.Open) }),
	total("gateway_rejections_total", "Requests rejected by any limit of the gateway.",
		func(g *GatewayStats) uint64 { return g.Refused }),
	rejections(0, "key"), rejections(1, "shard"), rejections(2, "interactive"), rejections(3, "node"),
	total("gateway_unfair_rejections_total",
		"Transactions rejected while another key or shard exceeded its share of the admission slots; normally 0.",
		func(g *GatewayStats) uint64 { return g.Displaced }),
	total("gateway_snapshot_rounds_total", "Snapshot rounds started.",
		func(g *GatewayStats) uint64 { return g.Rounds }),
	total("node_clock_jumps_total", "Steps of the wall clock by 1 s or more.",
		func(g *GatewayStats) uint64 { return g.ClockJumps }),
	seconds("node_clock_ids_ahead_seconds", "Lead of transaction ids over the wall clock; normally 0.",
		func(g *GatewayStats) time.Duration { return g.IDsAhead }),
	seconds("node_clock_offset_seconds",
		"Lead of the wall clock over most other nodes'; negative if behind.",
		func(g *GatewayStats) time.Duration { return g.ClockApart }),
}

var snapshotsKept = prometheus.NewDesc("linchpin_snapshots", "Snapshots, by kind: history or named.",
	[]string{"kind"}, nil)

// snapshots is the metric of one kind.
func snapshots(kind string, count func(*SnapshotStats) int) sourced[SnapshotStats] {
	value := func(s *SnapshotStats) float64 { return float64(count(s)) }
	return sourced[SnapshotStats]{snapshotsKept, prometheus.GaugeValue, value, []string{kind}}
}

var snapshotMetrics = []sourced[SnapshotStats]{
	snapshots("history", func(s *SnapshotStats) int { return s.History }),
	snapshots("named", func(s *SnapshotStats) int { return s.Named }),
	seconds("oldest_snapshot_age_seconds", "Age of the oldest snapshot; the versions it reads stay on disk.",
		func(s *SnapshotStats) time.Duration { return s.Oldest }),
}

var hotMoves = prometheus.NewDesc("linchpin_hot_moves_total", "Keys moved to the hot shard (in) and home (out).",
	[]string{"direction"}, nil)

var hotMetrics = []sourced[HotStats]{
	{hotMoves, prometheus.CounterValue, func(h *HotStats) float64 { return float64(h.MovedIn) }, []string{"in"}},
	{hotMoves, prometheus.CounterValue, func(h *HotStats) float64 { return float64(h.MovedOut) }, []string{"out"}},
	total("hot_moves_failed_total", "Moves that failed or timed out.",
		func(h *HotStats) uint64 { return h.Counters.GivenUp }),
	gauge("hot_moved_keys_limit", "Maximum number of moved keys on the hot shard.",
		func(h *HotStats) uint64 { return uint64(h.Capacity) }),
	gauge("hot_rules", "Rules that pin or ban keys.",
		func(h *HotStats) uint64 { return uint64(h.Rules) }),
	gauge("hot_moved_keys", "Moved keys on the hot shard.", func(h *HotStats) uint64 { return uint64(h.Moved) }),
	{plain("hot_busy_ratio", "Utilization of the hot shard, 0 to 1; near 1 it is saturated."),
		prometheus.GaugeValue, func(h *HotStats) float64 { return h.Busy }, nil},
}

var storeMetrics = []sourced[StoreStats]{
	total("log_appends_total", "Batches appended to the log.", func(s *StoreStats) uint64 { return s.Log.Appends }),
	total("log_entries_total", "Entries appended to the log.", func(s *StoreStats) uint64 { return s.Log.Entries }),
	total("log_fsyncs_total", "Completed fsyncs of the log.", func(s *StoreStats) uint64 { return s.Log.Syncs }),
	gauge("store_disk_bytes", "Size of the store on disk.", func(s *StoreStats) uint64 { return s.DiskBytes }),
	gauge("store_reclaimable_bytes", "Estimated space that linchpin reclaim would free.",
		func(s *StoreStats) uint64 { return s.ReclaimableBytes }),
	gauge("store_wal_bytes", "Size of the write-ahead log.", func(s *StoreStats) uint64 { return s.WALBytes }),
	gauge("store_memtable_bytes", "Size of the memtables.", func(s *StoreStats) uint64 { return s.MemTableBytes }),
	gauge("store_tables", "Sorted tables on disk.", func(s *StoreStats) uint64 { return uint64(s.Tables) }),
	gauge("store_l0_sublevels", "Overlapping levels at the top of the LSM tree.",
		func(s *StoreStats) uint64 { return uint64(s.L0Sublevels) }),
	gauge("store_read_amplification", "Levels that a read may search; above 30 compactions lag.",
		func(s *StoreStats) uint64 { return uint64(s.ReadAmplification) }),
	gauge("store_cache_bytes", "Size of the block cache.", func(s *StoreStats) uint64 { return uint64(s.CacheBytes) }),
	total("store_cache_hits_total", "Blocks found in the block cache.",
		func(s *StoreStats) uint64 { return uint64(s.CacheHits) }),
	total("store_cache_misses_total", "Blocks read from disk.",
		func(s *StoreStats) uint64 { return uint64(s.CacheMisses) }),
	total("store_flushes_total", "Memtables flushed to tables.", func(s *StoreStats) uint64 { return uint64(s.Flushes) }),
	total("store_compactions_total", "Compactions.", func(s *StoreStats) uint64 { return uint64(s.Compactions) }),
	gauge("store_compaction_debt_bytes", "Estimated data that is still to be compacted.",
		func(s *StoreStats) uint64 { return s.CompactionDebt }),
	total("store_flushed_bytes_total", "Data written by flushes.",
		func(s *StoreStats) uint64 { return s.FlushedBytes }),
	total("store_logged_bytes_total", "Data written to the write-ahead log.",
		func(s *StoreStats) uint64 { return s.WALBytesWritten }),
	gauge("store_compactions_running", "Running compactions.",
		func(s *StoreStats) uint64 { return uint64(s.CompactionsInProgress) }),
	total("store_failed_compactions_total", "Failed compactions.",
		func(s *StoreStats) uint64 { return uint64(s.CompactionsFailed) }),
	gauge("store_disk_free_bytes", "Free disk space; 0 if it is unknown.",
		func(s *StoreStats) uint64 { return s.Disk.Free }),
	gauge("store_disk_size_bytes", "Size of the disk; 0 if it is unknown.",
		func(s *StoreStats) uint64 { return s.Disk.Size }),
	total("store_compacted_bytes_total", "Data written by compactions.",
		func(s *StoreStats) uint64 { return s.CompactedBytes }),
	gauge("store_full", "1 if the disk is below its reserve and only deletions are accepted, 2 if no writes are, else 0.",
		func(s *StoreStats) uint64 { return s.Full }),
	total("store_corruptions_total", "Corrupt blocks and files found.",
		func(s *StoreStats) uint64 { return s.Corruptions }),
}

// Describe implements prometheus.Collector.
func (*sources) Describe(to chan<- *prometheus.Desc) {
	to <- admissionRejections
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
	for _, m := range snapshotMetrics[1:] { // the first two share a description
		to <- m.desc
	}
	for _, m := range hotMetrics[1:] { // as do these
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
	gateway, store, snapshots, hot, guard := s.gateway, s.store, s.snapshots, s.hot, s.guard
	s.mu.Unlock()
	collect(to, gateway, gatewayMetrics)
	collect(to, store, storeMetrics)
	if snapshots != nil {
		if now, has := snapshots(); has {
			collect(to, func() SnapshotStats { return now }, snapshotMetrics)
		}
	}
	if guard != nil {
		now := guard()
		collectGuard(to, &now)
	}
	if hot != nil {
		if now, serves := hot(); serves {
			collect(to, func() HotStats { return now }, hotMetrics)
			collectPlanner(to, &now)
			collectHotKeys(to, now.Keys)
		}
	}
}

// collect emits the metrics of a source, if it is set. labels come before those of the
// metric itself.
func collect[T any](to chan<- prometheus.Metric, ask func() T, ms []sourced[T], labels ...string) {
	if ask == nil {
		return
	}
	now := ask()
	for _, m := range ms {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&now), slices.Concat(labels, m.labels)...)
	}
}
