package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// tryDecide: if the votes are in and the piece's keys are in memory, the
// piece goes for its locks.
func (m *Machine) tryDecide(rec *record.Record) {
	t := taskOf(rec)
	if rec.State != record.Parked || t == nil || t.stage != stageLoaded {
		return
	}
	no := rec.No()
	switch {
	case no != nil && len(rec.Silent()) > 0, no == nil && !rec.AllIn(m.cfg.Mutants):
		return
	case no != nil && t.err == nil:
		m.abort(rec, m.validated(t, no.Failure))
		return
	}
	if t.err != nil {
		m.abort(rec, failureOf(t.err))
		return
	}
	if !m.lastHolds(rec) {
		m.abort(rec, staleGrant())
		return
	}
	rec.State, rec.Voted = record.Ready, m.now
	m.stats.ParkToReady.add(m.now - rec.Since)
	if len(rec.Park.Participants) > 0 {
		m.heat.parked.note(m.now - rec.Since)
	}
	if rec.Park.Snapshot {
		m.enterSnapshot(t)
		return
	}
	t.admitted = t.admitted || len(rec.Park.Participants) > 0 // and have voted
	t.req.NoWait = rec.NoWait && !m.cfg.Mutants.Has(mutant.ParkWithoutMark)
	m.acquire(t)
}

// lastHolds checks the grants that a piece relies on which is decided here.
func (m *Machine) lastHolds(rec *record.Record) bool {
	return m.stillHeld(rec.Txn, m.inc, rec.Park.Piece.Grants) || m.cfg.Mutants.Has(mutant.GrantsUncheckedByLast)
}

// seenHolds validates optimistic reads; they are read-locked, or it is the
// instant of the decision.
func (m *Machine) seenHolds(t *task) *msg.Failure {
	if m.cfg.Mutants.Has(mutant.SeenUnchecked) {
		return nil
	}
	for i := range t.seen {
		it := m.store.Get(t.seen[i].Key)
		now := kv.Version{}
		if _, here := m.elsewhere(t.seen[i].Key, it); !here {
			return changed(t.seen[i].Key)
		}
		if it != nil && it.Value.Exists() {
			now = it.Value.Version
		}
		if now != t.seen[i].Version {
			return changed(t.seen[i].Key)
		}
	}
	return nil
}

// validated is what becomes of a piece that is executed with failure f, nil for
// none: a stale read or a lost lock goes before f, which the client may have caused
// by what it read.
func (m *Machine) validated(t *task, f *msg.Failure) *msg.Failure {
	if f != nil && m.cfg.Mutants.Has(mutant.FailuresUnvalidated) {
		return f
	}
	if stale := m.seenHolds(t); stale != nil {
		return stale
	}
	if t.rec != nil && !m.lastHolds(t.rec) {
		return staleGrant()
	}
	return f
}

// decideNow is F(T): in one step the piece is executed, checked, committed,
// and its locks released.
func (m *Machine) decideNow(t *task) {
	rec := t.rec
	x := m.exec(t)
	if m.lacks(t, &x) {
		return
	}
	f := m.validated(t, x.Failure)
	if f == nil {
		f = m.rivals(t.txn)
	}
	switch {
	case f != nil:
		m.abort(rec, f)
		return
	case !m.heldByReaders(t, &x):
		m.commit(t, x)
	}
	m.effects = emptied(x.Effects)
}

func (m *Machine) commit(t *task, x mvcc.Execution) {
	rec := t.rec
	if m.cfg.Trace.Committed != nil {
		m.cfg.Trace.Committed(t.txn)
	}
	results, receipt, seen := rec.Gathered()
	if results == nil {
		results = x.Results
	} else {
		results = append(results, x.Results...)
	}
	receipt = msg.Worst(receipt, m.receipt(t))
	receipt.Open = false
	participants := rec.Park.Participants
	if len(participants) > 0 {
		m.ran(t, x.Effects)
	}
	if len(participants) > 0 || slices.ContainsFunc(t.ops, func(op msg.Op) bool { return op.Writes() }) {
		m.logCommit(t, x.Effects, results)
	}
	a := m.answer(recorder(rec))
	a.Committed, a.Results, a.Receipt, a.Seen, a.Index = true, results, receipt.Told(), seen, m.index
	m.stats.Committed++
	m.drop(t)
	m.queue.Withdraw(m.now, t.txn)
	m.releaseOwn(t.txn)
	if len(participants) == 0 {
		m.recs.Remove(rec)
		if rec == &t.parked.rec && !t.ranges && !t.paging { // these may be waiting for a read
			m.over = append(m.over, t.parked)
		}
		return
	}
	rec.State, rec.Missing = record.Committed, append([]kv.ShardID(nil), participants...)
	rec.Drop()
	if m.cfg.Mutants.Has(mutant.RecordForgottenEarly) {
		m.del(entry.TableRecord, m.refKey(t.txn))
		m.recs.Remove(rec)
	}
	rec.NextAsk = m.now + int64(m.cfg.Liveness)
	m.timers.at(rec.NextAsk)
	m.tellAll(rec.Txn, rec.Known, participants, true)
}

