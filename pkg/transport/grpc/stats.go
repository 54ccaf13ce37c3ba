package grpc

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// StreamStats are the statistics of the streams of one kind between this node and a peer. Counts are monotonic.
type StreamStats struct {
	// Outbox is the queue to the peer.
	Outbox outbox.Counts
	// Sent and SentBatches count what was passed to a stream; it may have been lost with the stream.
	Sent, SentBatches uint64
	// Received and ReceivedBatches count what was received from the peer.
	Received, ReceivedBatches uint64
	// Oversized counts messages that were dropped because of their size.
	Oversized uint64
	// Connects counts streams that the peer has accepted.
	Connects uint64
	// LastError is why the last stream to the peer ended, empty if none has.
	LastError string
}

// PeerStats are the statistics of one peer.
type PeerStats struct {
	Peer    kv.NodeID
	Address string
	Up      bool
	// StreamStats are those of envelopes, Replicas those of the messages of replicas.
	StreamStats
	Replicas StreamStats
}

// Stats returns the statistics of all peers, in the order of their ids.
func (t *Transport) Stats() []PeerStats {
	t.mu.RLock()
	peers := maps.Clone(t.peers)
	t.mu.RUnlock()
	out := make([]PeerStats, 0, len(peers))
	for _, id := range slices.Sorted(maps.Keys(peers)) {
		p := peers[id]
		out = append(out, PeerStats{Peer: id, Address: p.address(), Up: p.up(), StreamStats: p.stats(p.envelopes),
			Replicas: p.stats(p.replicas)})
	}
	return out
}
