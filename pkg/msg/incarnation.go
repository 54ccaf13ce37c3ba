package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// RecipientIncarnation returns the incarnation of its recipient, a shard, that a message names; 0 if it names none. A
// leader that receives a later one than its own is deposed (R3.7).
func RecipientIncarnation(m *Envelope) kv.Incarnation {
	switch b := m.Body.(type) {
	case *Prepare:
		return b.Piece.Incarnation
	case *CommitRequest:
		return b.Piece.Incarnation
	case *Check:
		return b.Incarnation
	case *Vote:
		return b.LastIncarnation
	case *Unseal:
		return b.LastIncarnation
	case *UnsealResponse:
		return b.Epoch.Incarnation
	case *CancelRequest:
		return b.Incarnation
	case *Read:
		return b.Incarnation
	case *ReadPage:
		return b.Incarnation
	case *RenewLease:
		return b.Incarnation
	case *RetainSnapshot:
		return b.Incarnation
	case *SetHotPolicy:
		return b.Incarnation
	case *SnapshotListRequest:
		return b.Incarnation
	case *SnapshotList:
		return b.RequesterIncarnation
	}
	return 0
}