// logCommit writes the outcome, the record if somebody must hear of it, and
// the versions. A piece that happened to write nothing is remembered too: the
// next copy of its Park might find something to delete.
func (m *Machine) logCommit(t *task, effects []entry.Effect, results []msg.Result) {
	participants := t.rec.Park.Participants
	// Without a write here the index rises all the same where others write: it
	// is the token by which the transaction is known to be in a state.
	if len(effects)+len(participants) > 0 {
		m.index++
	}
	for i := range effects {
		it := m.hold(t, &effects[i], nil)
		m.show(t.txn, it, &effects[i])
		m.store.Unpin(it)
		m.settleGuest(&effects[i])
	}
	m.outcome = entry.Outcome{Committed: t.txn.Attempt, Results: results}
	if resultBytes(results) > kv.MaxRecordResultBytes {
		m.outcome.Results, m.outcome.ResultsLost = nil, true
	}
	m.finish(t.txn.TxnID, &m.outcome)
	m.overtake(t.txn)
	if len(participants) > 0 {
		m.put(entry.TableRecord, m.refKey(t.txn), &entry.Record{Txn: t.txn, Gateway: t.gateway, Participants: participants,
			Incarnation: t.rec.Known.Incarnation, Aborts: t.rec.Known.Aborts})
	}
}

func resultBytes(rs []msg.Result) int {
	n := 0
	for i := range rs {
		n += rs[i].Size()
	}
	return n
}

// releaseOwn gives up the locks that an interactive transaction read under on
// its last agent.
func (m *Machine) releaseOwn(txn kv.TxnRef) {
	if a := m.attempts[txn]; a != nil && a.prepared == nil {
		m.end(a)
		m.ended.add(m.now, txn, nil)
		return
	}
	if m.attempts[txn] == nil {
		m.locks.ReleaseHeld(txn)
	}
}

// abort ends an undecided record: the answer to everybody is no, for good.
func (m *Machine) abort(rec *record.Record, f *msg.Failure) {
	told := rec.Told()
	_, receipt, seen := rec.Gathered()
	receipt = m.orHeld(receipt, rec.Txn)
	if t := taskOf(rec); t != nil {
		receipt = msg.Worst(receipt, m.receipt(t))
	}
	rec.State = record.Aborted
	m.queue.Withdraw(m.now, rec.Txn)
	m.drop(taskOf(rec))
	m.recs.Remove(rec)
	m.memory.Kill(rec.User, rec.Txn, rec.Known.Aborts, f)
	m.stats.abort(f)
	m.releaseOwn(rec.Txn)
	a := m.answer(recorder(rec))
	a.Failure, a.Receipt, a.Seen = f, receipt.Told(), seen
	m.tellAll(rec.Txn, rec.Known, told, false)
}

// recorder is the gateway that hears of a record's end.
func recorder(rec *record.Record) asker { return asker{rec.Txn, rec.Gateway, rec.Known} }

// tellAll tells participants what becomes of the commit that names what it does.
func (m *Machine) tellAll(txn kv.TxnRef, named kv.Known, shards []kv.ShardID, commit bool) {
	for _, s := range shards {
		env, decide := msg.DecideTo(s)
		*decide = msg.Decide{Txn: txn, Last: m.cfg.ID, Commit: commit, LastIncarnation: named.Incarnation, LastAborts: named.Aborts}
		m.send(env)
	}
}
