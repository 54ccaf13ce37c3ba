package grpc

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// PeerStats tells what went to and came from one peer. Counts rise only.
type PeerStats struct {
	Peer    kv.NodeID
	Address string
	Up      bool
	// Outbox is the queue to it.
	Outbox outbox.Counts
	// Sent and SentBatches count what was given to the stream; it may still
	// have been lost with it.
	Sent, SentBatches uint64
	// Received and ReceivedBatches count what came from it.
	Received, ReceivedBatches uint64
	// Oversized counts envelopes that were refused for their size.
	Oversized uint64
	// Connects counts streams that were answered.
	Connects uint64
	// LastError is why the last stream ended, empty if none did.
	LastError string
}

// Stats tells about all peers, in the order of their ids.
func (t *Transport) Stats() []PeerStats {
	t.mu.RLock()
	peers := maps.Clone(t.peers)
	t.mu.RUnlock()
	out := make([]PeerStats, 0, len(peers))
	for _, id := range slices.Sorted(maps.Keys(peers)) {
		out = append(out, peers[id].stats())
	}
	return out
}

func (p *peer) stats() PeerStats {
	s := PeerStats{
		Peer: p.id, Up: p.up(), Outbox: p.box.Counts(),
		Sent: p.sent.Load(), SentBatches: p.sentBatches.Load(),
		Received: p.received.Load(), ReceivedBatches: p.receivedBatches.Load(),
		Oversized: p.oversized.Load(), Connects: p.connects.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Address, s.LastError = p.addr, p.lastError
	return s
}
