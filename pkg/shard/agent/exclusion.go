package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
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

// answer is whether a commit of a transaction may be made here.
type answer uint8

const (
	// permitted: nothing here excludes it.
	permitted answer = iota
	// uncertain: memory has no reason against it, but may have forgotten an earlier commit of the id.
	// Only the log knows.
	uncertain
	// competing: another commit of the same attempt is undecided here. If both were made, the
	// transaction would execute twice.
	competing
	// finished: a commit of the id was made here, or was applied here by the decision of another last
	// agent. No other commit of the id may be made.
	finished
	// closed: the commit was aborted, or its id is fenced or too old.
	closed
)

// verdict is an answer with its reason.
type verdict struct {
	answer
	// failure is the reason for competing, finished and closed.
	failure *msg.Failure
	// committed is the attempt of a finished id that this shard decided to commit, 0 for none.
	committed uint32
}

// mayCommit answers whether this shard, as the last agent, may make a commit that has no record yet.
// found is the result of reading the log, nil if only memory is to be asked.
//
// Before a message of a gateway is rejected because of an abort, the log is read if memory is incomplete,
// or the message is of another incarnation. History: an earlier incarnation commits; the response is lost;
// the gateway sends the request again. The client must receive the result, and only the log has it.
func (p *Parts) mayCommit(x *commitRef, found *outcome.Found) verdict {
	id := x.txn.TxnID
	f, complete := p.Outcomes.Finished(id), p.Outcomes.IsComplete(id)
	if x.needsResult {
		complete = complete && x.known.Incarnation == p.Inc
	}
	// What has finished since the log was read is in the result, too (LookUp).
	if found != nil {
		f, complete = found.Finished(), true
	}
	aborted := p.abortOf(x, found)
	isCompeting := p.isOtherRecord(p.Records.Get(x.txn), x.commit) || p.participatesInOther(x.txn, x.commit)
	switch {
	// To a participant any reason is an abort. This one is remembered.
	case isCompeting && !x.needsResult:
		return verdict{answer: competing, failure: concurrentCommitFailure()}
	case p.isFinished(f):
		return verdict{finished, supersededFailure(f.Fingerprint, x.fingerprint), f.Committed}
	case !complete && p.needsLookup(x, aborted):
		return verdict{answer: uncertain}
	case aborted != nil:
		return verdict{answer: closed, failure: aborted}
	case isCompeting:
		return verdict{answer: competing, failure: concurrentCommitFailure()}
	case !complete:
		return verdict{answer: uncertain}
	}
	return verdict{}
}

// mayPrepare answers whether this shard, as a participant, may prepare for a commit that is not known
// here. found is the result of reading the log, nil if only memory is to be asked.
//
// History: the attempt is applied and acknowledged, and its record is deleted; then a late copy of its
// prepare request arrives. If it were prepared again, the last agent would answer the vote with an abort
// of what has committed.
func (p *Parts) mayPrepare(q *msg.Prepare, found *outcome.Found) verdict {
	f := p.Outcomes.Finished(q.Txn.TxnID)
	if found != nil {
		f = found.Finished()
	}
	ended := p.Ended.HasCommit(q.Txn, q.CommitID)
	aborted := p.AttemptFailure(q.Txn, ended)
	// An earlier vote says why. If it is lost, or later than this one, the next attempt finds out.
	if ended {
		aborted = msg.Fail(msg.ReasonRefused, kv.KindAborted, aborted.Text)
	}
	// With another role of this shard, as the last agent.
	if aborted == nil {
		aborted, _ = p.Outcomes.FindAbort(q.CommitID)
	}
	switch {
	case p.hasCommitted(q.Txn, f.Applied, f.Committed):
		return verdict{finished, supersededFailure(f.Fingerprint, q.Fingerprint), f.Committed}
	case aborted != nil:
		return verdict{answer: closed, failure: aborted}
	case q.Piece.Incarnation != p.Inc:
		return verdict{answer: closed, failure: msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the shard has restarted")}
	case found == nil && !p.Outcomes.IsComplete(q.Txn.TxnID):
		return verdict{answer: uncertain}
	case p.decidesOther(q.Txn, q.CommitID):
		return verdict{answer: competing, failure: concurrentCommitFailure()}
	}
	return verdict{}
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
	return msg.Fail(msg.ReasonConcurrentCommit, kv.KindAborted, "another commit of the transaction is in flight")
}

// otherPreparedFailure returns a failure if another attempt of the transaction is prepared here and
// undecided: it may commit. A committed attempt need not be looked for. A piece is not accepted
// after a commit of its id, and AbortSuperseded ends the pieces that were accepted before, in the
// same step (Check verifies that).
func (p *Parts) otherPreparedFailure(txn kv.TxnRef) *msg.Failure {
	if p.hasOtherPrepared(txn) {
		return concurrentCommitFailure()
	}
	return nil
}

// rejectCommit aborts a commit while another one of the attempt is undecided here. The abort is
// remembered, so that a late copy is rejected even after the other one has ended.
func (p *Parts) rejectCommit(user kv.Account, commit kv.CommitID) *msg.Failure {
	f := concurrentCommitFailure()
	p.recordAbort(user, commit, f)
	return f
}

// cancelFailure is the failure of a cancelled commit. If another commit of the transaction is in
// flight, the result is not a final abort: that one may still commit.
func (p *Parts) cancelFailure(txn kv.TxnRef, commit kv.CommitID) *msg.Failure {
	f := p.otherPreparedFailure(txn)
	if f != nil {
		return f
	}
	if p.participatesInOther(txn, commit) {
		return concurrentCommitFailure()
	}
	return CancelledFailure()
}

// CancelledFailure is the failure of a transaction that its gateway has aborted.
func CancelledFailure() *msg.Failure {
	return msg.Fail(msg.ReasonCancelled, kv.KindAborted, "the transaction's gateway aborted it")
}
