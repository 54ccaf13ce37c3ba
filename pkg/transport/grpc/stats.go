package grpc

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// PeerStats are the statistics of one peer. Counts are monotonic.
type PeerStats struct {
	Peer    kv.NodeID
	Address string
	Up      bool
	// Outbox is the queue to it.
	Outbox outbox.Counts
	// Sent and SentBatches count what was passed to a stream; it may have been lost with the stream.
	Sent, SentBatches uint64
	// Received and ReceivedBatches count what was received from it.
	Received, ReceivedBatches uint64
	// Oversized counts envelopes that were dropped because of their size.
	Oversized uint64
	// Connects counts accepted streams.
	Connects uint64
	// LastError is why the last stream ended, empty if none has.
	LastError string
}

// Stats returns the statistics of all peers, in the order of their ids.
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
