package embed

import (
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// settings are what a node of a process (Options) and a node of a cluster in this process
// (ClusterOptions) have in common.
type settings struct {
	Protocol
	cluster, version string
	cacheBytes       int
	// noLeases: leaders have no leases.
	noLeases bool
	// peers are the other nodes of this process, for numbers of all shards; nil in a server.
	peers func() []*node.Node
	// noRuntime leaves out the metrics of the process, which one node of it has.
	noRuntime bool
}

// snapshots returns which snapshots the registry retains for the history.
func (s *settings) snapshots() shard.SnapshotConfig {
	c := shard.SnapshotConfig{Every: s.HistoryEvery, History: s.History}
	switch {
	case s.HistoryEvery < 0:
		return shard.SnapshotConfig{}
	case s.History == 0:
		c.History = kv.DefaultHistory
	case s.History < 0:
		c.History = 0
	}
	if c.Every == 0 {
		c.Every = kv.DefaultSnapshotInterval
	}
	return c
}

func (s *settings) shard() shard.Config {
	return shard.Config{CacheBytes: s.cacheBytes, Snapshots: s.snapshots(), Sharing: s.Sharing, TrustClock: s.TrustClock,
		Heat: shard.HeatConfig{Every: kv.DefaultHeatInterval, Mode: s.Hot}}
}

func (s *settings) gateway() txn.Config {
	return txn.Config{NoLeases: s.noLeases, Order: s.Order, Reads: s.Reads, Plan: s.Plan,
		NoSharing: bool(s.Sharing.Combining), NoEarlyLocks: s.NoEarlyLocks}
}

// assemble starts a node, and returns the backend of its gRPC server. opt has what the node runs on: identity, router,
// clock, transport and what only processes have; the rest of it follows from the settings.
func assemble(s *settings, d disks, opt node.Options) (*backend, error) {
	m, err := metrics.New(metrics.Options{Node: opt.ID, Cluster: s.cluster, Version: s.version, NoRuntime: s.noRuntime})
	if err != nil {
		return nil, err
	}
	counted, err := countOperations(m)
	if err != nil {
		return nil, err
	}
	if opt.UserName == nil {
		opt.UserName = func(kv.Account) string { return "" }
	}
	opt.Engine, opt.Metrics, opt.Journal = d.rows, m, activity.New()
	opt.Shard, opt.Gateway = s.shard(), s.gateway()
	var ready atomic.Pointer[backend] // other nodes may call before the node's start returns
	opt.ServeCall = func(question []byte) []byte {
		if b := ready.Load(); b != nil {
			return server.AnswerNode(b, question)
		}
		return nil
	}
	n, err := node.Start(opt)
	if err != nil {
		return nil, err
	}
	watch(m, n, d)
	b := &backend{
		Gateway: n.Gateway(),
		node:    n, router: opt.Router, id: opt.ID, cluster: s.cluster, version: s.version, userName: opt.UserName,
		noLeases: s.noLeases, addresses: opt.Addresses, metrics: m, operations: counted, disks: d,
		history: s.snapshots().History, peers: s.peers,
	}
	ready.Store(b)
	return b, nil
}
