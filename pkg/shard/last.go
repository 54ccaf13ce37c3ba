package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// onPark: this shard is to decide the transaction.
func (m *Machine) onPark(p *msg.Park) {
	rec := m.recs.Get(p.Txn)
	if p.Snapshot {
		if rec == nil { // to read twice does no harm, in whichever life
			m.park(p)
			return
		}
		m.tellWait(taskOf(rec))
		return
	}
	if rec != nil && rec.State != record.Heard {
		switch {
		case rec.State == record.Committed:
			m.answerAgain(parker(p))
		case p.NoWait && !rec.NoWait:
			rec.NoWait = true
			m.doom(taskOf(rec))
		default:
			m.tellWait(taskOf(rec))
		}
		return
	}
	if m.memory.Finished(p.Txn.TxnID).Committed != 0 {
		m.answerAgain(parker(p))
		return
	}
	if m.memory.Finished(p.Txn.TxnID).Applied != 0 && !m.cfg.Mutants.Has(mutant.AttemptsApart) {
		m.abortPark(p, overtaken())
		return
	}
	// Memory is complete only for what this incarnation did, and not for all
	// of that.
	complete := p.Piece.Incarnation == m.inc && m.memory.Complete(p.Txn.TxnID)
	closed := m.closedCommit(p.Txn, p.User, p.Known())
	if closed != nil && (complete || m.cfg.Mutants.Has(mutant.PresumedUnasked)) && !m.cfg.Mutants.Has(mutant.LateParkWins) {
		m.abortPark(p, closed)
		return
	}
	switch {
	case p.Piece.Incarnation == 0:
		m.abortPark(p, staleIncarnation())
	case p.Piece.Incarnation != m.inc && !m.cfg.Mutants.Has(mutant.IncarnationIgnored):
		m.parkAfterLookUp(p, staleIncarnation())
	case !complete:
		m.parkAfterLookUp(p, nil)
	default:
		m.park(p)
	}
}

func staleIncarnation() *msg.Failure {
	return failure(msg.ReasonIncarnation, kv.KindAborted, "the shard that decides has restarted")
}

// parkAfterLookUp: only the log knows whether this attempt has committed. If
// it has not, otherwise says why it cannot, nil for "it can".
func (m *Machine) parkAfterLookUp(p *msg.Park, otherwise *msg.Failure) {
	m.lookUp(p.Txn.TxnID, func(o *entry.Outcome, err error) {
		if rec := m.recs.Get(p.Txn); rec != nil && rec.State != record.Heard {
			return // a repeat was quicker
		}
		f := m.closedCommit(p.Txn, p.User, p.Known())
		if err != nil {
			f = failureOf(err)
			if o.Committed == 0 {
				return // nobody knows yet; the gateway asks again
			}
		}
		switch {
		case o.Committed != 0:
			m.answerFinished(parker(p), o)
		case o.Applied != 0 && !m.cfg.Mutants.Has(mutant.AttemptsApart):
			m.abortPark(p, overtaken())
		case f != nil:
			m.abortPark(p, f)
		case otherwise != nil:
			m.abortPark(p, otherwise)
		default:
			m.park(p)
		}
	})
}

// asker is a gateway that wants an answer to a commit, or an end of it.
type asker struct {
	txn     kv.TxnRef
	gateway kv.NodeID
	named   kv.Known
}

func parker(p *msg.Park) asker { return asker{p.Txn, p.Gateway, p.Known()} }

// answerAgain repeats the answer to a commit from the log. If that has dropped
// it already, memory may still know that there was one.
func (m *Machine) answerAgain(to asker) {
	id := to.txn.TxnID
	m.lookUp(id, func(o *entry.Outcome, err error) {
		if err == nil && o.Committed == 0 {
			o = &entry.Outcome{Committed: m.memory.Finished(id).Committed, ResultsLost: true}
		}
		if err == nil && o.Committed != 0 {
			m.answerFinished(to, o)
		}
	})
}

// abortPark answers a Park that cannot be taken. A record that votes have
// made dies with it.
func (m *Machine) abortPark(p *msg.Park, f *msg.Failure) {
	if rec := m.recs.Get(p.Txn); rec != nil {
		m.abort(rec, f)
		return
	}
	m.answerAbort(parker(p), f)
}

func (m *Machine) park(p *msg.Park) {
	if m.decidedElsewhere(p.Txn) {
		m.answerAbort(parker(p), m.refuseToDecide(p.User, p.Txn, p.Known()))
		return
	}
	rec := m.recs.Get(p.Txn)
	if rec != nil && !rec.Known.Names(p.Known()) {
		m.abort(rec, failure(msg.ReasonTombstone, kv.KindAborted, "an earlier commit of the attempt was heard of"))
		return
	}
	x := m.newParked()
	x.task.admitted = rec != nil // others have voted
	if rec == nil {
		rec = &x.rec
		rec.Txn, rec.Gateway, rec.User, rec.Known, rec.Since = p.Txn, p.Gateway, p.User, p.Known(), m.now
		m.recs.Insert(rec)
	}
	rec.State, rec.Park, rec.NoWait = record.Parked, p, rec.NoWait || p.NoWait
	rec.NextAsk = m.now + int64(m.cfg.Liveness)
	m.timers.at(rec.NextAsk)
	if !m.stillHeld(p.Txn, p.Piece.Incarnation, p.Piece.Grants) {
		m.abort(rec, staleGrant())
		return
	}
	no := rec.No()
	if no != nil && !rec.Concludes(no) {
		m.abort(rec, no.Failure)
		return
	}
	t := &x.task
	t.parked = x
	t.kind, t.txn, t.gateway, t.ops, t.seen, t.rec = taskPark, p.Txn, p.Gateway, p.Piece.Ops, p.Piece.Seen, rec
	rec.Task = t
	m.begin(t)
}

