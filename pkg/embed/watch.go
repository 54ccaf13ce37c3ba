package embed

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/node/groups"
)

// watch sets the sources of the metrics: the gateway, the snapshot registry, the hot shard
// and the store.
func watch(m *metrics.Node, n *node.Node, d disks) {
	m.WatchGateway(func() metrics.GatewayStats {
		g := n.Gateway()
		st, c := g.Stats(), n.ClockStats()
		return metrics.GatewayStats{ClockJumps: c.Jumps, IDsAhead: c.IDsAhead, ClockApart: c.Apart,
			InFlight: g.InFlight() - g.OpenCount(), Open: g.OpenCount(), Refused: st.Rejected, RefusedBy: st.Admission.Refused,
			Displaced: st.Admission.Displaced, Rounds: st.Rounds}
	})
	m.WatchSnapshots(func() (metrics.SnapshotStats, bool) {
		all, named, age := n.RetainedSnapshots()
		return metrics.SnapshotStats{History: all - named, Named: named, Oldest: age}, n.HasSnapshotRegistry()
	})
	m.WatchHot(func() (metrics.HotStats, bool) {
		s, busy := n.HotShardStats()
		return metrics.HotStats{HotStats: s, Shard: n.HotShard(), Busy: busy, Keys: n.HottestKeys(metrics.MaxHotKeys)},
			n.HasSnapshotRegistry()
	})
	if g := n.Groups(); g != nil {
		m.WatchReplicas(func() metrics.ReplicaStats { return replicaStats(g) })
	}
	m.WatchStore(func() metrics.StoreStats {
		disk, _ := d.rows.Disk() // unknown values are exposed as 0
		return metrics.StoreStats{Log: d.logStats(), Metrics: d.metrics(), Disk: disk, Full: uint64(n.DiskSpace().Level)}
	})
}

// metrics returns the metrics of the rows' store, with the log of that which is synced and the size of both.
func (d *disks) metrics() pebblestore.Metrics {
	m := d.rows.Metrics()
	if d.log != nil {
		m.LogMetrics, m.DiskBytes = d.log.Metrics().LogMetrics, d.bytes()
	}
	return m
}

// replicaStats returns the stats of the replicas of a node.
func replicaStats(g *groups.Set) metrics.ReplicaStats {
	c := g.Stats()
	out := metrics.ReplicaStats{SnapshotsSent: c.SnapshotsSent, SnapshotsReceived: c.SnapshotsReceived,
		LogBytes: c.LogBytes, ClockRates: map[kv.NodeID]float64{}}
	for i, name := range groups.Causes {
		out.Transfers = append(out.Transfers, metrics.Transfers{Cause: name, Count: c.Transfers[i]})
	}
	for _, r := range g.ClockRates() {
		out.ClockRates[r.Node] = r.Faster
	}
	for _, st := range g.Status() {
		if st.Replica == 0 {
			continue
		}
		s := metrics.GroupStats{Shard: st.Shard, Leads: st.Leads, Serves: st.Leads && st.HasLeader,
			Lease: st.Lease, Term: uint64(st.Term),
			Missing: st.Missing, Elections: st.Elections, Leaderships: st.Leaderships}
		s.Followers = followers(&st)
		out.Groups = append(out.Groups, s)
	}
	return out
}

// followers returns one other replica of the group on each node: that which has responded last. A node has two while
// one of them replaces the other, and no two series have the same labels.
func followers(st *groups.Status) (out []metrics.FollowerStats) {
	last := map[kv.NodeID]*groups.Member{}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Replica == st.Replica || m.Node == 0 {
			continue
		}
		if before, has := last[m.Node]; !has || m.Silent < before.Silent {
			last[m.Node] = m
		}
	}
	for _, n := range slices.Sorted(maps.Keys(last)) {
		out = append(out, metrics.FollowerStats{Node: n, Lag: last[n].Lag})
	}
	return out
}
