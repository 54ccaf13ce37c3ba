// Package record is the last agent's side of two-phase commit: the one record
// that says what becomes of a transaction. It is pure bookkeeping; the shard
// sends the messages and runs the piece.
//
//	     Vote, Unseal                Park                 all yes, sealed
//	(none) ─────▶ Heard ──────────────────────▶ Parked ──────────────────▶ Ready
//	   │            │ repeated vote, Cancel       │ no, mark, Cancel        │ runs
//	   │ Park       ▼                             ▼                         ▼
//	   └──────▶  Aborted ◀────────────────────────┴──────── fails ──── Committed
//
// Ready goes back to Parked when an epoch is dropped that it relied on. A vote
// may arrive before the CommitRequest; a vote that is repeated before the CommitRequest,
// a CancelRequest and an enquiry are questions, and presumed abort answers them: the
// record becomes Aborted, which is the tombstone that a late CommitRequest dies on.
// Nothing but the change to Committed is ever written to the log, and a
// record that is not committed dies with its shard's incarnation.
//
// A Committed record stays until every participant has acknowledged. What is
// finished goes to a Memory, which is bounded; docs/decisions/0004 tells how
// a bounded memory and two floors keep a late duplicate from being executed
// twice.
package record

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// State is where a record stands.
type State uint8

const (
	// Heard: some participant has voted; the CommitRequest has not come.
	Seen State = iota
	// Parked: votes are missing, or not sealed.
	Pending
	// Ready: only locks on this shard, or rows not in memory, are waited for.
	Ready
	// Committed: durable, and some participant has not acknowledged.
	Committed
	// Aborted for good.
	Aborted
)

func (s State) String() string {
	return [...]string{"seen", "pending", "ready", "committed", "aborted"}[s]
}

// Record is one attempt at its last agent.
type Record struct {
	Txn kv.TxnRef
	// CommitID is the commit. Messages that name another one do not count.
	CommitID kv.CommitID
	// User is whose transaction it is, and Known what its gateway knew of this shard.
	User  kv.Account
	Known kv.Known
	State State
	// Park is the message, from Parked on until the record is decided.
	Request *msg.CommitRequest
	// NoWait: the transaction is marked.
	NoWait bool
	// Since is when the record was made; Voted when the last vote came.
	CreatedAt, VotesCompleteAt int64
	// NextAsk is when to ask for missing votes (Heard, Parked), or to repeat the
	// decision to those who have not acknowledged (Committed).
	NextRepeat int64
	// Missing are the participants that have not acknowledged a commit.
	Unacknowledged []kv.ShardID
	// Task is the shard's, for the parked piece.
	Task any

	votes map[kv.ShardID]*msg.Vote
	// dropped are the epochs up to which no vote counts any more.
	dropped map[kv.ShardID]kv.Epoch
	// before is an earlier record of the same transaction, for the table.
	previous *Record
}

// counts reports whether a participant's vote lets the transaction commit.
func (r *Record) hasValidVote(s kv.ShardID, broken mutant.Set) bool {
	v := r.votes[s]
	switch {
	case v == nil || !v.Yes:
		return false
	case broken.Has(mutant.HeldIgnored):
		return true
	}
	return v.Sealed && (r.dropped[s].Less(v.Epoch) || broken.Has(mutant.DroppedEpochsCount))
}

// AllIn reports whether every participant has voted yes and is sealed, with
// an epoch that has not been dropped.
func (r *Record) AllSealed(broken mutant.Set) bool {
	if r.Request == nil {
		return false
	}
	for _, p := range r.Request.Participants {
		if !r.hasValidVote(p, broken) {
			return false
		}
	}
	return true
}

// DropEpoch has no vote of a participant count up to an epoch.
func (r *Record) DropEpoch(s kv.ShardID, epoch kv.Epoch, broken mutant.Set) {
	if r.dropped == nil {
		r.dropped = make(map[kv.ShardID]kv.Epoch, 1)
	}
	if r.dropped[s].Less(epoch) || broken.Has(mutant.DropLowered) {
		r.dropped[s] = epoch
	}
}