// parked is a record and its task, which mostly come and go together.
type parked struct {
	rec  record.Record
	task task
}

// maxSpare bounds the pairs that are kept for others.
const maxSpare = 256

// newParked makes a pair, or takes a spare one.
func (m *Machine) newParked() *parked {
	n := len(m.spare)
	if n == 0 {
		return &parked{}
	}
	x := m.spare[n-1]
	m.spare[n-1], m.spare = nil, m.spare[:n-1] // it may never come back
	return x
}

// reuse makes pairs spare that nobody refers to any more now that the step
// ends.
func (m *Machine) reuse() {
	for _, x := range m.over {
		if *x = (parked{}); len(m.spare) < maxSpare {
			m.spare = append(m.spare, x)
		}
	}
	m.over = emptied(m.over)
}

func taskOf(rec *record.Record) *task {
	t, _ := rec.Task.(*task)
	return t
}

// answer begins an answer.
func (m *Machine) answer(to asker) *msg.Answer {
	env, a := msg.AnswerTo(to.gateway)
	*a = msg.Answer{Txn: to.txn, Shard: m.cfg.ID, Incarnation: m.inc, Aborts: m.memory.Aborts(),
		NamedIncarnation: to.named.Incarnation, NamedAborts: to.named.Aborts}
	m.send(env)
	return a
}

func (m *Machine) answerAbort(to asker, f *msg.Failure) { m.answer(to).Failure = f }

// answerFinished repeats an answer. An attempt other than the one that
// committed is dead.
func (m *Machine) answerFinished(to asker, o *entry.Outcome) {
	a := m.answer(to)
	a.Index = m.index
	if o.Committed == to.txn.Attempt {
		a.Committed, a.Results, a.ResultsLost = true, o.Results, o.ResultsLost
	} else {
		a.Failure = overtaken()
	}
}

// onVote counts a vote, or answers it.
func (m *Machine) onVote(v *msg.Vote) {
	x := saidBy(v)
	switch rec, s := m.standingOf(x); s {
	case recorded:
		m.count(rec, v)
	case unheard:
		m.count(m.heardOf(x), v)
	case unsure:
		m.standingInLog(x, func() { m.onVote(v) }, func() { m.count(m.heardOf(x), v) })
	}
}

// heardOf makes the record of an attempt that has not been parked.
func (m *Machine) heardOf(x said) *record.Record {
	rec := m.recs.Add(m.now, x.txn, x.gateway, record.Heard)
	rec.User, rec.Known = x.user, x.named
	rec.NextAsk = m.now + int64(m.cfg.Liveness)
	m.timers.at(rec.NextAsk)
	return rec
}

// count takes a vote into its record.
func (m *Machine) count(rec *record.Record, v *msg.Vote) {
	rec.Vote(v)
	switch {
	case rec.Concludes(rec.VoteOf(v.Shard)) && !m.cfg.Mutants.Has(mutant.FailuresUnvalidated):
		m.tryDecide(rec)
	case !v.Yes:
		m.abort(rec, v.Failure)
	case rec.State == record.Heard && v.Repeated:
		if m.cfg.Mutants.Has(mutant.NoTombstone) {
			m.tellOne(saidBy(v), false)
			m.recs.Remove(rec)
			return
		}
		m.abort(rec, failure(msg.ReasonTombstone, kv.KindAborted, "a participant asked before the transaction was parked"))
	case rec.Dropped(v):
		// The shard may not have heard of it, and the reader for whom it asked
		// may be gone, so that it would not ask again.
		m.tellUnsealed(v.Txn, v.Shard, v.Epoch)
	default:
		m.tryDecide(rec)
	}
}

// onDecideAck: a participant has applied a commit for good.
func (m *Machine) onDecideAck(d *msg.DecideAck) {
	rec := m.recs.Get(d.Txn)
	if rec == nil || rec.State != record.Committed || !rec.Acknowledged(d.Shard) {
		return
	}
	m.del(entry.TableRecord, m.refKey(d.Txn))
	m.recs.Remove(rec)
}

// recoverRecord takes up a commit that somebody may not have heard of.
func (m *Machine) recoverRecord(row *entry.Record) {
	rec := m.recs.Add(m.now, row.Txn, row.Gateway, record.Committed)
	rec.Missing, rec.Known = row.Participants, kv.Known{Incarnation: row.Incarnation, Aborts: row.Aborts}
	rec.NextAsk = m.now + int64(m.cfg.Repeat)
	m.timers.at(rec.NextAsk)
	m.tellAll(rec.Txn, rec.Known, rec.Missing, true)
}
