package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/transport/grpc"
)

// peers collects the counters of the transport at each scrape.
type peers struct {
	mu     sync.Mutex
	source func() []grpc.PeerStats
}

// WatchPeers sets the source of the peers' counters, in the order of peers. f is called
// by any goroutine and must not block.
func (m *Node) WatchPeers(f func() []grpc.PeerStats) {
	m.peers.mu.Lock()
	defer m.peers.mu.Unlock()
	m.peers.source = f
}

var (
	peerSent     = peerDesc("messages_sent_total", "Messages sent to the peer.")
	peerReceived = peerDesc("messages_received_total", "Messages received from the peer.")
	peerDropped  = peerDesc("messages_dropped_total",
		"Messages dropped because the queue to the peer was full; the protocol retries them.")
	peerUp = peerDesc("up", "1 if the peer is reachable, else 0.")
)

func peerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_peer_"+name, help, []string{"peer"}, nil)
}

// Describe implements prometheus.Collector.
func (*peers) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{peerSent, peerReceived, peerDropped, peerUp} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (ps *peers) Collect(to chan<- prometheus.Metric) {
	ps.mu.Lock()
	source := ps.source
	ps.mu.Unlock()
	if source == nil {
		return
	}
	for _, p := range source() {
		counter := func(d *prometheus.Desc, n uint64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), itoa(uint32(p.Peer)))
		}
		counter(peerSent, p.Sent)
		counter(peerReceived, p.Received)
		counter(peerDropped, p.Outbox.Dropped+p.Oversized)
		up := 0.0
		if p.Up {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(peerUp, prometheus.GaugeValue, up, itoa(uint32(p.Peer)))
	}
}