// Vote takes a vote. Of two votes of one participant the one with the newer
// epoch counts.
func (r *Record) AddVote(v *msg.Vote) {
	if r.votes == nil {
		r.votes = make(map[kv.ShardID]*msg.Vote, 2)
	}
	if old := r.votes[v.Shard]; old != nil && (v.Epoch.Less(old.Epoch) || r.NeedsValidation(old)) {
		return // whoever has said no knows of no attempt when it is asked again
	}
	r.votes[v.Shard] = v
}

// VoteOf is the vote of a participant that counts, nil if there is none.
func (r *Record) VoteOf(s kv.ShardID) *msg.Vote { return r.votes[s] }

// No is the vote of a participant on which the request failed, nil if there is none.
// Of several it is that of the first shard.
func (r *Record) FailedVote() *msg.Vote {
	var no *msg.Vote
	for s, v := range r.votes {
		if isRequestFailure(v) && (no == nil || s < no.Shard) {
			no = v
		}
	}
	return no
}

func isRequestFailure(v *msg.Vote) bool {
	return !v.Yes && v.Failure != nil && v.Failure.Reason == msg.ReasonRequest
}

// Concludes reports whether a vote is a no that the client is told only when
// everybody has voted, and has found what was read current: it may have asked for
// what fails because of what it read. Whether it has read the CommitRequest tells.
func (r *Record) NeedsValidation(v *msg.Vote) bool {
	return isRequestFailure(v) && (r.Request == nil || r.Request.ReadBefore)
}

// Dropped reports whether a vote relies on an epoch that has been dropped.
func (r *Record) HasDroppedEpoch(v *msg.Vote) bool {
	return v.Yes && v.Sealed && !r.dropped[v.Shard].Less(v.Epoch)
}

// Voters lists who has voted, in order.
func (r *Record) Voters() []kv.ShardID {
	out := make([]kv.ShardID, 0, len(r.votes))
	for s := range r.votes {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// Silent lists the participants whose vote is missing, in order. As long as the
// Park has not come they are those who had an epoch dropped: they may have lost
// since what they were about to promise.
func (r *Record) MissingVotes() []kv.ShardID {
	var out []kv.ShardID
	if r.Request == nil {
		for s := range r.dropped {
			if r.votes[s] == nil {
				out = append(out, s)
			}
		}
		slices.Sort(out)
		return out
	}
	for _, p := range r.Request.Participants {
		if r.votes[p] == nil {
			out = append(out, p)
		}
	}
	return out
}

// Told lists everybody who must hear the decision: the participants that the
// Park named and whoever has voted, in order.
func (r *Record) DecisionRecipients() []kv.ShardID {
	out := r.Voters()
	if r.Request != nil {
		out = append(out, r.Request.Participants...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Gathered are the results that came with the votes, the longest wait that a
// participant reported, and the participants' incarnations.
func (r *Record) VoteSummary() (results []msg.Result, receipt msg.Receipt, seen []msg.Incarnated) {
	for _, s := range r.Voters() {
		v := r.votes[s]
		results = append(results, v.Results...)
		seen = append(seen, msg.Incarnated{Shard: s, Incarnation: v.Incarnation})
		receipt = msg.Worst(receipt, v.Receipt)
	}
	return results, receipt, seen
}

// ResultBytes is the length in a response of the results that came with the votes, at most.
func (r *Record) ResultBytes() int {
	n := 0
	for _, v := range r.votes {
		n += msg.ResponseBytes(v.Results)
	}
	return n
}

// Acknowledged strikes a participant off, and reports whether it was the
// last.
func (r *Record) Acknowledge(s kv.ShardID) bool {
	r.Unacknowledged = slices.DeleteFunc(r.Unacknowledged, func(p kv.ShardID) bool { return p == s })
	return len(r.Unacknowledged) == 0
}

// Drop lets go of what a decided record no longer needs.
func (r *Record) Clear() {
	r.Request, r.Task = nil, nil
	r.votes, r.dropped = nil, nil
}
