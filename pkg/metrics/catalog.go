package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Metric is what there is to know of a metric without its values.
type Metric struct {
	// Name is without the _bucket, _sum and _count of a histogram's series.
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Labels are in order; le is not among them.
	Labels []string
	Help   string
}

// Series are the names of the series that a metric has in Prometheus.
func (m *Metric) Series() []string {
	if m.Type == "histogram" {
		return []string{m.Name + "_bucket", m.Name + "_sum", m.Name + "_count"}
	}
	return []string{m.Name}
}

// Catalog lists all metrics of linchpin's own that nodes have, by name, those of
// the Go runtime and the process apart. It makes a node of which everything has
// been measured once, so nothing can be forgotten but in there.
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

// specimen is a node that has one of everything.
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
	m.WatchPins(func() PinStats { return PinStats{} })
	m.WatchPeers(func() []PeerStats { return []PeerStats{{Peer: kv.NodeID(2)}} })
	m.WatchGuard(func() GuardStats {
		return GuardStats{Secure: true, Refused: map[string]uint64{"timeout": 1},
			MemoryUsed: map[string]int64{"answers": 1}, MemoryRefused: map[string]uint64{"answers": 1}, Calls: map[string]uint64{"ok": 1}, Expires: []CertificateExpiry{{Certificate: "own"}}}
	})
	m.WatchHot(func() HotStats {
		return HotStats{Mode: "auto", Modes: []string{"auto"}, Begun: []Moves{{Reason: "quiet"}}, Keys: []HotKey{{Key: []byte("k")}}}
	})
	return m, nil
}
