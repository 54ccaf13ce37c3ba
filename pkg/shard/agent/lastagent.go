package agent

// # What a last agent answers
//
//	message         undecided           committed               unknown
//	CommitRequest   wait report         result                  new, or looked up first
//	Vote            counted             commit, again           recorded; a repeated one is aborted
//	VoteRequest     (sent by the last agent, see prepare.go)
//	Unseal          epoch dropped       commit                  epoch dropped, recorded
//	CancelRequest   aborted             result                  aborted, remembered
//	Wound           aborted             ignored                 ignored
//	QueryTxn        aborted, fenced     result                  fenced
//
// "Unknown" is answered from memory if that is complete for the id, else from the log.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// LastAgent is the role of a shard in transactions that it decides.
type LastAgent struct {
	Parts
	cfg       Config
	stats     *Stats
	latencies *latencies
	// part is the participant of the same shard. An interactive transaction may hold read locks
	// there that it acquired before the commit.
	part *Participant

	pendingPool step.Pool[pendingCommit]
	// row is a buffer for the outcome that is being written.
	row entry.Outcome
	deadline
}

// Receive handles a message. It reports false if the message is not for this role.
func (l *LastAgent) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.CommitRequest:
		l.onCommitRequest(b)
	case *msg.Vote:
		l.onVote(b)
	case *msg.DecisionAck:
		l.onDecisionAck(b)
	case *msg.Wound:
		l.onWound(b)
	case *msg.CancelRequest:
		l.onCancel(b)
	case *msg.QueryTxn:
		l.onQueryTxn(b)
	case *msg.Unseal:
		l.onUnseal(b)
	default:
		return false
	}
	return true
}

// OnStep continues a task of this role at the step that it has reached.
func (l *LastAgent) OnStep(t *exec.Task, s exec.Step) {
	switch s {
	case exec.Loaded:
		l.tryDecide(pendingOf(t).rec)
	case exec.Ready:
		l.decide(t)
	case exec.Refused:
		l.abort(pendingOf(t).rec, t.Failure)
	}
}

// Tick requests missing votes and repeats decisions that are not acknowledged.
func (l *LastAgent) Tick() {
	if l.Now >= l.next {
		l.next = step.Never
		l.sendRepeats()
	}
}

// EndStep frees what only the output of the step referred to.
func (l *LastAgent) EndStep() { l.pendingPool.EndStep() }

// Stats returns the counters of both roles. The caller drains the samples.
func (l *LastAgent) Stats() *Stats { return l.stats }

func (l *LastAgent) reportWait(t *exec.Task) {
	if t != nil {
		l.part.ReportWait(t, l.receipt(t))
	}
}

// receipt returns the longest wait of a piece, for locks or for readers.
func (l *LastAgent) receipt(t *exec.Task) msg.Receipt {
	r, x := l.Exec.Receipt(t), pendingOf(t)
	if x.heldReceipt != nil {
		r = msg.Worst(r, x.heldReceipt.Receipt)
	}
	return r
}

// requester is a gateway that has sent a commit or cancel request, with what a response must name.
type requester struct {
	txn         kv.TxnRef
	commit      kv.CommitID
	fingerprint uint64
}

func requesterOf(p *msg.CommitRequest) requester { return requester{p.Txn, p.CommitID, p.Fingerprint} }

