package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
)

// Metric describes a metric.
type Metric struct {
	// Name excludes the suffixes _bucket, _sum and _count of a histogram's series.
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Labels are sorted, without le.
	Labels []string
	Help   string
}

// Catalog returns all metrics of a node, sorted by name, without those of the Go runtime
// and the process.
func Catalog() ([]Metric, error) {
	m, err := specimen()
	if err != nil {
		return nil, err
	}
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var out []Metric
	for _, f := range families {
		it := Metric{Name: f.GetName(), Type: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
		for _, s := range f.Metric {
			for _, l := range s.Label {
				if !slices.Contains(it.Labels, l.GetName()) {
					it.Labels = append(it.Labels, l.GetName())
				}
			}
		}
		slices.Sort(it.Labels)
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// specimen returns a Node that has at least one series of each metric.
func specimen() (*Node, error) {
	m, err := New(Options{Node: 1, Cluster: "c", Version: "v", NoRuntime: true})
	if err != nil {
		return nil, err
	}
	if _, err := m.Operations([]Operation{{Type: "any", Method: "get"}}); err != nil {
		return nil, err
	}
	m.Shard(1).Watch(func() ShardStats { return ShardStats{} })
	m.Contention(OtherConflicts).Waited(time.Second)
	m.WatchGateway(func() GatewayStats { return GatewayStats{} })
	m.WatchStore(func() StoreStats { return StoreStats{} })
	m.WatchSnapshots(func() (SnapshotStats, bool) { return SnapshotStats{}, true })
	m.WatchReplicas(func() ReplicaStats {
		return ReplicaStats{Transfers: []Transfers{{Cause: "drain"}}, ClockRates: map[kv.NodeID]float64{2: 0},
			Groups: []GroupStats{{Leads: true, Followers: []FollowerStats{{Node: 2}}}}}
	})
	m.WatchPeers(func() []grpc.PeerStats { return []grpc.PeerStats{{Peer: 2}} })
	m.WatchGuard(func() GuardStats {
		one := map[string]uint64{"timeout": 1}
		return GuardStats{Stats: guard.Stats{Refused: one, Calls: one, Memory: memory.Stats{Refused: one,
			Used: map[string]int64{"responses": 1}}}, Certificates: &certs.Stats{Expires: []certs.Expiry{{Which: "own"}}}}
	})
	m.WatchHot(func() (HotStats, bool) {
		return HotStats{HotStats: shard.HotStats{Planned: true}, Keys: []msg.HotKey{{Key: []byte("k")}}}, true
	})
	return m, nil
}
