package agent

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

// LastAgent is a shard's part in transactions that it decides.
type LastAgent struct {
	Parts
	cfg   Config
	stats *Stats
	pace  *pace
	part  *Participant

	pool step.Pool[parked]
	// row is the outcome being written.
	row entry.Outcome
	deadline
}

// Receive takes a message, and reports whether it was for this role.
func (l *LastAgent) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.CommitRequest:
		l.onPark(b)
	case *msg.Vote:
		l.onVote(b)
	case *msg.DecisionAck:
		l.onDecideAck(b)
	case *msg.Wound:
		l.onMark(b)
	case *msg.CancelRequest:
		l.onCancel(b)
	case *msg.QueryTxn:
		l.onEnquire(b)
	case *msg.Unseal:
		l.onUnseal(b)
	default:
		return false
	}
	return true
}

// Went acts on the step that a piece has reached.
func (l *LastAgent) Went(t *exec.Task, s exec.Step) {
	switch s {
	case exec.Loaded:
		l.tryDecide(parkedOf(t).rec)
	case exec.Ready:
		l.decideNow(t)
	case exec.Refused:
		l.abort(parkedOf(t).rec, t.Failure)
	}
}

// Tick asks for missing votes and acknowledgements.
func (l *LastAgent) Tick() {
	if l.Now >= l.next {
		l.next = step.Never
		l.repeatQuestions()
	}
}

// EndStep frees what only the step still referred to.
func (l *LastAgent) EndStep() { l.pool.EndStep() }

// Stats gives the counters of both roles. The samples are the caller's to take.
func (l *LastAgent) Stats() *Stats { return l.stats }

func (l *LastAgent) reportWait(t *exec.Task) {
	if t != nil {
		l.part.ReportWait(t, l.receipt(t))
	}
}

// receipt is the longest wait of a piece, for locks or for readers, which are not named.
func (l *LastAgent) receipt(t *exec.Task) msg.Receipt {
	r, x := l.Exec.Receipt(t), parkedOf(t)
	if x.held != nil {
		r = msg.Worst(r, x.held.Receipt)
	}
	return r
}

// asker is a gateway that wants an answer to a commit, or an end of it.
type asker struct {
	txn         kv.TxnRef
	commit      kv.CommitID
	fingerprint uint64
}

func parker(p *msg.CommitRequest) asker { return asker{p.Txn, p.CommitID, p.Fingerprint} }

// onPark: this shard is to decide the transaction.
func (l *LastAgent) onPark(p *msg.CommitRequest) {
	if l.parkedAgain(p) {
		return
	}
	f := l.Outcomes.Finished(p.Txn.TxnID)
	if f.Committed != 0 {
		l.answerAgain(parker(p))
		return
	}
	if f.Applied != 0 && !l.Mutants.Has(mutant.AttemptsApart) {
		l.abortPark(p, overtaken(f.Fingerprint, p.Fingerprint))
		return
	}
	// Memory is complete only for what this incarnation did, and not for all
	// of that.
	complete := p.Piece.Incarnation == l.Inc && l.Outcomes.Complete(p.Txn.TxnID)
	closed := l.Outcomes.ClosedCommit(p.Txn, p.CommitID, p.User, p.Known())
	if closed != nil && (complete || l.Mutants.Has(mutant.PresumedUnasked)) && !l.Mutants.Has(mutant.LateParkWins) {
		l.abortPark(p, closed)
		return
	}
	switch {
	case p.Piece.Incarnation == 0:
		l.abortPark(p, staleIncarnation())
	case p.Piece.Incarnation != l.Inc && !l.Mutants.Has(mutant.IncarnationIgnored):
		l.parkAfterLookUp(p, staleIncarnation())
	case !complete:
		l.parkAfterLookUp(p, nil)
	default:
		l.park(p)
	}
}

// parkedAgain answers a CommitRequest of an attempt that was parked already, by this commit or another one.
func (l *LastAgent) parkedAgain(p *msg.CommitRequest) bool {
	rec := l.Records.Get(p.Txn)
	switch {
	case rec == nil || rec.State == record.Heard && !l.isRival(rec, p.CommitID):
		return false
	case rec.State == record.Committed:
		l.answerAgain(parker(p))
	case l.isRival(rec, p.CommitID):
		l.answerAbort(parker(p), l.refuseToDecide(p.User, p.CommitID))
	case p.NoWait && !rec.NoWait:
		rec.NoWait = true
		t := taskOf(rec)
		l.Went(t, l.Exec.Wound(t))
	default:
		l.reportWait(taskOf(rec))
	}
	return true
}

func staleIncarnation() *msg.Failure {
	return msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the last agent has restarted")
}

