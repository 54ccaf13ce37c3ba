package record

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// State is the state of a record.
type State uint8

const (
	// Seen: a participant has sent a message; the commit request has not arrived.
	Seen State = iota
	// Pending: the commit request is here; votes are missing or not sealed.
	Pending
	// Ready: all votes count. The piece waits for locks, readers or keys on this shard.
	Ready
	// Committed: durable; some participants have not acknowledged.
	Committed
	// Aborted for good; the record is removed in the same step.
	Aborted
)

func (s State) String() string {
	return [...]string{"seen", "pending", "ready", "committed", "aborted"}[s]
}

// Record is one attempt of a transaction at its last agent.
type Record struct {
	Txn kv.TxnRef
	// CommitID names the commit. Messages that name another one do not count.
	CommitID kv.CommitID
	// User owns the transaction. Known is what the gateway knew of this shard: its incarnation and
	// its number of aborts.
	User  kv.Account
	Known kv.KnownState
	State State
	// Request is set from Pending on until the record is decided.
	Request *msg.CommitRequest
	// NoWait: the transaction is wounded, and aborts if it would wait for a lock.
	NoWait bool
	// CreatedAt is when the record was created, VotesCompleteAt when the last vote arrived.
	CreatedAt, VotesCompleteAt int64
	// NextRepeat is when missing votes are requested (Seen, Pending), or the decision is repeated to
	// the participants that have not acknowledged (Committed).
	NextRepeat int64
	// Silent counts how often NextRepeat has passed since the last copy of the commit request arrived.
	Silent int
	// Unacknowledged are the participants that have not acknowledged a commit.
	Unacknowledged []kv.ShardID
	// Task is the piece of the last agent, set by package agent.
	Task any

	// votes has the newest vote of each participant.
	votes map[kv.ShardID]*msg.Vote
	// dropped is, per participant, the highest epoch that was dropped. A vote with that epoch or a
	// lower one does not count.
	dropped map[kv.ShardID]kv.Epoch
	// mutants are those of the table.
	mutants mutant.Set
	// previous is the next older record of the same transaction in the Table.
	previous *Record
}

// AllSealed reports whether every participant has a valid vote. Before the commit request arrives,
// the participants are not known.
func (r *Record) AllSealed() bool {
	if r.Request == nil {
		return false
	}
	for _, p := range r.Request.Participants {
		if !r.hasValidVote(p) {
			return false
		}
	}
	return true
}

// AddVote adds a vote. Of two votes of one participant the newer epoch counts, since votes may be
// reordered.
func (r *Record) AddVote(v *msg.Vote) {
	if r.votes == nil {
		r.votes = make(map[kv.ShardID]*msg.Vote, 2)
	}
	// A participant forgets an attempt for which it has voted no. If it is then asked for its vote,
	// it votes no again, because it does not know the attempt: that vote must not replace the
	// failure that the client should receive.
	if old := r.votes[v.Shard]; old != nil && (v.Epoch.Less(old.Epoch) || r.NeedsValidation(old)) {
		return
	}
	r.votes[v.Shard] = v
}

// VoteOf returns the vote of a participant, nil if there is none.
func (r *Record) VoteOf(s kv.ShardID) *msg.Vote { return r.votes[s] }

// FailedVote returns the vote of a participant on which an operation failed, nil if there is none.
// Of several it returns that of the lowest shard, so that the result does not depend on the order of
// arrival.
func (r *Record) FailedVote() *msg.Vote {
	var no *msg.Vote
	for s, v := range r.votes {
		if isRequestFailure(v) && (no == nil || s < no.Shard) {
			no = v
		}
	}
	return no
}

// isRequestFailure reports whether a vote is a no because of the operations (a condition, type or
// bound), not because of a stale read or a lost grant.
func isRequestFailure(v *msg.Vote) bool {
	return !v.Yes && v.Failure != nil && v.Failure.Reason == msg.ReasonRequest
}

// HasDroppedEpoch reports whether a vote is sealed with an epoch that has been dropped.
func (r *Record) HasDroppedEpoch(v *msg.Vote) bool {
	return v.Yes && v.Sealed && !r.dropped[v.Shard].Less(v.Epoch)
}

// Voters returns the participants that have voted, sorted.
func (r *Record) Voters() []kv.ShardID {
	out := make([]kv.ShardID, 0, len(r.votes))
	for s := range r.votes {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// MissingVotes returns the participants whose vote is missing, sorted. Before the commit request
// arrives, these are the ones that had an epoch dropped: they had prepared, but a crash may have
// lost the prepared row before it was durable, and then the record would wait forever.
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

// DecisionRecipients returns all shards that need the decision, sorted: the participants of the
// commit request, and the voters. The latter may include a shard that is not a participant any more.
func (r *Record) DecisionRecipients() []kv.ShardID {
	out := r.Voters()
	if r.Request != nil {
		out = append(out, r.Request.Participants...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// VoteSummary returns the results in the votes, the longest wait that a participant reported, and
// the participants' incarnations, in the order of shards.
func (r *Record) VoteSummary() (results []msg.Result, receipt msg.Receipt, seen []msg.ShardIncarnation) {
	for _, s := range r.Voters() {
		v := r.votes[s]
		results = append(results, v.Results...)
		seen = append(seen, msg.ShardIncarnation{Shard: s, Incarnation: v.Incarnation})
		receipt = msg.Worst(receipt, v.Receipt)
	}
	return results, receipt, seen
}

// ResultBytes returns an upper bound of the size of the results in the votes, as part of a response.
func (r *Record) ResultBytes() int {
	n := 0
	for _, v := range r.votes {
		n += msg.ResponseBytes(v.Results)
	}
	return n
}

// Acknowledge records the acknowledgement of a participant and reports whether it was the last.
func (r *Record) Acknowledge(s kv.ShardID) bool {
	r.Unacknowledged = slices.DeleteFunc(r.Unacknowledged, func(p kv.ShardID) bool { return p == s })
	return len(r.Unacknowledged) == 0
}

// Clear frees what a decided record does not need.
func (r *Record) Clear() {
	r.Request, r.Task = nil, nil
	r.votes, r.dropped = nil, nil
}
