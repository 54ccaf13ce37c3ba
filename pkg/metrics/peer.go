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
	peerSent     = peerDesc("messages_sent_total", "Messages sent to the peer.", "stream")
	peerReceived = peerDesc("messages_received_total", "Messages received from the peer.", "stream")
	peerDropped  = peerDesc("messages_dropped_total",
		"Messages dropped because the queue to the peer was full; the protocol retries them.", "stream")
	peerUp = peerDesc("up", "1 if the peer is reachable, else 0.")
)

func peerDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_peer_"+name, help, append([]string{"peer"}, labels...), nil)
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
		peer := itoa(uint32(p.Peer))
		collectStream(to, peer, "transactions", &p.StreamStats)
		if p.Replicas != (grpc.StreamStats{}) { // a cluster without replicas has no such series
			collectStream(to, peer, "replicas", &p.Replicas)
		}
		up := 0.0
		if p.Up {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(peerUp, prometheus.GaugeValue, up, peer)
	}
}

// collectStream collects the counters of the streams of one kind between the node and a peer.
func collectStream(to chan<- prometheus.Metric, peer, stream string, s *grpc.StreamStats) {
	counter := func(d *prometheus.Desc, n uint64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), peer, stream)
	}
	counter(peerSent, s.Sent)
	counter(peerReceived, s.Received)
	counter(peerDropped, s.Outbox.Dropped+s.Oversized)
}
