package embed

import (
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node"
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
	if n.HasSnapshotRegistry() {
		m.WatchSnapshots(func() metrics.SnapshotStats {
			all, named, age := n.RetainedSnapshots()
			return metrics.SnapshotStats{History: all - named, Named: named, Oldest: age}
		})
		m.WatchHot(func() metrics.HotStats {
			s, busy := n.HotShardStats()
			return metrics.HotStats{HotStats: s, Shard: n.HotShard(), Busy: busy, Keys: n.HottestKeys(metrics.MaxHotKeys)}
		})
	}
	m.WatchStore(func() metrics.StoreStats {
		disk, _ := d.rows.Disk() // unknown values are exposed as 0
		return metrics.StoreStats{Log: d.logStats(), Metrics: d.rows.Metrics(), Disk: disk, Full: uint64(n.DiskSpace().Level)}
	})
}
