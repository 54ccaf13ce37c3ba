package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// tryDecide: if the votes are in and the piece's keys are in memory, the
// piece goes for its locks.
func (l *LastAgent) tryDecide(rec *record.Record) {
	t := taskOf(rec)
	if rec.State != record.Parked || t == nil || !t.Loaded() {
		return
	}
	no := rec.No()
	switch {
	case no != nil && len(rec.Silent()) > 0, no == nil && !rec.AllIn(l.Mutants):
		return
	case no != nil && t.Err == nil && !t.ReadsAgain():
		_, f := l.validated(t, &mvcc.Execution{}, no.Failure)
		l.abort(rec, f)
		return
	}
	if t.Err != nil {
		l.abort(rec, msg.FailureOf(t.Err))
		return
	}
	if !l.lastHolds(rec) {
		l.abort(rec, staleGrant())
		return
	}
	rec.State, rec.Voted = record.Ready, l.Now
	l.stats.ParkToReady.Add(l.Now - rec.Since)
	if len(rec.Park.Participants) > 0 {
		l.pace.parked.note(l.Now - rec.Since)
	}
	t.Admitted = t.Admitted || len(rec.Park.Participants) > 0 // and have voted
	t.Request.NoWait = rec.NoWait && !l.Mutants.Has(mutant.ParkWithoutMark)
	l.Went(t, l.Exec.Acquire(t))
}

// lastHolds checks the grants that a piece relies on which is decided here.
func (l *LastAgent) lastHolds(rec *record.Record) bool {
	return l.part.stillHeld(rec.Txn, l.Inc, rec.Park.Piece.Grants()) || l.Mutants.Has(mutant.GrantsUncheckedByLast)
}

// validated is what becomes of a piece that is executed with failure f, nil for
// none: a stale read or a lost lock goes before f, which the client may have caused
// by what it read.
func (l *LastAgent) validated(t *exec.Task, x *mvcc.Execution, f *msg.Failure) (again int, _ *msg.Failure) {
	if f != nil && l.Mutants.Has(mutant.FailuresUnvalidated) {
		return 0, f
	}
	again, stale := l.Exec.SeenHolds(t, x.Results)
	switch {
	case stale != nil:
		return again, stale
	case !l.lastHolds(parkedOf(t).rec):
		return again, staleGrant()
	}
	return again, f
}

// decideNow is F(T): in one step the piece is executed, checked, committed,
// and its locks released.
func (l *LastAgent) decideNow(t *exec.Task) {
	rec := parkedOf(t).rec
	x, step := l.Exec.Run(t)
	if step != exec.Ready {
		l.Went(t, step)
		return
	}
	f := failureOf(&x, rec.ResultBytes(), rec.Park.MaxResponseBytes)
	no := rec.No()
	if no != nil { // it was executed for its reads
		f = no.Failure
	}
	again, f := l.validated(t, &x, f)
	if f == nil {
		f = l.part.rivals(t.Txn)
	}
	switch {
	case f != nil:
		l.abort(rec, f)
		return
	case !l.heldByReaders(t, &x):
		x.Results = x.Results[again:]
		l.commit(t, x)
	}
	l.Exec.Reuse(x.Effects)
}

func (l *LastAgent) commit(t *exec.Task, x mvcc.Execution) {
	rec := parkedOf(t).rec
	if l.Trace.Committed != nil {
		l.Trace.Committed(t.Txn)
	}
	results, receipt, seen := rec.Gathered()
	if results == nil {
		results = x.Results
	} else {
		results = append(results, x.Results...)
	}
	receipt = msg.Worst(receipt, l.receipt(t))
	receipt.Open = false
	participants := rec.Park.Participants
	if len(participants) > 0 {
		l.Exec.Used(t, x.Effects, l.pace.hold())
	}
	if len(participants) > 0 || slices.ContainsFunc(t.Ops, func(op msg.Op) bool { return op.Writes() }) {
		l.logCommit(t, x.Effects, results)
	}
	a := l.answer(recorder(rec))
	a.Committed, a.Results, a.Receipt, a.Seen, a.Index = true, results, receipt.Told(), seen, l.Store.Index()
	l.stats.Committed++
	l.Exec.Drop(t)
	l.Queue.Withdraw(l.Now, t.Txn)
	l.part.releaseOwn(t.Txn)
	if len(participants) == 0 {
		l.Records.Remove(rec)
		x := parkedOf(t)
		if rec == &x.own && !t.Shared() {
			l.pool.Put(x)
		}
		return
	}
	rec.State, rec.Missing = record.Committed, append([]kv.ShardID(nil), participants...)
	rec.Drop()
	if l.Mutants.Has(mutant.RecordForgottenEarly) {
		l.Delete(entry.TableRecord, l.RefKey(t.Txn))
		l.Records.Remove(rec)
	}
	rec.NextAsk = l.Now + int64(l.cfg.Liveness)
	l.at(rec.NextAsk)
	l.tellAll(rec.Txn, rec.CommitID, participants, true)
}

