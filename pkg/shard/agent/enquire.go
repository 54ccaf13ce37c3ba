package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// onCancel: the gateway wants an end. If nothing is decided, the answer is
// no, for good.
func (l *LastAgent) onCancel(c *msg.CancelRequest) {
	rec := l.Records.Get(c.Txn)
	switch {
	case rec != nil && rec.State == record.Committed:
		l.answerAgain(canceller(c))
		return
	case l.isRival(rec, c.CommitID):
		l.answerAbort(canceller(c), l.refuseToDecide(c.User, c.CommitID))
		return
	case rec != nil:
		l.abort(rec, l.givenUp(c.Txn, c.CommitID))
		return
	}
	l.lookUpOrAbort(c)
}

// givenUp is the failure of what is cancelled. If another commit of the transaction is
// under way, or was made, then that decides.
func (l *LastAgent) givenUp(txn kv.TxnRef, commit kv.CommitID) *msg.Failure {
	f := l.part.rivals(txn)
	if f != nil {
		return f
	}
	if l.part.decidedElsewhere(txn, commit) {
		return rival()
	}
	return Cancelled()
}

// Cancelled is the failure of a transaction that its gateway has given up.
func Cancelled() *msg.Failure {
	return msg.Fail(msg.ReasonCancelled, kv.KindAborted, "the transaction's gateway aborted it")
}

func canceller(c *msg.CancelRequest) asker { return asker{c.Txn, c.CommitID, c.Fingerprint} }

func (l *LastAgent) lookUpOrAbort(c *msg.CancelRequest) {
	tombstone := func() {
		f := l.Outcomes.ClosedCommit(c.Txn, c.CommitID, c.User, c.Known())
		if f == nil {
			f = l.givenUp(c.Txn, c.CommitID)
			l.Outcomes.Kill(c.User, c.CommitID, f)
		}
		l.answerAbort(canceller(c), f)
	}
	f := l.Outcomes.Finished(c.Txn.TxnID)
	switch {
	case f.Committed != 0:
		l.answerAgain(canceller(c))
		return
	case f.Applied != 0:
		l.answerAbort(canceller(c), overtaken(f.Fingerprint, c.Fingerprint))
		return
	}
	if c.Incarnation == l.Inc && l.Outcomes.Complete(c.Txn.TxnID) {
		tombstone()
		return
	}
	l.Outcomes.LookUp(c.Txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil:
		case o.Committed != 0:
			l.answerFinished(canceller(c), o)
		case o.Applied != 0:
			l.answerAbort(canceller(c), overtaken(o.Fingerprint, c.Fingerprint))
		case l.Records.Get(c.Txn) != nil:
			l.onCancel(c)
		default:
			tombstone()
		}
	})
}

// onEnquire: somebody lost the answer. Either this shard has the commit, or
// it makes sure that it never will.
func (l *LastAgent) onEnquire(q *msg.QueryTxn) {
	tooOld := &msg.QueryTxnResponse{TooOld: true}
	if q.Id.Time < l.Outcomes.Floor() {
		l.replyEnquire(q, tooOld)
		return
	}
	if l.Outcomes.Fenced(q.Id) {
		l.replyEnquire(q, &msg.QueryTxnResponse{Fenced: true})
		return
	}
	l.Outcomes.LookUp(q.Id, func(o *entry.Outcome, err error) {
		switch {
		case err != nil:
		case o.Committed != 0:
			l.replyEnquire(q, &msg.QueryTxnResponse{Committed: true, Results: o.Results, ResultsLost: o.ResultsLost})
		case l.Outcomes.Finished(q.Id).Committed != 0: // the floor has passed it meanwhile
			l.replyEnquire(q, &msg.QueryTxnResponse{Committed: true, ResultsLost: true})
		case q.Id.Time < l.Outcomes.Floor() && !l.Mutants.Has(mutant.FloorPassed):
			l.replyEnquire(q, tooOld)
		default:
			l.fence(q)
		}
	})
}

// fence closes an id durably: the reply, like every message, waits for the
// entry.
func (l *LastAgent) fence(q *msg.QueryTxn) {
	if !l.Outcomes.Close(q.User, q.Id) {
		l.replyEnquire(q, &msg.QueryTxnResponse{Exhausted: true})
		return
	}
	for _, rec := range l.Records.Of(q.Id) {
		if rec.State != record.Committed {
			l.abort(rec, outcome.FencedFailure())
		}
	}
	l.replyEnquire(q, &msg.QueryTxnResponse{Fenced: true})
}

func (l *LastAgent) replyEnquire(q *msg.QueryTxn, r *msg.QueryTxnResponse) {
	r.Id, r.Shard = q.Id, l.ID
	m := msg.ToGateway(q.Gateway)
	m.Body = r
	l.Send(m)
}

// onMark: an older transaction waits for this one, which is decided here. If
// it is not decided yet, it dies.
func (l *LastAgent) onMark(mk *msg.Wound) {
	rec := l.Records.Get(mk.Txn)
	if rec == nil || rec.State == record.Committed {
		return
	}
	f := msg.Fail(msg.ReasonWounded, kv.KindAborted, "an older transaction, "+mk.By.String()+", waited for a lock of this one")
	f.Conflict = mk.Conflict
	l.abort(rec, f)
}
