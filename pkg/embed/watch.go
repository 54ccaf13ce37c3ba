package embed

import (
	"slices"

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
		return metrics.StoreStats{Log: d.logStats(), Metrics: d.rows.Metrics(), Disk: disk, Full: uint64(n.DiskSpace().Level)}
	})
}

// replicaStats returns the stats of the replicas of a node.
func replicaStats(g *groups.Set) metrics.ReplicaStats {
	c := g.Stats()
	out := metrics.ReplicaStats{SnapshotsSent: c.SnapshotsSent, SnapshotsReceived: c.SnapshotsReceived,
		LogEntries: c.LogEntries, LogBytes: c.LogBytes}
	for _, st := range g.Status() {
		if st.Replica == 0 {
			continue
		}
		s := metrics.GroupStats{Shard: st.Shard, Leads: st.Leads, Lease: st.Lease, Term: uint64(st.Term),
			Missing: st.Missing, Elections: st.Elections, Leaderships: st.Leaderships}
		s.Followers = followers(&st)
		out.Groups = append(out.Groups, s)
	}
	return out
}

// followers returns one other replica of the group on each node: that which has responded last. A node has two while one
// of them replaces the other.
func followers(st *groups.Status) (out []metrics.FollowerStats) {
	for i := range st.Members {
		m := &st.Members[i]
		if m.Replica == st.Replica || m.Node == 0 {
			continue
		}
		f := metrics.FollowerStats{Node: m.Node, Lag: m.Lag, Silent: m.Silent}
		at := slices.IndexFunc(out, func(o metrics.FollowerStats) bool { return o.Node == m.Node })
		switch {
		case at < 0:
			out = append(out, f)
		case f.Silent < out[at].Silent:
			out[at] = f
		}
	}
	return out
}
