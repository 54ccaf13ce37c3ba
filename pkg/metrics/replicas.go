package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// ReplicaStats are the counters and levels of a node's replicas.
type ReplicaStats struct {
	// SnapshotsSent and SnapshotsReceived count Raft snapshots.
	SnapshotsSent, SnapshotsReceived uint64
	// LogBytes is what was written to the logs of the replicas.
	LogBytes uint64
	// Transfers are the numbers of leaderships that the node has transferred, by cause.
	Transfers []Transfers
	// ClockRates are by how much the clocks of other nodes run faster than this node's, as a share.
	ClockRates map[kv.NodeID]float64
	// Groups are the shards of which the node has a replica.
	Groups []GroupStats
}

// GroupStats are the levels of a shard's replica on the node.
type GroupStats struct {
	Shard kv.ShardID
	// Leads: the node leads the shard, Serves: it has the lease, or needs none, and Lease is what is left of it. Followers
	// and Missing are known only to the leader.
	Leads, Serves bool
	Lease         time.Duration
	Term          uint64
	// Missing is how many replicas the shard has less than it should have.
	Missing int
	// Elections and Leaderships count the elections begun by the node, and those that made it the leader.
	Elections, Leaderships uint64
	Followers              []FollowerStats
}

// Transfers counts the leaderships that a node has transferred for one cause.
type Transfers struct {
	Cause string
	Count uint64
}

// FollowerStats is what a leader knows of another replica of its shard.
type FollowerStats struct {
	Node kv.NodeID
	// Lag is how many committed entries it does not have.
	Lag uint64
}

// replicas collects the ReplicaStats at each scrape.
type replicas struct {
	source atomic.Pointer[func() ReplicaStats]
}

// WatchReplicas sets the source of the ReplicaStats, on a node with replicated shards. f is called by any goroutine.
func (m *Node) WatchReplicas(f func() ReplicaStats) { m.replicas.source.Store(&f) }

// groupMetric is one metric of each shard with a replica on the node.
type groupMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*GroupStats) float64
	// leader: only the leader has it.
	leader bool
}

var groupMetrics = []groupMetric{
	{shardDesc("leads", "1 if the node leads the shard, with a lease."),
		prometheus.GaugeValue, func(g *GroupStats) float64 { return oneIf(g.Serves) }, false},
	{shardDesc("term", "Term of its leader."), prometheus.GaugeValue,
		func(g *GroupStats) float64 { return float64(g.Term) }, false},
	{shardDesc("elections_total", "Elections begun by the node."), prometheus.CounterValue,
		func(g *GroupStats) float64 { return float64(g.Elections) }, false},
	{shardDesc("leaderships_total", "Times the node became leader."),
		prometheus.CounterValue, func(g *GroupStats) float64 { return float64(g.Leaderships) }, false},
	{shardDesc("lease_seconds", "Rest of the leader's lease."),
		prometheus.GaugeValue, func(g *GroupStats) float64 { return g.Lease.Seconds() }, true},
	{shardDesc("replicas_missing", "Replicas that the shard lacks."),
		prometheus.GaugeValue, func(g *GroupStats) float64 { return float64(g.Missing) }, true},
}

var followerLag = prometheus.NewDesc("linchpin_shard_follower_lag_entries", "Entries that a follower lacks.",
	[]string{"shard", "peer"}, nil)

var transfers = prometheus.NewDesc("linchpin_shard_leader_transfers_total", "Leaderships transferred to other nodes.",
	[]string{"cause"}, nil)
var clockRate = prometheus.NewDesc("linchpin_peer_clock_rate_difference",
	"How much faster a peer's clock runs, as a share.", []string{"peer"}, nil)

var raftSnapshots = prometheus.NewDesc("linchpin_raft_snapshots_total",
	"Raft snapshots: sent or received.", []string{"direction"}, nil)

var replicaMetrics = []sourced[ReplicaStats]{
	{raftSnapshots, prometheus.CounterValue, number(func(s *ReplicaStats) uint64 { return s.SnapshotsSent }),
		[]string{"sent"}},
	{raftSnapshots, prometheus.CounterValue, number(func(s *ReplicaStats) uint64 { return s.SnapshotsReceived }),
		[]string{"received"}},
	total("raft_log_bytes_total", "Data written to the replicas' logs.",
		func(s *ReplicaStats) uint64 { return s.LogBytes }),
}

// Describe implements prometheus.Collector.
func (*replicas) Describe(to chan<- *prometheus.Desc) {
	for _, m := range groupMetrics {
		to <- m.desc
	}
	for _, m := range replicaMetrics[1:] { // the first two have one desc
		to <- m.desc
	}
	to <- followerLag
	to <- transfers
	to <- clockRate
}

// Collect implements prometheus.Collector.
func (r *replicas) Collect(to chan<- prometheus.Metric) {
	f := r.source.Load()
	if f == nil {
		return
	}
	st := (*f)()
	collect(to, func() ReplicaStats { return st }, replicaMetrics)
	for _, t := range st.Transfers {
		to <- prometheus.MustNewConstMetric(transfers, prometheus.CounterValue, float64(t.Count), t.Cause)
	}
	for i := range st.Groups {
		st.Groups[i].collect(to)
	}
	for n, faster := range st.ClockRates {
		to <- prometheus.MustNewConstMetric(clockRate, prometheus.GaugeValue, faster, itoa(uint32(n)))
	}
}

func (g *GroupStats) collect(to chan<- prometheus.Metric) {
	shard := itoa(uint16(g.Shard))
	for _, m := range groupMetrics {
		if !m.leader || g.Leads {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(g), shard)
		}
	}
	if !g.Leads {
		return
	}
	for _, f := range g.Followers {
		to <- prometheus.MustNewConstMetric(followerLag, prometheus.GaugeValue, float64(f.Lag), shard, itoa(uint32(f.Node)))
	}
}
