package agent

// The rules that tests break, each with its mutant. First those by which at most one commit of an id is made.

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// abortOf returns why a commit cannot be made here: because of its id, or because it was aborted.
func (p *Parts) abortOf(x *commitRef, found *outcome.Found) *msg.Failure {
	if x.needsResult && found == nil && p.Mutants.Has(mutant.LateCommitRequestWins) {
		return nil
	}
	return p.Outcomes.CommitFailure(x.txn, x.commit, x.user, x.known)
}

// isFinished reports whether the shard has committed or applied an id, in any attempt.
func (p *Parts) isFinished(f outcome.Finished) bool {
	return f.Committed != 0 || f.Applied != 0 && !p.Mutants.Has(mutant.AttemptsIndependent)
}

// needsLookup reports whether the log is read before a message is answered, aborted or not, if memory is
// incomplete.
func (p *Parts) needsLookup(x *commitRef, aborted *msg.Failure) bool {
	return x.needsResult && (aborted == nil || !p.Mutants.Has(mutant.PresumedWithoutLookup))
}

// hasCommitted reports whether the shard has committed or applied the transaction. The request at
// hand belongs to another commit, or is a late copy.
func (p *Parts) hasCommitted(txn kv.TxnRef, applied, committed uint32) bool {
	own := applied == txn.Attempt || committed == txn.Attempt
	switch {
	case own && p.Mutants.Has(mutant.AppliedForgotten), !own && p.Mutants.Has(mutant.AttemptsIndependent):
		return false
	}
	return applied|committed != 0
}

// isOtherRecord reports whether a record, which may be nil, belongs to another commit of its
// attempt.
func (p *Parts) isOtherRecord(rec *record.Record, commit kv.CommitID) bool {
	return rec != nil && rec.CommitID != commit && !p.Mutants.Has(mutant.VoteOfAnyCommit)
}

// isOtherAttempt reports whether an attempt, which may be nil, is prepared or preparing for another
// commit.
func (p *Parts) isOtherAttempt(a *attempt.Attempt, commit kv.CommitID) bool {
	return a.IsOtherCommit(commit) && !p.Mutants.Has(mutant.PromiseOfAnyCommit)
}

// participatesInOther reports whether the shard is a participant of another commit of the attempt.
// The shard must not decide this one then.
func (p *Parts) participatesInOther(txn kv.TxnRef, commit kv.CommitID) bool {
	return p.Attempts.Get(txn).IsOtherCommit(commit) && !p.Mutants.Has(mutant.LastAgentsIndependent)
}

// decidesOther reports whether the shard is the last agent of another commit of the attempt. The
// shard must not prepare this one then.
func (p *Parts) decidesOther(txn kv.TxnRef, commit kv.CommitID) bool {
	rec := p.Records.Get(txn)
	return rec != nil && rec.CommitID != commit && !p.Mutants.Has(mutant.LastAgentsIndependent)
}

// hasOtherPrepared reports whether another attempt of a transaction is prepared here.
func (p *Parts) hasOtherPrepared(txn kv.TxnRef) bool {
	return p.Attempts.HasOtherPrepared(txn) && !p.Mutants.Has(mutant.AttemptsIndependent)
}

// recordAbort remembers an abort, which rejects late messages about the commit. Otherwise: a participant votes again
// and receives the abort; the commit request arrives late, and commits without it.
func (p *Parts) recordAbort(user kv.Account, commit kv.CommitID, f *msg.Failure) {
	if p.Mutants.Has(mutant.NoAbortTombstone) && f.Reason == msg.ReasonTombstone ||
		p.Mutants.Has(mutant.ConcurrentCommitNotAborted) && f.Reason == msg.ReasonConcurrentCommit {
		return
	}
	p.Outcomes.Abort(user, commit, f)
}

// isMade reports whether the decision about a commit was to make it. That about another one does not count.
func (p *Parts) isMade(x *commitRef) bool {
	rec := p.Records.Get(x.txn)
	return rec != nil && rec.State == record.Committed &&
		(rec.CommitID == x.commit || p.Mutants.Has(mutant.DecisionOfAnyCommit))
}

// retain keeps the record of a commit until all participants have acknowledged it.
func (p *Parts) retain(rec *record.Record, participants []kv.ShardID) {
	rec.State, rec.Unacknowledged = record.Committed, slices.Clone(participants)
	rec.Clear()
	if p.Mutants.Has(mutant.RecordRemovedEarly) {
		p.deleteRecord(rec)
	}
}

// deleteRecord forgets a commit that all participants have acknowledged.
func (p *Parts) deleteRecord(rec *record.Record) {
	p.Delete(entry.TableRecord, p.RefKey(rec.Txn))
	p.Records.Remove(rec)
}

// isOfOtherIncarnation reports whether a message names an earlier incarnation of the shard.
func (p *Parts) isOfOtherIncarnation(inc kv.Incarnation) bool {
	return inc != p.Inc && !p.Mutants.Has(mutant.IncarnationIgnored)
}

