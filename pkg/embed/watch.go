package embed

import (
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/shard"
	tgrpc "github.com/linchpindb/linchpin/pkg/transport/grpc"
)

// watch sets the sources of the metrics: the gateway, the snapshot registry, the hot shard
// and the store.
func watch(m *metrics.Node, n *node.Node, s *pebblestore.Store) {
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
			out := hotStats(&s, busy, n.HottestKeys(metrics.MaxHotKeys))
			out.Shard = n.HotShard()
			return out
		})
	}
	m.WatchStore(func() metrics.StoreStats {
		st, p := s.Stats(), s.Metrics()
		disk, _ := s.Disk() // unknown values are exposed as 0
		return metrics.StoreStats{
			Appends: st.Appends, Entries: st.Entries, Fsyncs: st.Syncs, DiskBytes: p.DiskBytes,
			ReclaimableBytes: p.ReclaimableBytes, WALBytes: p.WALBytes,
			MemtableBytes: p.MemTableBytes, Tables: uint64(p.Tables), L0Sublevels: uint64(p.L0Sublevels),
			ReadAmplification: uint64(p.ReadAmplification), CacheBytes: uint64(p.CacheBytes), CacheHits: uint64(p.CacheHits),
			CacheMisses: uint64(p.CacheMisses), Flushes: uint64(p.Flushes), Compactions: uint64(p.Compactions),
			CompactionDebtBytes: p.CompactionDebt, FlushedBytes: p.FlushedBytes, CompactedBytes: p.CompactedBytes,
			LoggedBytes: p.WALBytesWritten,
			Compacting:  uint64(p.CompactionsInProgress), FailedCompactions: uint64(p.CompactionsFailed),
			Corruptions: p.Corruptions,
			FreeBytes:   disk.Free, SizeBytes: disk.Size, Full: uint64(n.DiskSpace().Level),
		}
	})
}

// hotStats returns the stats of the hot shard and its planner.
func hotStats(s *shard.HotStats, busy float64, keys []msg.HotKey) metrics.HotStats {
	out := metrics.HotStats{Moved: s.Moved, Came: s.MovedIn, Went: s.MovedOut, Busy: busy, Keys: keys}
	if !s.Planned {
		return out
	}
	out.Capacity, out.Rules, out.Mode, out.GivenUp = s.Capacity, s.Rules, s.Mode.String(), s.Counters.GivenUp
	for _, m := range []hotshard.Mode{hotshard.ModeAuto, hotshard.ModePinned, hotshard.ModeOff} {
		out.Modes = append(out.Modes, m.String())
	}
	for why := range hotshard.NumMoveCauses {
		out.Begun = append(out.Begun, metrics.Moves{In: why.In(), Reason: why.String(), Count: s.Counters.Begun[why]})
	}
	return out
}

// watchPeers has the metrics ask the transport for its numbers.
func watchPeers(m *metrics.Node, t *tgrpc.Transport) {
	m.WatchPeers(func() []metrics.PeerStats {
		var out []metrics.PeerStats
		for _, p := range t.Stats() {
			out = append(out, metrics.PeerStats{Peer: p.Peer, Sent: p.Sent, Received: p.Received,
				Dropped: p.Outbox.Dropped + p.Oversized, Up: p.Up})
		}
		slices.SortFunc(out, func(a, b metrics.PeerStats) int { return cmp.Compare(a.Peer, b.Peer) })
		return out
	})
}
