package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// onCommitRequest starts a commit that this shard decides, or answers it if it has ended.
func (l *LastAgent) onCommitRequest(p *msg.CommitRequest) {
	if !l.handleRepeatedRequest(p) {
		l.answerRequest(p, l.mayCommit(refOfRequest(p), nil))
	}
}

// answerRequest accepts or rejects a commit request, or has the log read for it.
func (l *LastAgent) answerRequest(p *msg.CommitRequest, v verdict) {
	isOld := l.isOfOtherIncarnation(p.Piece.Incarnation)
	switch {
	case v.answer == finished && v.committed != 0:
		l.resendResponse(refOfRequest(p))
	// Whatever becomes of the other commit, this one must not be made after it.
	case v.answer == competing:
		l.respondAborted(refOfRequest(p), l.rejectCommit(p.User, p.CommitID))
	case v.failure != nil:
		l.rejectRequest(p, v.failure)
	// The gateway does not know the incarnation yet, so neither the request nor its grants can be
	// matched. It learns the incarnation from the response and retries.
	case p.Piece.Incarnation == 0, isOld && v.answer == permitted:
		l.rejectRequest(p, msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the last agent has restarted"))
	case v.answer == uncertain:
		l.Outcomes.LookUp(p.Txn.TxnID, p)
	default:
		l.acceptRequest(p)
	}
}

// handleRepeatedRequest handles a commit request whose attempt has a record that is more than a
// vote. It is a retry, or a request of another commit of the attempt.
func (l *LastAgent) handleRepeatedRequest(p *msg.CommitRequest) bool {
	rec := l.Records.Get(p.Txn)
	switch {
	case rec == nil || rec.State == record.Seen && !l.isOtherRecord(rec, p.CommitID):
		return false
	// The response was lost.
	case rec.State == record.Committed:
		l.resendResponse(refOfRequest(p))
		return true
	// Another gateway commits the same attempt: rejected until that one is decided.
	case l.isOtherRecord(rec, p.CommitID):
		l.respondAborted(refOfRequest(p), l.rejectCommit(p.User, p.CommitID))
		return true
	}
	rec.Silent = 0
	switch {
	// The transaction was wounded after the first copy.
	case p.NoWait && !rec.NoWait:
		rec.NoWait = true
		t := taskOf(rec)
		l.OnStep(t, l.Exec.Wound(t))
	default:
		t := taskOf(rec)
		l.ReportWait(t, l.receipt(t))
	}
	return true
}

// onRequestOutcome continues a commit request for which the log was read.
func (l *LastAgent) onRequestOutcome(p *msg.CommitRequest, f *outcome.Found) {
	rec := l.Records.Get(p.Txn)
	switch {
	// A retry of the request has finished its lookup first.
	case rec != nil && rec.State != record.Seen:
	case f.Outcome.Committed != 0:
		l.respondFinished(refOfRequest(p), f.Outcome)
	// The outcome is unknown. Any response could be wrong; the gateway retries.
	case f.Err != nil:
	default:
		l.answerRequest(p, l.mayCommit(refOfRequest(p), f))
	}
}

// rejectRequest aborts a commit request that cannot be accepted, with the record that votes or
// unseal requests may have created.
func (l *LastAgent) rejectRequest(p *msg.CommitRequest, f *msg.Failure) {
	rec := l.Records.Get(p.Txn)
	if rec != nil {
		l.abort(rec, f)
		return
	}
	l.respondAborted(refOfRequest(p), f)
}

// acceptRequest creates the record, or completes the one that votes have created, and starts the
// piece. The piece loads its keys; it requests no lock before all votes have arrived.
func (l *LastAgent) acceptRequest(p *msg.CommitRequest) {
	rec := l.Records.Get(p.Txn)
	x := l.pendingPool.Get()
	// If participants have voted, they hold locks: the piece is not rejected at a bound.
	x.task.Admitted = rec != nil
	if rec == nil {
		rec = &x.own
		rec.Txn, rec.CommitID, rec.User, rec.Known, rec.CreatedAt = p.Txn, p.CommitID, p.User, p.Known(), l.Now
		l.Records.Insert(rec)
	}
	rec.State, rec.Request, rec.NoWait = record.Pending, p, rec.NoWait || p.NoWait
	l.scheduleRepeat(rec)
	// The locks under which the transaction read here may have been broken before this request.
	if !l.HoldsGrants(p.Txn, p.Piece.Incarnation, p.Piece.Grants()) {
		l.abort(rec, staleGrantFailure())
		return
	}
	// A no vote preceded the request. If the client has read nothing before, it ends the commit at
	// once; else tryDecide validates those reads first.
	failed := rec.FailedVote()
	if failed != nil && !rec.NeedsValidation(failed) {
		l.abort(rec, failed.Failure)
		return
	}
	t := &x.task
	x.rec = rec
	t.Kind, t.Txn, t.Gateway, t.Owner = exec.Decide, p.Txn, p.CommitID.Gateway, x
	t.Ops, t.Seen = p.Piece.Ops, p.Piece.Seen()
	t.Request.Begun, t.User, t.Spans = p.Begun, p.User, len(p.Participants) > 0
	rec.Task = t
	l.OnStep(t, l.Exec.Begin(t))
}

// pendingCommit is the record and the task of a commit. They are allocated together, because nearly
// always they begin and end together.
type pendingCommit struct {
	own  record.Record
	task exec.Task
	// rec is own, or a record that votes created before the request arrived.
	rec *record.Record
	// heldReceipt is the longest wait of the piece for readers, nil if there was none.
	heldReceipt *snapshotqueue.FreedPiece
}

func pendingOf(t *exec.Task) *pendingCommit { return t.Owner.(*pendingCommit) }

// taskOf returns the task of a record, nil if its commit request has not arrived.
func taskOf(rec *record.Record) *exec.Task {
	t, _ := rec.Task.(*exec.Task)
	return t
}
