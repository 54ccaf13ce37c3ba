package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// tryDecide requests the locks of a piece if all votes are in and its keys are in memory. If a
// participant reported a failure that may result from earlier reads, the piece is executed only to
// validate its own reads, and only when all other votes are in: a yes proves that the reads of that
// shard are locked.
func (l *LastAgent) tryDecide(rec *record.Record) exec.Step {
	// Votes may arrive before the request, and the keys after the votes: this is called after each
	// of them, and the last one decides.
	t := taskOf(rec)
	if rec.State != record.Pending || t == nil || !t.Loaded() {
		return exec.Waiting
	}
	failed := rec.FailedVote()
	switch {
	case failed != nil && len(rec.MissingVotes()) > 0, failed == nil && !rec.AllSealed():
		return exec.Waiting
	// Nothing to validate here but the grants: no execution is needed.
	case failed != nil && t.Err == nil && !t.ReadsAgain():
		_, f := l.validate(t, &mvcc.Execution{}, failed.Failure)
		l.abort(rec, f)
		return exec.Waiting
	}
	if t.Err != nil {
		l.abort(rec, msg.FailureOf(t.Err))
		return exec.Waiting
	}
	// History: T reads x here under a lock; a push breaks the lock; U writes x; the votes of T
	// arrive. The write of U must not be lost.
	if !l.holdsReadLocks(rec) {
		l.abort(rec, staleGrantFailure())
		return exec.Waiting
	}
	rec.State, rec.VotesCompleteAt = record.Ready, l.Now
	l.stats.RequestToReady.Add(l.Now - rec.CreatedAt)
	if len(rec.Request.Participants) > 0 {
		l.latencies.requestToVotes.add(l.Now - rec.CreatedAt)
	}
	// Participants that have voted hold locks: the piece is not rejected at a bound.
	t.Admitted = t.Admitted || len(rec.Request.Participants) > 0
	// A wounded transaction aborts rather than wait for a lock.
	t.Request.NoWait = l.isWounded(rec)
	return l.Exec.Acquire(t)
}

// validate is [Parts.validate] for a piece that is decided here: a lost lock, too, takes precedence
// over f.
func (l *LastAgent) validate(t *exec.Task, x *mvcc.Execution, f *msg.Failure) (again int, _ *msg.Failure) {
	again, stale := l.Exec.ValidateReads(t, x.Results)
	if stale == nil && !l.holdsReadLocks(pendingOf(t).rec) {
		stale = staleGrantFailure()
	}
	return again, l.precedingFailure(stale, f)
}

// decide is F(T). In one step the piece executes, its reads are validated, the commit is written,
// and its locks are released.
func (l *LastAgent) decide(t *exec.Task) exec.Step {
	rec := pendingOf(t).rec
	x, step := l.Exec.Run(t)
	if step != exec.Ready {
		return step
	}
	f := failureOf(&x, rec.ResultBytes(), rec.Request.MaxResponseBytes)
	failed := rec.FailedVote()
	// The piece was executed only to validate its reads. If they are current, the failure of the
	// participant is the result.
	if failed != nil {
		f = failed.Failure
	}
	again, f := l.validate(t, &x, f)
	// Another attempt of the transaction may be prepared here: with --commit-order parallel, or
	// through another gateway.
	if f == nil {
		f = l.otherPreparedFailure(t.Txn)
	}
	switch {
	case f != nil:
		l.abort(rec, f)
		return exec.Waiting
	// With registered readers the piece keeps nothing of this execution: the values may change until
	// they leave.
	case !l.heldByReaders(t, &x):
		x.Results = x.Results[again:]
		l.commit(t, x)
	}
	// The effects are in the log or not needed.
	l.Exec.RecycleEffects(x.Effects)
	return exec.Waiting
}

// commit writes the outcome and the versions, sends the response and the decisions, and releases all
// locks. All of it leaves when the entries are durable.
func (l *LastAgent) commit(t *exec.Task, x mvcc.Execution) {
	rec := pendingOf(t).rec
	// The commit point, for the checker of tests: from here on the step cannot fail.
	if l.Trace.Committed != nil {
		l.Trace.Committed(t.Txn)
	}
	// The results of the participants precede those of this shard.
	results, receipt, seen := rec.VoteSummary()
	if results == nil {
		results = x.Results
	} else {
		results = append(results, x.Results...)
	}
	receipt = msg.Worst(receipt, l.receipt(t))
	receipt.Open = false
	participants := rec.Request.Participants
	if len(participants) > 0 {
		l.Exec.RecordUse(t, x.Effects, l.latencies.lockHoldNanos())
	}
	// A transaction that only reads, on this shard alone, is not logged.
	if len(participants) > 0 || slices.ContainsFunc(t.Ops, func(op msg.Op) bool { return op.Writes() }) {
		l.logCommit(t, x.Effects, results)
	}
	a := l.newResponse(rec.Txn, rec.CommitID)
	a.Committed, a.Results, a.Receipt, a.Incarnations, a.CSN = true, results, receipt.OrNil(), seen, l.Store.CSN()
	l.stats.Committed++
	l.Exec.Drop(t)
	l.Queue.Withdraw(l.Now, t.Txn)
	// The locks under which the transaction read here before its commit.
	l.part.releaseReadLocks(t.Txn)
	// No participant needs the decision: the record is finished. A task to which reads of the log
	// may still refer is not reused.
	if len(participants) == 0 {
		l.Records.Remove(rec)
		x := pendingOf(t)
		if rec == &x.own && !t.Shared() {
			l.pendingPool.Put(x)
		}
		return
	}
	// From here on the record only repeats the decision.
	l.retain(rec, participants)
	l.scheduleRepeat(rec)
	l.sendDecisions(rec.Txn, rec.CommitID, participants, true)
}