// onCommitRequest starts a commit that this shard decides, or answers it if it has ended. In this
// order:
//
//  1. The attempt has a record: handleRepeatedRequest.
//  2. Memory knows a commit of the id: its result is sent again, or the request is rejected as
//     superseded.
//  3. Memory knows an abort, and is complete for the id: the request is rejected.
//  4. The request names another incarnation, or memory may be incomplete: the log is read first.
//  5. Else the commit is new.
func (l *LastAgent) onCommitRequest(p *msg.CommitRequest) {
	if l.handleRepeatedRequest(p) {
		return
	}
	f := l.Outcomes.Finished(p.Txn.TxnID)
	if f.Committed != 0 {
		l.resendResponse(requesterOf(p))
		return
	}
	// The shard has applied another commit of the id, as a participant.
	if f.Applied != 0 && !l.Mutants.Has(mutant.AttemptsIndependent) {
		l.rejectRequest(p, supersededFailure(f.Fingerprint, p.Fingerprint))
		return
	}
	// An abort alone is not enough. An earlier incarnation may have committed the id: then the
	// client must receive that result, and only the log has it.
	complete := p.Piece.Incarnation == l.Inc && l.Outcomes.IsComplete(p.Txn.TxnID)
	closed := l.Outcomes.CommitFailure(p.Txn, p.CommitID, p.User, p.Known())
	if closed != nil && (complete || l.Mutants.Has(mutant.PresumedWithoutLookup)) &&
		!l.Mutants.Has(mutant.LateCommitRequestWins) {
		l.rejectRequest(p, closed)
		return
	}
	switch {
	// The gateway does not know the incarnation yet, so neither the request nor its grants can be
	// matched. It learns the incarnation from the response and retries.
	case p.Piece.Incarnation == 0:
		l.rejectRequest(p, restartedFailure())
	case p.Piece.Incarnation != l.Inc && !l.Mutants.Has(mutant.IncarnationIgnored):
		l.acceptAfterLookup(p, restartedFailure())
	case !complete:
		l.acceptAfterLookup(p, nil)
	default:
		l.acceptRequest(p)
	}
}

// handleRepeatedRequest handles a commit request whose attempt has a record that is more than a
// vote. It is a retry, or a request of another commit of the attempt.
func (l *LastAgent) handleRepeatedRequest(p *msg.CommitRequest) bool {
	rec := l.Records.Get(p.Txn)
	switch {
	case rec == nil || rec.State == record.Seen && !l.isOtherCommit(rec, p.CommitID):
		return false
	// The response was lost.
	case rec.State == record.Committed:
		l.resendResponse(requesterOf(p))
	// Another gateway commits the same attempt: rejected until that one is decided.
	case l.isOtherCommit(rec, p.CommitID):
		l.respondAborted(requesterOf(p), l.rejectCommit(p.User, p.CommitID))
	// The transaction was wounded after the first copy.
	case p.NoWait && !rec.NoWait:
		rec.NoWait = true
		t := taskOf(rec)
		l.OnStep(t, l.Exec.Wound(t))
	default:
		l.reportWait(taskOf(rec))
	}
	return true
}

func restartedFailure() *msg.Failure {
	return msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the last agent has restarted")
}

// acceptAfterLookup reads the log for a commit of the id. Without one, the request is rejected with
// otherwise; if that is nil, it is accepted.
func (l *LastAgent) acceptAfterLookup(p *msg.CommitRequest, otherwise *msg.Failure) {
	l.Outcomes.LookUp(p.Txn.TxnID, func(o *entry.Outcome, err error) {
		rec := l.Records.Get(p.Txn)
		// A retry of the request has finished its lookup first.
		if rec != nil && rec.State != record.Seen {
			return
		}
		// The id may have been fenced, or the commit cancelled, while the log was read.
		f := l.Outcomes.CommitFailure(p.Txn, p.CommitID, p.User, p.Known())
		if err != nil {
			f = msg.FailureOf(err)
			// The outcome is unknown. Any response could be wrong; the gateway retries.
			if o.Committed == 0 {
				return
			}
		}
		switch {
		case o.Committed != 0:
			l.respondFinished(requesterOf(p), o)
		case o.Applied != 0 && !l.Mutants.Has(mutant.AttemptsIndependent):
			l.rejectRequest(p, supersededFailure(o.Fingerprint, p.Fingerprint))
		// An abort of this incarnation rejects the request, since the log has no commit.
		case f != nil:
			l.rejectRequest(p, f)
		case otherwise != nil:
			l.rejectRequest(p, otherwise)
		default:
			l.acceptRequest(p)
		}
	})
}

