package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Uptime is the time since Start.
func (n *Node) Uptime() time.Duration { return time.Since(n.started) }

// eachMachine calls a function for each machine of the node, in the order of shards, with the loop locked.
func (n *Node) eachMachine(f func(l *shardLoop)) {
	for _, id := range n.ids {
		l := n.shards[id]
		l.mu.Lock()
		if l.m != nil {
			f(l)
		}
		l.mu.Unlock()
	}
}

// withHotShard calls a function with the loop of the hot shard locked, if its machine is on this node.
func (n *Node) withHotShard(f func(l *shardLoop)) {
	l := n.shards[n.opt.Router.HotShard()]
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m != nil {
		f(l)
	}
}

// ShardStats returns the status of the shards that the node serves, in their order, with the keys that cause the most
// waiting. A shard with several replicas is served by the node that leads it.
func (n *Node) ShardStats(top int) []shard.Status {
	out := make([]shard.Status, 0, len(n.ids))
	n.eachMachine(func(l *shardLoop) { out = append(out, l.m.Status(top)) })
	return out
}

// HotKeys returns the node's keys that have caused the most waiting, in descending order.
func (n *Node) HotKeys(top int) []hotshard.KeyHeat {
	var all []hotshard.KeyHeat
	for _, s := range n.ShardStats(top) {
		all = append(all, s.Waits...)
	}
	slices.SortStableFunc(all, func(a, b hotshard.KeyHeat) int { return cmp.Compare(b.Nanos, a.Nanos) })
	return all[:min(top, len(all))]
}

// Waiters returns at most top of the transactions that wait on the node's shards, longest first.
func (n *Node) Waiters(top int) []shard.Waiter {
	now := n.opt.Clock.Now()
	var all []shard.Waiter
	n.eachMachine(func(l *shardLoop) { all = append(all, l.m.Waiters(now, top)...) })
	slices.SortStableFunc(all, func(a, b shard.Waiter) int {
		return cmp.Compare(b.Receipt.WaitedNanos, a.Receipt.WaitedNanos)
	})
	return all[:min(top, len(all))]
}

// Journal is Options.Journal.
func (n *Node) Journal() *activity.Journal { return n.opt.Journal }

// stats is the status of the shard, for the metrics.
func (l *shardLoop) stats() metrics.ShardStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		return metrics.ShardStats{Status: shard.Status{Shard: l.id}}
	}
	return metrics.ShardStats{Status: l.m.Status(0), Queue: l.inbox.len()}
}

// HasSnapshotRegistry reports whether this node serves the hot shard, which has the snapshot registry.
func (n *Node) HasSnapshotRegistry() (has bool) {
	n.withHotShard(func(*shardLoop) { has = true })
	return has
}

// HotShard returns the number of the hot shard, on whichever node it is.
func (n *Node) HotShard() kv.ShardID { return n.opt.Router.HotShard() }

// RetainedSnapshots returns the number of retained snapshots on this node, how many of them have a name, and the age of
// the oldest.
func (n *Node) RetainedSnapshots() (all, named int, age time.Duration) {
	n.withHotShard(func(l *shardLoop) { all, named, age = l.m.RetainedSnapshots(n.opt.Clock.Now()) })
	return all, named, age
}

// HotShardStats returns the status of the hot shard and its busy share, if this node serves it.
func (n *Node) HotShardStats() (s shard.HotStats, busy float64) {
	// An idle shard makes no steps that would update its busy share.
	n.withHotShard(func(l *shardLoop) { s, busy = l.m.HotStats(), l.busy.current(n.opt.Clock.Now()) })
	return s, busy
}

// HottestKeys returns at most most of the cluster's keys that cause the most waiting, if this node serves the hot
// shard.
func (n *Node) HottestKeys(most int) (keys []msg.HotKey) {
	n.withHotShard(func(l *shardLoop) { keys = l.m.HottestKeys(most) })
	return keys
}

// recordFsync records in the metrics that a batch that was written at time since is durable.
func (n *Node) recordFsync(entries int, since int64) {
	took := time.Duration(n.opt.Clock.Now() - since)
	n.opt.Metrics.Stage(metrics.Durable).Observe(took)
	n.opt.Metrics.Fsync(entries, took)
}
