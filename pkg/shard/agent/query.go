package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// onCancel aborts a commit that is undecided. The gateway cancels shortly before the deadline; if
// the commit has been made, its response is sent again.
func (l *LastAgent) onCancel(c *msg.CancelRequest) {
	rec := l.Records.Get(c.Txn)
	switch {
	// The response was lost, or the cancellation crossed it.
	case rec != nil && rec.State == record.Committed:
		l.resendResponse(refOfCancel(c))
		return
	// The cancelled commit is not the recorded one, which continues.
	case l.isOtherRecord(rec, c.CommitID):
		l.respondAborted(refOfCancel(c), l.rejectCommit(c.User, c.CommitID))
		return
	case rec != nil:
		l.abort(rec, l.cancelFailure(c.Txn, c.CommitID))
		return
	}
	l.cancelUnknown(c, l.mayCommit(refOfCancel(c), nil))
}

// cancelUnknown cancels a commit without a record. The commit request may be in flight, so the abort
// is remembered, and rejects it.
func (l *LastAgent) cancelUnknown(c *msg.CancelRequest, v verdict) {
	switch {
	case v.answer == finished && v.committed != 0:
		l.resendResponse(refOfCancel(c))
	case v.answer == finished, v.answer == closed:
		l.respondAborted(refOfCancel(c), v.failure)
	case v.answer == uncertain:
		l.Outcomes.LookUp(c.Txn.TxnID, c)
	default:
		f := l.cancelFailure(c.Txn, c.CommitID)
		l.Outcomes.Abort(c.User, c.CommitID, f)
		l.respondAborted(refOfCancel(c), f)
	}
}

// onCancelOutcome continues a cancel request for which the log was read.
func (l *LastAgent) onCancelOutcome(c *msg.CancelRequest, f *outcome.Found) {
	v := l.mayCommit(refOfCancel(c), f)
	switch {
	case f.Err != nil:
	case f.Outcome.Committed != 0:
		l.respondFinished(refOfCancel(c), f.Outcome)
	// The request arrived while the log was read.
	case v.answer != finished && l.Records.Get(c.Txn) != nil:
		l.onCancel(c)
	default:
		l.cancelUnknown(c, v)
	}
}

// onQueryTxn answers a query of an outcome. Either this shard reports its commit, or it fences the
// id durably, so that it never commits here.
func (l *LastAgent) onQueryTxn(q *msg.QueryTxn) {
	switch {
	// The outcome may have been deleted: "aborted" would be a guess.
	case q.Id.Time < l.Outcomes.LowWatermark():
		l.respondQuery(q, &msg.QueryTxnResponse{TooOld: true})
	case l.Outcomes.IsFenced(q.Id):
		l.respondQuery(q, &msg.QueryTxnResponse{Fenced: true})
	default:
		l.Outcomes.LookUp(q.Id, q)
	}
}

// onQueryOutcome continues a query for which the log was read.
func (l *LastAgent) onQueryOutcome(q *msg.QueryTxn, f *outcome.Found) {
	o := f.Outcome
	switch {
	case f.Err != nil:
	case o.Committed != 0:
		l.respondQuery(q, &msg.QueryTxnResponse{Committed: true, Results: o.Results, ResultsLost: o.ResultsLost})
	// The low watermark passed the id while the row was read. Memory knows the commit.
	case l.Outcomes.Finished(q.Id).Committed != 0:
		l.respondQuery(q, &msg.QueryTxnResponse{Committed: true, ResultsLost: true})
	// The low watermark passed the id while the log was read, so the row may have been deleted
	// before the read.
	case l.isPassed(q.Id):
		l.respondQuery(q, &msg.QueryTxnResponse{TooOld: true})
	default:
		l.fence(q)
	}
}

// fence closes an id for good and aborts its undecided records. Like every response, this one waits
// until the entry is durable.
func (l *LastAgent) fence(q *msg.QueryTxn) {
	if !l.Outcomes.WriteFence(q.User, q.Id) {
		l.respondQuery(q, &msg.QueryTxnResponse{Exhausted: true})
		return
	}
	for _, rec := range l.Records.Of(q.Id) {
		if rec.State != record.Committed {
			l.abort(rec, outcome.FencedFailure())
		}
	}
	l.respondQuery(q, &msg.QueryTxnResponse{Fenced: true})
}

// onWound aborts a transaction that is undecided here and for which an older one waits. A committed
// one is past that: its decision releases the locks.
func (l *LastAgent) onWound(w *msg.Wound) {
	rec := l.Records.Get(w.Txn)
	if rec == nil || rec.State == record.Committed {
		return
	}
	f := msg.Fail(msg.ReasonWounded, kv.KindAborted,
		"an older transaction, "+w.By.String()+", waited for a lock of this one")
	// The client sees the lock and the waiting transaction.
	f.Conflict = w.Conflict
	l.abort(rec, f)
}