// resendResponse sends the result of a commit again, from the log.
func (l *LastAgent) resendResponse(to requester) {
	id := to.txn.TxnID
	l.Outcomes.LookUp(id, func(o *entry.Outcome, err error) {
		// The low watermark has passed the id, and its row is deleted. Memory may still know the
		// commit, without its results.
		if err == nil && o.Committed == 0 {
			f := l.Outcomes.Finished(id)
			o = &entry.Outcome{Committed: f.Committed, Fingerprint: f.Fingerprint, ResultsLost: true}
		}
		if err == nil && o.Committed != 0 {
			l.respondFinished(to, o)
		}
	})
}

// rejectRequest aborts a commit request that cannot be accepted, with the record that votes or
// unseal requests may have created.
func (l *LastAgent) rejectRequest(p *msg.CommitRequest, f *msg.Failure) {
	rec := l.Records.Get(p.Txn)
	if rec != nil {
		l.abort(rec, f)
		return
	}
	l.respondAborted(requesterOf(p), f)
}

// acceptRequest creates the record, or completes the one that votes have created, and starts the
// piece. The piece loads its keys; it requests no lock before all votes have arrived.
func (l *LastAgent) acceptRequest(p *msg.CommitRequest) {
	rec := l.Records.Get(p.Txn)
	// A lookup may have taken time: another commit of the attempt may have begun here since.
	if l.isOtherCommit(rec, p.CommitID) || l.part.participatesInOther(p.Txn, p.CommitID) {
		l.respondAborted(requesterOf(p), l.rejectCommit(p.User, p.CommitID))
		return
	}
	x := l.pendingPool.Get()
	// If participants have voted, they hold locks: the piece is not rejected at a bound.
	x.task.Admitted = rec != nil
	if rec == nil {
		rec = &x.own
		rec.Txn, rec.CommitID, rec.User, rec.Known, rec.CreatedAt = p.Txn, p.CommitID, p.User, p.Known(), l.Now
		l.Records.Insert(rec)
	}
	rec.State, rec.Request, rec.NoWait = record.Pending, p, rec.NoWait || p.NoWait
	rec.NextRepeat = l.Now + int64(l.cfg.Liveness)
	l.schedule(rec.NextRepeat)
	// The locks under which the transaction read here may have been broken before this request.
	if !l.part.holdsGrants(p.Txn, p.Piece.Incarnation, p.Piece.Grants()) {
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

// NewResponse sends a response to a commit request, which the caller fills in.
func (l *LastAgent) NewResponse(p *msg.CommitRequest) *msg.CommitResponse {
	return l.newResponse(requesterOf(p))
}

// HasRecords reports whether there are records.
func (l *LastAgent) HasRecords() bool { return l.Records.Len() > 0 }

// newResponse sends a response, which the caller fills in within the step. It reports the number of
// aborts, from which the gateway's next requests prove that they are newer (package record).
func (l *LastAgent) newResponse(to requester) *msg.CommitResponse {
	m, a := msg.CommitResponseTo(to.commit.Gateway)
	*a = msg.CommitResponse{Txn: to.txn, CommitID: to.commit, Shard: l.ID, Incarnation: l.Inc,
		Aborts: l.Outcomes.AbortCount()}
	l.Send(m)
	return a
}

func (l *LastAgent) respondAborted(to requester, f *msg.Failure) { l.newResponse(to).Failure = f }

// respondFinished answers a commit of an id that has committed, by this or another commit. With the
// same operations the result of that one is the response. A row without a fingerprint cannot be
// compared; then only the same attempt counts as the same operations.
func (l *LastAgent) respondFinished(to requester, o *entry.Outcome) {
	a := l.newResponse(to)
	a.Index = l.Store.CSN()
	same := to.fingerprint != 0 && o.Fingerprint == to.fingerprint
	if same || o.Committed == to.txn.Attempt && !areDifferent(o.Fingerprint, to.fingerprint) {
		a.Committed, a.Results, a.ResultsLost = true, o.Results, o.ResultsLost
	} else {
		a.Failure = supersededFailure(o.Fingerprint, to.fingerprint)
	}
}
