package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// # At most one commit of an id
//
// A client may send an id again to another gateway, and that one may choose another last agent. So
// there can be several commits of one attempt, each with a name (kv.CommitID):
//
//	gateway 1 ── commit c1 of T ──▶ last agent X, participant Y
//	gateway 2 ── commit c2 of T ──▶ last agent Y, participant X
//
// Two rules exclude that both are made if they have a shard in common. A shard prepares or decides
// one commit of an id at a time and rejects others meanwhile; and once it has committed or applied
// an id, it rejects all other commits of it for good. In the example X waits for the vote of Y on
// c1, and Y has rejected c1, or the converse, or both are aborted. The gateways then retry, with
// different pauses.
//
// A vote, prepared row, decision or acknowledgement counts only for the commit that it names.

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

// supersededFailure is the failure of a commit of an id that has committed. Different fingerprints
// prove that the id was used again for other operations. A fingerprint of 0 is unknown.
func supersededFailure(committed, own uint64) *msg.Failure {
	if areDifferent(committed, own) {
		f := msg.Fail(msg.ReasonRequest, kv.KindInvalid,
			"the id belongs to another transaction, which has committed with different operations")
		f.Hint = "use a new id for each transaction; reuse an id only with the same operations"
		return f
	}
	return msg.Fail(msg.ReasonCommitted, kv.KindOutcomeUnknown,
		"another attempt of the transaction has committed; query its outcome")
}

// areDifferent reports whether two fingerprints are known and differ.
func areDifferent(a, b uint64) bool { return a != 0 && b != 0 && a != b }

// commitIDOf returns the commit of a stored row. A row of before format 3 has only the gateway.
func commitIDOf(id kv.CommitID, gateway kv.NodeID) kv.CommitID {
	if id == (kv.CommitID{}) {
		id.Gateway = gateway
	}
	return id
}

// concurrentCommitFailure is the failure of a commit while another one of the transaction is
// undecided.
func concurrentCommitFailure() *msg.Failure {
	return msg.Fail(msg.ReasonRival, kv.KindAborted, "another commit of the transaction is in flight")
}

// isOtherCommit reports whether a record, which may be nil, belongs to another commit of its
// attempt.
func (l *LastAgent) isOtherCommit(rec *record.Record, commit kv.CommitID) bool {
	return rec != nil && rec.CommitID != commit && !l.Mutants.Has(mutant.VoteOfAnyCommit)
}

// isOtherCommit reports whether an attempt, which may be nil, is prepared or preparing for another
// commit.
func (p *Participant) isOtherCommit(a *attempt, commit kv.CommitID) bool {
	return a.isOtherCommit(commit) && !p.Mutants.Has(mutant.PromiseOfAnyCommit)
}

// participatesInOther reports whether the shard is a participant of another commit of the attempt.
// The shard must not decide this one then.
func (p *Participant) participatesInOther(txn kv.TxnRef, commit kv.CommitID) bool {
	return p.attempts.byRef[txn].isOtherCommit(commit) && !p.Mutants.Has(mutant.LastAgentsIndependent)
}

// decidesOther reports whether the shard is the last agent of another commit of the attempt. The
// shard must not prepare this one then.
func (p *Parts) decidesOther(txn kv.TxnRef, commit kv.CommitID) bool {
	rec := p.Records.Get(txn)
	return rec != nil && rec.CommitID != commit && !p.Mutants.Has(mutant.LastAgentsIndependent)
}

// otherPreparedFailure returns a failure if another attempt of the transaction is prepared here and
// undecided: it may commit. A committed attempt need not be looked for. A piece is not accepted
// after a commit of its id, and AbortSuperseded ends the pieces that were accepted before, in the
// same step (Check verifies that).
func (p *Participant) otherPreparedFailure(txn kv.TxnRef) *msg.Failure {
	if p.attempts.hasOtherPrepared(txn) && !p.Mutants.Has(mutant.AttemptsIndependent) {
		return concurrentCommitFailure()
	}
	return nil
}

// rejectCommit aborts a commit while another one of the attempt is undecided here. The abort is
// remembered, so that a late copy is rejected even after the other one has ended.
func (l *LastAgent) rejectCommit(user kv.Account, commit kv.CommitID) *msg.Failure {
	f := concurrentCommitFailure()
	if !l.Mutants.Has(mutant.ConcurrentCommitNotAborted) {
		l.Outcomes.Abort(user, commit, f)
	}
	return f
}

// AbortSuperseded aborts the other attempts of a transaction that has committed. None of them is
// prepared (otherPreparedFailure).
func (l *LastAgent) AbortSuperseded(txn kv.TxnRef) {
	if l.Mutants.Has(mutant.AttemptsIndependent) {
		return
	}
	for _, rec := range l.Records.Of(txn.TxnID) {
		if rec.Txn != txn && rec.State != record.Committed {
			l.abort(rec, supersededFailure(0, 0))
		}
	}
	l.part.rejectSuperseded(txn)
}

// rejectSuperseded votes no for the other attempts that are preparing.
func (p *Participant) rejectSuperseded(txn kv.TxnRef) {
	for _, a := range p.attempts.others(txn) {
		if a.preparing != nil {
			p.rejectPrepareTask(a.preparing, supersededFailure(0, 0))
		}
	}
}
