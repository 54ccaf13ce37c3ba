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

// ShardStats returns the status of the node's shards, in the order of shards, with the keys that cause the
// most waiting.
func (n *Node) ShardStats(top int) []shard.Status {
	out := make([]shard.Status, 0, len(n.ids))
	for _, id := range n.ids {
		l := n.shards[id]
		l.mu.Lock()
		out = append(out, l.m.Status(top))
		l.mu.Unlock()
	}
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
	for _, id := range n.ids {
		l := n.shards[id]
		l.mu.Lock()
		all = append(all, l.m.Waiters(now, top)...)
		l.mu.Unlock()
	}
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
	return metrics.ShardStats{Status: l.m.Status(0), Queue: l.inbox.len()}
}

// HasSnapshotRegistry reports whether the hot shard, which has the snapshot registry, is on this node.
func (n *Node) HasSnapshotRegistry() bool { return n.shards[n.opt.Router.HotShard()] != nil }

// HotShard returns the number of the hot shard, on whichever node it is.
func (n *Node) HotShard() kv.ShardID { return n.opt.Router.HotShard() }

// RetainedSnapshots returns the number of retained snapshots on this node, how many of them have a name, and the age of
// the oldest.
func (n *Node) RetainedSnapshots() (all, named int, age time.Duration) {
	l := n.shards[n.opt.Router.HotShard()]
	if l == nil {
		return 0, 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m.RetainedSnapshots(n.opt.Clock.Now())
}

// HotShardStats returns the status of the hot shard and its busy share, if it is on this node.
func (n *Node) HotShardStats() (s shard.HotStats, busy float64) {
	l := n.shards[n.opt.Router.HotShard()]
	if l == nil {
		return s, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// An idle shard makes no steps that would update its busy share.
	return l.m.HotStats(), l.busy.current(n.opt.Clock.Now())
}

// HottestKeys returns at most most of the cluster's keys that cause the most waiting, if the hot shard is on
// this node.
func (n *Node) HottestKeys(most int) []msg.HotKey {
	l := n.shards[n.opt.Router.HotShard()]
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m.HottestKeys(most)
}

// recordFsync records in the metrics that a batch that was written at time since is durable.
func (n *Node) recordFsync(entries int, since int64) {
	took := time.Duration(n.opt.Clock.Now() - since)
	n.opt.Metrics.Stage(metrics.Durable).Observe(took)
	n.opt.Metrics.Fsync(entries, took)
}
