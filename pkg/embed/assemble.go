package embed

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// settings are what a node of a process (Options) and a node of a cluster in this process
// (ClusterOptions) have in common.
type settings struct {
	cluster, version      string
	cacheBytes            int
	hot                   hotshard.Mode
	sharing               shard.Sharing
	history, historyEvery time.Duration
	trustClock            bool
	order                 txn.Order
	reads                 txn.Reads
	plan                  txn.Plan
	noEarlyLocks          bool
	// noRuntime leaves out the metrics of the process, which one node of it has.
	noRuntime bool
}

// snapshots returns which snapshots the registry retains for the history.
func (s *settings) snapshots() shard.SnapshotConfig {
	c := shard.SnapshotConfig{Every: s.historyEvery, History: s.history}
	switch {
	case s.historyEvery < 0:
		return shard.SnapshotConfig{}
	case s.history == 0:
		c.History = kv.DefaultHistory
	case s.history < 0:
		c.History = 0
	}
	if c.Every == 0 {
		c.Every = kv.DefaultSnapshotInterval
	}
	return c
}

func (s *settings) shard() shard.Config {
	return shard.Config{CacheBytes: s.cacheBytes, Snapshots: s.snapshots(), Sharing: s.sharing, TrustClock: s.trustClock,
		Heat: shard.HeatConfig{Every: kv.DefaultHeatInterval, Mode: s.hot}}
}

func (s *settings) gateway() txn.Config {
	return txn.Config{Order: s.order, Reads: s.reads, Plan: s.plan, NoSharing: bool(s.sharing.Combining),
		NoEarlyLocks: s.noEarlyLocks}
}

// assembly is a node with its metrics, and the backend of its gRPC server.
type assembly struct {
	node    *node.Node
	metrics *metrics.Node
	backend *backend
}

// assemble starts a node. opt has what the node runs on: identity, router, clock, transport and what
// only processes have; the rest of it follows from the settings.
func assemble(s *settings, store *pebblestore.Store, opt node.Options) (*assembly, error) {
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
	opt.Engine, opt.Metrics, opt.Journal = store, m, activity.New()
	opt.Shard, opt.Gateway = s.shard(), s.gateway()
	n, err := node.Start(opt)
	if err != nil {
		return nil, err
	}
	watch(m, n, store)
	return &assembly{node: n, metrics: m, backend: &backend{
		node: n, router: opt.Router, id: opt.ID, cluster: s.cluster, version: s.version, userName: opt.UserName,
		addresses: opt.Addresses, metrics: m, operations: counted, store: store, history: s.snapshots().History,
	}}, nil
}
