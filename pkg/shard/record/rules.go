package record

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// hasValidVote reports whether the vote of a participant permits the commit: it is a yes, and sealed
// with an epoch that has not been dropped.
func (r *Record) hasValidVote(s kv.ShardID) bool {
	v := r.votes[s]
	switch {
	case v == nil || !v.Yes:
		return false
	case r.mutants.Has(mutant.HeldIgnored):
		return true
	}
	return v.Sealed && (r.dropped[s].Less(v.Epoch) || r.mutants.Has(mutant.DroppedEpochsCount))
}

// DropEpoch invalidates all votes of a participant with this epoch or a lower one, also votes that
// are still in flight. A drop is never undone: a delayed copy of an older unseal request does not
// lower it.
func (r *Record) DropEpoch(s kv.ShardID, epoch kv.Epoch) {
	if r.dropped == nil {
		r.dropped = make(map[kv.ShardID]kv.Epoch, 1)
	}
	if r.dropped[s].Less(epoch) || r.mutants.Has(mutant.DropLowered) {
		r.dropped[s] = epoch
	}
}

// NeedsValidation reports whether a vote is a no that the client may receive only after all its
// reads have been validated. The client may have sent the failing operation because of what it read:
// if a read was stale, the attempt is retried instead. The commit request states whether the client
// has read; before it arrives, that must be assumed.
func (r *Record) NeedsValidation(v *msg.Vote) bool {
	return isRequestFailure(v) && (r.Request == nil || r.Request.ReadBefore) &&
		!r.mutants.Has(mutant.FailuresUnvalidated)
}