// parkAfterLookUp: only the log knows whether this attempt has committed. If
// it has not, otherwise says why it cannot, nil for "it can".
func (l *LastAgent) parkAfterLookUp(p *msg.CommitRequest, otherwise *msg.Failure) {
	l.Outcomes.LookUp(p.Txn.TxnID, func(o *entry.Outcome, err error) {
		rec := l.Records.Get(p.Txn)
		if rec != nil && rec.State != record.Heard {
			return // a repeat was quicker
		}
		f := l.Outcomes.ClosedCommit(p.Txn, p.CommitID, p.User, p.Known())
		if err != nil {
			f = msg.FailureOf(err)
			if o.Committed == 0 {
				return // nobody knows yet; the gateway asks again
			}
		}
		switch {
		case o.Committed != 0:
			l.answerFinished(parker(p), o)
		case o.Applied != 0 && !l.Mutants.Has(mutant.AttemptsApart):
			l.abortPark(p, overtaken(o.Fingerprint, p.Fingerprint))
		case f != nil:
			l.abortPark(p, f)
		case otherwise != nil:
			l.abortPark(p, otherwise)
		default:
			l.park(p)
		}
	})
}

// answerAgain repeats the answer to a commit from the log. If that has dropped
// it already, memory may still know that there was one.
func (l *LastAgent) answerAgain(to asker) {
	id := to.txn.TxnID
	l.Outcomes.LookUp(id, func(o *entry.Outcome, err error) {
		if err == nil && o.Committed == 0 {
			f := l.Outcomes.Finished(id)
			o = &entry.Outcome{Committed: f.Committed, Fingerprint: f.Fingerprint, ResultsLost: true}
		}
		if err == nil && o.Committed != 0 {
			l.answerFinished(to, o)
		}
	})
}

// abortPark answers a CommitRequest that cannot be taken. A record that votes have
// made dies with it.
func (l *LastAgent) abortPark(p *msg.CommitRequest, f *msg.Failure) {
	rec := l.Records.Get(p.Txn)
	if rec != nil {
		l.abort(rec, f)
		return
	}
	l.answerAbort(parker(p), f)
}

func (l *LastAgent) park(p *msg.CommitRequest) {
	rec := l.Records.Get(p.Txn)
	if l.isRival(rec, p.CommitID) || l.part.decidedElsewhere(p.Txn, p.CommitID) {
		l.answerAbort(parker(p), l.refuseToDecide(p.User, p.CommitID))
		return
	}
	x := l.pool.Get()
	x.task.Admitted = rec != nil // others have voted
	if rec == nil {
		rec = &x.own
		rec.Txn, rec.CommitID, rec.User, rec.Known, rec.Since = p.Txn, p.CommitID, p.User, p.Known(), l.Now
		l.Records.Insert(rec)
	}
	rec.State, rec.Park, rec.NoWait = record.Parked, p, rec.NoWait || p.NoWait
	rec.NextAsk = l.Now + int64(l.cfg.Liveness)
	l.at(rec.NextAsk)
	if !l.part.stillHeld(p.Txn, p.Piece.Incarnation, p.Piece.Grants()) {
		l.abort(rec, staleGrant())
		return
	}
	no := rec.No()
	if no != nil && !rec.Concludes(no) {
		l.abort(rec, no.Failure)
		return
	}
	t := &x.task
	x.rec = rec
	t.Kind, t.Txn, t.Gateway, t.Ops, t.Seen, t.Owner = exec.Decide, p.Txn, p.CommitID.Gateway, p.Piece.Ops, p.Piece.Seen(), x
	t.Request.Begun, t.User, t.Spans = p.Begun, p.User, len(p.Participants) > 0
	rec.Task = t
	l.Went(t, l.Exec.Begin(t))
}

// parked is a record and its task, which mostly come and go together.
type parked struct {
	own  record.Record
	task exec.Task
	// rec is its record: its own, or one that votes have made.
	rec *record.Record
	// held is the longest time that readers held the piece, nil for never.
	held *snapshotqueue.Freed
}

func parkedOf(t *exec.Task) *parked { return t.Owner.(*parked) }

func taskOf(rec *record.Record) *exec.Task {
	t, _ := rec.Task.(*exec.Task)
	return t
}

// AnswerPark begins the answer to a CommitRequest.
func (l *LastAgent) AnswerPark(p *msg.CommitRequest) *msg.CommitResponse { return l.answer(parker(p)) }

// Undecided reports whether there are records.
func (l *LastAgent) Undecided() bool { return l.Records.Len() > 0 }

// answer begins an answer.
func (l *LastAgent) answer(to asker) *msg.CommitResponse {
	m, a := msg.AnswerTo(to.commit.Gateway)
	*a = msg.CommitResponse{Txn: to.txn, CommitID: to.commit, Shard: l.ID, Incarnation: l.Inc, Aborts: l.Outcomes.Aborts()}
	l.Send(m)
	return a
}

func (l *LastAgent) answerAbort(to asker, f *msg.Failure) { l.answer(to).Failure = f }

// answerFinished answers a commit of an id that has committed, by this commit or another one. What
// that one has returned is the answer to the same operations.
func (l *LastAgent) answerFinished(to asker, o *entry.Outcome) {
	a := l.answer(to)
	a.Index = l.Store.Index()
	same := to.fingerprint != 0 && o.Fingerprint == to.fingerprint
	if same || o.Committed == to.txn.Attempt && !differ(o.Fingerprint, to.fingerprint) {
		a.Committed, a.Results, a.ResultsLost = true, o.Results, o.ResultsLost
	} else {
		a.Failure = overtaken(o.Fingerprint, to.fingerprint)
	}
}