// logCommit writes the versions, the outcome, and the record if there are participants. A piece that
// wrote nothing is logged, too. Otherwise: a delete finds no key; its response is lost; another
// transaction inserts the key; the retried request deletes it.
func (l *LastAgent) logCommit(t *exec.Task, effects []entry.Effect, results []msg.Result) {
	rec := pendingOf(t).rec
	participants := rec.Request.Participants
	// The CSN rises even if this shard writes nothing and a participant does: it is the causality
	// token of the transaction, and must be higher than in any state without it.
	if len(effects)+len(participants) > 0 {
		l.Store.Advance()
	}
	for i := range effects {
		// No intent is needed: the effect becomes a version in the step that makes it.
		it := l.Exec.EffectItem(t, &effects[i], nil)
		l.makeVisible(t.Txn, it, &effects[i])
		l.Store.Dereference(it)
		l.Heat.Settle(&effects[i])
	}
	l.row = entry.Outcome{Committed: t.Txn.Attempt, Fingerprint: rec.Request.Fingerprint, Results: results}
	if resultBytes(results) > kv.MaxRecordResultBytes {
		l.row.Results, l.row.ResultsLost = nil, true
	}
	l.Outcomes.Finish(t.Txn.TxnID, &l.row)
	// In the same step, so that no other attempt of this id can commit later.
	l.AbortSuperseded(t.Txn)
	if len(participants) > 0 {
		l.Put(entry.TableRecord, l.RefKey(t.Txn), &entry.Record{Txn: t.Txn, Participants: participants,
			CommitID: rec.CommitID})
	}
}

// resultBytes is the encoded size of results.
func resultBytes(rs []msg.Result) int {
	n := 0
	for i := range rs {
		n += rs[i].Size()
	}
	return n
}

// abort ends an undecided record for good: the gateway and every known participant receive the
// abort. It is remembered in memory only. After a crash the incarnation differs, and no commit of
// this record is possible.
func (l *LastAgent) abort(rec *record.Record, f *msg.Failure) {
	// Before the record is cleared: a participant whose vote is in flight needs the decision, too.
	recipients := rec.DecisionRecipients()
	_, receipt, seen := rec.VoteSummary()
	receipt = l.WorstReceipt(receipt, rec.Txn)
	t := taskOf(rec)
	if t != nil {
		receipt = msg.Worst(receipt, l.receipt(t))
	}
	rec.State = record.Aborted
	l.Queue.Withdraw(l.Now, rec.Txn)
	l.Exec.Drop(t)
	l.Records.Remove(rec)
	l.recordAbort(rec.User, rec.CommitID, f)
	l.stats.CountAbort(f)
	l.part.releaseReadLocks(rec.Txn)
	// A late prepare request for this shard (--commit-order parallel) must not prepare.
	l.Ended.AddCommit(l.Now, rec.Txn, rec.CommitID)
	a := l.newResponse(rec.Txn, rec.CommitID)
	a.Failure, a.Receipt, a.Incarnations = f, receipt.OrNil(), seen
	l.sendDecisions(rec.Txn, rec.CommitID, recipients, false)
}

// heldByReaders reports whether a piece that could be decided must wait for registered readers. It
// then holds no lock and keeps no effect; when the readers have left, OnFreed acquires its locks
// again, and ranges are read again.
func (l *LastAgent) heldByReaders(t *exec.Task, x *mvcc.Execution) bool {
	// No reader is registered at all: the changes need not be listed.
	if l.Queue.HasNoReaders(l.Now) {
		return false
	}
	changes, others := l.Exec.Changes(x.Effects), pendingOf(t).rec.Request.Participants
	if len(changes) == 0 && len(others) > 0 && !slices.Contains(others, l.ID) {
		// It changes the CSN, and a snapshot round fixes that.
		changes = csnOnly
	}
	if !l.Queue.Hold(l.Now, t.Txn, changes) {
		return false
	}
	l.Exec.Hold(t)
	return true
}

// OnFreed continues a piece that no reader holds any more.
func (l *LastAgent) OnFreed(f *snapshotqueue.FreedPiece) {
	if f.Key != nil {
		l.Heat.RecordWait(f.Key, hotshard.Held, f.Txn, f.Nanos)
	}
	rec := l.Records.Get(f.Txn)
	// The record was aborted meanwhile.
	if rec == nil {
		return
	}
	t := taskOf(rec)
	if t == nil || !t.Held() {
		return
	}
	x := pendingOf(t)
	if x.heldReceipt == nil || x.heldReceipt.Nanos < f.Nanos {
		x.heldReceipt = f
	}
	l.OnStep(t, l.Exec.Acquire(t))
}

// AbortSuperseded aborts the other attempts of a transaction that has committed. None of them is
// prepared (otherPreparedFailure).
func (l *LastAgent) AbortSuperseded(txn kv.TxnRef) {
	for _, rec := range l.Records.Of(txn.TxnID) {
		if rec.Txn != txn && rec.State != record.Committed {
			l.abort(rec, supersededFailure(0, 0))
		}
	}
	l.part.rejectSuperseded(txn)
}