// logCommit writes the outcome, the record if somebody must hear of it, and
// the versions. A piece that happened to write nothing is remembered too: the
// next copy of its CommitRequest might find something to delete.
func (l *LastAgent) logCommit(t *exec.Task, effects []entry.Effect, results []msg.Result) {
	rec := parkedOf(t).rec
	participants := rec.Park.Participants
	// Without a write here the index rises all the same where others write: it
	// is the token by which the transaction is known to be in a state.
	if len(effects)+len(participants) > 0 {
		l.Store.Advance()
	}
	for i := range effects {
		it := l.Exec.Item(t, &effects[i], nil)
		l.show(t.Txn, it, &effects[i])
		l.Store.Unpin(it)
		l.Heat.Settle(&effects[i])
	}
	l.row = entry.Outcome{Committed: t.Txn.Attempt, Fingerprint: rec.Park.Fingerprint, Results: results}
	if resultBytes(results) > kv.MaxRecordResultBytes {
		l.row.Results, l.row.ResultsLost = nil, true
	}
	l.Outcomes.Finish(t.Txn.TxnID, &l.row)
	l.Overtake(t.Txn)
	if len(participants) > 0 {
		l.Put(entry.TableRecord, l.RefKey(t.Txn), &entry.Record{Txn: t.Txn, Participants: participants,
			CommitID: rec.CommitID})
	}
}

func resultBytes(rs []msg.Result) int {
	n := 0
	for i := range rs {
		n += rs[i].Size()
	}
	return n
}

// abort ends an undecided record: the answer to everybody is no, for good.
func (l *LastAgent) abort(rec *record.Record, f *msg.Failure) {
	told := rec.Told()
	_, receipt, seen := rec.Gathered()
	receipt = l.OrHeld(receipt, rec.Txn)
	t := taskOf(rec)
	if t != nil {
		receipt = msg.Worst(receipt, l.receipt(t))
	}
	rec.State = record.Aborted
	l.Queue.Withdraw(l.Now, rec.Txn)
	l.Exec.Drop(t)
	l.Records.Remove(rec)
	l.Outcomes.Kill(rec.User, rec.CommitID, f)
	l.stats.Abort(f)
	l.part.releaseOwn(rec.Txn)
	l.part.ended.AddCommit(l.Now, rec.Txn, rec.CommitID)
	a := l.answer(recorder(rec))
	a.Failure, a.Receipt, a.Seen = f, receipt.Told(), seen
	l.tellAll(rec.Txn, rec.CommitID, told, false)
}

// recorder is the gateway that hears of a record's end.
func recorder(rec *record.Record) asker { return asker{txn: rec.Txn, commit: rec.CommitID} }

// tellAll sends the decision about a commit to participants.
func (l *LastAgent) tellAll(txn kv.TxnRef, id kv.CommitID, shards []kv.ShardID, commit bool) {
	for _, s := range shards {
		m, decide := msg.DecideTo(s)
		*decide = msg.Decision{Txn: txn, Last: l.ID, Commit: commit, CommitID: id}
		l.Send(m)
	}
}

// heldByReaders reports whether a piece that could be decided now must wait
// for readers to leave. It waits without having executed, and without locks, and
// Freed takes it up: then it reads its ranges anew.
func (l *LastAgent) heldByReaders(t *exec.Task, x *mvcc.Execution) bool {
	if l.Queue.Open(l.Now) {
		return false
	}
	changes, others := l.Exec.Changes(x.Effects), parkedOf(t).rec.Park.Participants
	if len(changes) == 0 && len(others) > 0 && !slices.Contains(others, l.ID) {
		changes = onlyIndex
	}
	if !l.Queue.Hold(l.Now, t.Txn, changes) {
		return false
	}
	l.Exec.Hold(t)
	return true
}

// Freed takes up a piece of which no reader stands in the way any more.
func (l *LastAgent) Freed(f *snapshotqueue.Freed) {
	if f.Key != nil {
		l.Heat.Waited(f.Key, hotshard.Held, f.Txn, f.Nanos)
	}
	rec := l.Records.Get(f.Txn)
	if rec == nil {
		return
	}
	t := taskOf(rec)
	if t == nil || !t.Held() {
		return
	}
	x := parkedOf(t)
	if x.held == nil || x.held.Nanos < f.Nanos {
		x.held = f
	}
	l.Went(t, l.Exec.Acquire(t))
}