// isOtherAck reports whether an acknowledgement is of another commit than that of the record.
func (p *Parts) isOtherAck(rec *record.Record, d *msg.DecisionAck) bool {
	return rec.CommitID != d.CommitID && !p.Mutants.Has(mutant.AckOfAnyCommit)
}

// hasApplied reports whether the shard has applied a commit that was decided: it finished the attempt, or its outcomes
// of that time are deleted (R13.9).
//
//	leader 1    is deposed and does not know it
//	leader 2    prepares T; the last agent commits T
//	leader 1    receives the decision, and knows nothing of T. If it acknowledged, the last agent would forget the
//	            commit, and answer the next vote of leader 2 with an abort.
func (p *Parts) hasApplied(d *msg.Decision, f outcome.Finished) bool {
	return f.Applied == d.Txn.Attempt || f.Committed == d.Txn.Attempt || d.Txn.Time < p.Outcomes.LowWatermark() ||
		p.Mutants.Has(mutant.UnappliedAcknowledged)
}

// holdsReadLocks reports whether the grants on which the piece relies have been held without
// interruption.
func (p *Parts) holdsReadLocks(rec *record.Record) bool {
	return p.HoldsGrants(rec.Txn, p.Inc, rec.Request.Piece.Grants()) || p.Mutants.Has(mutant.GrantsUncheckedByLast)
}

// precedingFailure returns the failure of a piece that was executed with failure f and then validated.
func (p *Parts) precedingFailure(stale, f *msg.Failure) *msg.Failure {
	if stale == nil || f != nil && p.Mutants.Has(mutant.FailuresUnvalidated) {
		return f
	}
	return stale
}

// isWounded reports whether a piece must abort instead of waiting for a lock.
func (p *Parts) isWounded(rec *record.Record) bool {
	return rec.NoWait && !p.Mutants.Has(mutant.CommitRequestWithoutWound)
}

// isPushable reports whether an attempt, which may be nil, can be ended by its gateway only.
func (p *Parts) isPushable(a *attempt.Attempt) bool {
	return a != nil && a.Prepared == nil && !p.Mutants.Has(mutant.NoPush)
}

// votesToRequest returns the participants that are asked for their votes.
func (p *Parts) votesToRequest(rec *record.Record) []kv.ShardID {
	if p.Mutants.Has(mutant.NoVoteRequest) {
		return nil
	}
	return rec.MissingVotes()
}

// hasLostGateway reports whether the gateway of a commit that can be aborted has been silent for long.
func (p *Parts) hasLostGateway(rec *record.Record) bool {
	undecided := rec.State == record.Pending || rec.State == record.Ready
	return undecided && rec.Silent > maxSilent && !p.Mutants.Has(mutant.SilentGatewayKept)
}

// isPassed reports whether the low watermark has passed an id, so that its outcome may be deleted.
func (p *Parts) isPassed(id kv.TxnID) bool {
	return id.Time < p.Outcomes.LowWatermark() && !p.Mutants.Has(mutant.WatermarkPassed)
}

// recordDrop records the drop of a participant's epochs, also of a commit that no other message has named: the vote
// with that epoch may be in flight, and would count after the participant has admitted a reader.
func (p *Parts) recordDrop(rec *record.Record, u *msg.Unseal) {
	rec.DropEpoch(u.Shard, u.Epoch)
	if p.Mutants.Has(mutant.DropForgotten) && rec.State == record.Seen && len(rec.Voters()) == 0 {
		p.Records.Remove(rec)
	}
}

// sendUnseal sends an unseal request to the last agent. The participant does not drop its epoch itself, since its
// vote may have been counted.
func (p *Parts) sendUnseal(last kv.ShardID, u *msg.Unseal) {
	if p.Mutants.Has(mutant.UnsealsByItself) {
		p.Queue.Unsealed(p.Now, u.Txn, u.Epoch, 0)
		return
	}
	m := msg.ToShard(last)
	m.Body = u
	p.Urgent(m)
}

// lockUntilDecision keeps all locks of an attempt, from the step of its vote until the decision.
//
// History without read locks: A reads x and votes; B changes x and y and commits; A commits with its old value of x,
// although its write follows that of B.
func (p *Parts) lockUntilDecision(txn kv.TxnRef) {
	p.Locks.SetPrepared(p.Now, txn)
	if p.Mutants.Has(mutant.ReadLocksReleasedAtVote) {
		p.Locks.ReleaseReads(txn)
	}
}

// locksToLog returns the locks of an attempt that a restart restores: all.
func (p *Parts) locksToLog(txn kv.TxnRef) []locktable.Grant {
	locks := p.Locks.GrantsOf(txn)
	if p.Mutants.Has(mutant.ReadLocksLost) {
		return slices.DeleteFunc(locks, func(g locktable.Grant) bool { return g.Mode == adt.ModeRead })
	}
	if p.Mutants.Has(mutant.CallLocksLost) {
		return slices.DeleteFunc(locks, func(g locktable.Grant) bool {
			return g.Mode != adt.ModeRead && adt.Covers(adt.ModeRead, g.Mode)
		})
	}
	return locks
}
