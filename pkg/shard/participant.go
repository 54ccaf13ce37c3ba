package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// prepared is a participant's promise, as it is in the log.
type prepared struct {
	row entry.Prepared
	// items are those of row.Effects, pinned.
	items []*mvcc.Item
	// decided is a commit that waits for items, or pages of them, which, after a
	// restart, are still being read. recovered: it has not been found out yet whether
	// pages are needed.
	decided   *msg.Decide
	recovered bool
	receipt   msg.Receipt
	at        int64
	// epoch is that of the newest sealing, which was at sealed.
	epoch  kv.Epoch
	sealed int64
	// nextVote is when the vote is repeated, after wait.
	nextVote, wait int64
}

// loaded reports whether all items are in memory.
func (pr *prepared) loaded() bool {
	return !slices.ContainsFunc(pr.items, func(it *mvcc.Item) bool { return !it.Loaded })
}

// promisedTo reports whether the promise was made for the commit that a decision is
// about.
func (pr *prepared) promisedTo(d *msg.Decide) bool {
	own := kv.Known{Incarnation: pr.row.LastIncarnation, Aborts: pr.row.LastAborts}
	return d.Last == pr.row.Last && own.Names(d.Known())
}

// onPrepare: lock, check, execute, write intents, vote.
func (m *Machine) onPrepare(p *msg.Prepare) {
	if a := m.attempts[p.Txn]; a != nil {
		switch {
		case a.isForOther(p.Last) && !m.cfg.Mutants.Has(mutant.LastAgentsApart):
			m.refusePrepareWith(p, rival(), msg.Receipt{})
			return
		case a.prepared != nil:
			m.vote(a, false)
			return
		case a.preparing != nil:
			if p.NoWait {
				m.doom(a.preparing)
			}
			m.tellWait(a.preparing)
			return
		}
	}
	if f := m.memory.Finished(p.Txn.TxnID); appliedHere(p.Txn, f.Applied, f.Committed) && !m.cfg.Mutants.Has(mutant.AppliedForgotten) {
		m.refuseApplied(p)
		return
	} else if m.others(p.Txn, f.Applied, f.Committed) {
		m.refusePrepare(p, overtaken())
		return
	}
	if f := m.closedHere(p.Txn); f != nil {
		m.refusePrepare(p, f)
		return
	}
	if p.Piece.Incarnation != m.inc {
		m.refusePrepare(p, failure(msg.ReasonIncarnation, kv.KindAborted, "the shard has restarted"))
		return
	}
	if m.memory.Complete(p.Txn.TxnID) {
		m.prepare(p)
		return
	}
	m.lookUp(p.Txn.TxnID, func(o *entry.Outcome, err error) {
		a := m.attempts[p.Txn]
		switch {
		case err == nil && appliedHere(p.Txn, o.Applied, o.Committed):
			m.refuseApplied(p)
		case a != nil && (a.prepared != nil || a.preparing != nil), m.closedHere(p.Txn) != nil:
		case err != nil:
			m.refusePrepare(p, failureOf(err))
		case m.others(p.Txn, o.Applied, o.Committed):
			m.refusePrepare(p, overtaken())
		default:
			m.prepare(p)
		}
	})
}

// appliedHere reports whether the shard has applied an attempt: it says so,
// or it was the last agent itself and has decided it.
func appliedHere(txn kv.TxnRef, applied, committed uint32) bool {
	return applied == txn.Attempt || committed == txn.Attempt
}

func (m *Machine) prepare(p *msg.Prepare) {
	if m.decidedHere(p.Txn, p.Last) {
		m.refusePrepareWith(p, rival(), msg.Receipt{})
		return
	}
	if !m.stillHeld(p.Txn, p.Piece.Incarnation, p.Piece.Grants) {
		m.refusePrepare(p, staleGrant())
		return
	}
	a := m.attemptOf(p.Txn, p.Gateway)
	a.preparing = &task{kind: taskPrepare, txn: p.Txn, gateway: p.Gateway, ops: p.Piece.Ops, seen: p.Piece.Seen, prepare: p, noWait: p.NoWait, admitted: len(p.Piece.Grants) > 0}
	m.begin(a.preparing)
}

// prepareNow executes under the locks and makes the promise.
func (m *Machine) prepareNow(t *task) {
	a, p := m.attempts[t.txn], t.prepare
	x := m.exec(t)
	if m.lacks(t, &x) {
		return
	}
	f := m.validated(t, x.Failure)
	if f == nil {
		f = m.rivals(t.txn)
	}
	if f != nil {
		m.voteNo(t, f)
		return
	}
	m.shrinkScans(t, x.Results)
	pr := &prepared{receipt: m.receipt(t), at: m.now, wait: int64(m.cfg.Repeat)}
	pr.row = entry.Prepared{Txn: t.txn, Gateway: t.gateway, User: p.User, Last: p.Last, LastIncarnation: p.LastIncarnation, LastAborts: p.LastAborts,
		Effects: x.Effects, Results: x.Results}
	for i := range pr.row.Effects {
		e := &pr.row.Effects[i]
		it := m.hold(t, e, pr)
		it.AddIntent(t.txn, e)
		pr.items = append(pr.items, it)
	}
	m.ran(t, x.Effects)
	m.logLocks(pr)
	for _, late := range a.reads {
		m.drop(late)
	}
	a.preparing, a.prepared, a.reads, a.replies = nil, pr, nil, nil
	m.pledged[t.txn.TxnID] = t.txn
	m.drop(t)
	m.locks.SetPrepared(m.now, t.txn)
	m.put(entry.TablePrepared, m.refKey(t.txn), &pr.row)
	m.queue.Prepared(m.now, t.txn, m.promised(&pr.row))
	m.vote(a, false)
	if m.cfg.Mutants.Has(mutant.ReadLocksReleasedAtVote) {
		m.locks.ReleaseReads(t.txn)
	}
}

// logLocks writes down what must be locked again after a restart: the read
// locks, and the write locks on ranges, which no intent shows.
func (m *Machine) logLocks(pr *prepared) {
	for _, g := range m.locks.HeldBy(pr.row.Txn) {
		if g.Mode == adt.ModeRead && m.cfg.Mutants.Has(mutant.ReadLocksLost) {
			continue
		}
		if m.cfg.Mutants.Has(mutant.CallLocksLost) && g.Mode != adt.ModeRead && adt.Covers(adt.ModeRead, g.Mode) {
			continue
		}
		pr.row.Locks = append(pr.row.Locks, entry.HeldLock{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode)})
	}
}

// vote tells the last agent; the vote is complete, so it can be repeated.
func (m *Machine) vote(a *attempt, repeated bool) {
	pr := a.prepared
	state, epoch := m.queue.State(a.txn)
	env, v := msg.VoteTo(pr.row.Last)
	*v = msg.Vote{Txn: a.txn, Gateway: a.gateway, User: pr.row.User, Shard: m.cfg.ID, LastIncarnation: pr.row.LastIncarnation, LastAborts: pr.row.LastAborts, Yes: true,
		Sealed: state == snapshotqueue.Sealed, Epoch: epoch, Results: pr.row.Results, Receipt: m.orHeld(pr.receipt, a.txn), Repeated: repeated, Incarnation: m.inc}
	m.send(env)
	if v.Sealed && epoch != pr.epoch {
		pr.epoch, pr.sealed = epoch, m.now
	}
	pr.nextVote = m.now + pr.wait
	m.timers.at(pr.nextVote)
}

// voteNo ends a task that cannot prepare.
func (m *Machine) voteNo(t *task, f *msg.Failure) {
	receipt := m.receipt(t)
	m.end(m.attempts[t.txn])
	m.drop(t)
	m.refusePrepareWith(t.prepare, f, receipt)
}

func (m *Machine) refusePrepare(p *msg.Prepare, f *msg.Failure) {
	if a := m.attempts[p.Txn]; a != nil {
		m.end(a)
	}
	m.refusePrepareWith(p, f, msg.Receipt{})
}

func (m *Machine) refusePrepareWith(p *msg.Prepare, f *msg.Failure, rc msg.Receipt) {
	m.ended.add(m.now, p.Txn, nil)
	env, v := msg.VoteTo(p.Last)
	*v = msg.Vote{Txn: p.Txn, Gateway: p.Gateway, User: p.User, Shard: m.cfg.ID, LastIncarnation: p.LastIncarnation, LastAborts: p.LastAborts,
		Failure: f, Receipt: rc, Incarnation: m.inc}
	m.send(env)
}

// onAskVote: the last agent misses our vote. Who does not know the
// transaction refuses it for good.
func (m *Machine) onAskVote(q *msg.AskVote) {
	a := m.attempts[q.Txn]
	if a != nil && (a.prepared != nil || a.preparing != nil) && !a.isForOther(q.Last) {
		if a.prepared != nil {
			m.vote(a, false)
		}
		return
	}
	p := &msg.Prepare{Txn: q.Txn, Gateway: q.Gateway, User: q.User, Last: q.Last, LastIncarnation: q.LastIncarnation, LastAborts: q.LastAborts}
	if a.isForOther(q.Last) {
		m.refusePrepareWith(p, rival(), msg.Receipt{})
		return
	}
	m.refusePrepare(p, failure(msg.ReasonRefused, kv.KindAborted, "a participant never heard of the transaction"))
}

// onDecide: turn intents into versions, or drop them, and release.
func (m *Machine) onDecide(d *msg.Decide) {
	a := m.attempts[d.Txn]
	switch {
	case a != nil && a.prepared != nil && !a.prepared.promisedTo(d):
		return // it is of another commit of the attempt, and late
	case a != nil && a.prepared != nil && d.Commit && !m.ready(a.prepared):
		a.prepared.decided = d
		return
	case a != nil && a.prepared != nil:
		m.settle(a, d.Commit)
	case a != nil && !d.Commit:
		m.end(a)
		m.ended.add(m.now, d.Txn, nil)
	case a == nil && !d.Commit:
		m.ended.add(m.now, d.Txn, nil)
	}
	if d.Commit {
		env, ack := msg.DecideAckTo(d.Last)
		*ack = msg.DecideAck{Txn: d.Txn, Shard: m.cfg.ID}
		m.send(env)
	}
}

// settle ends a promise. That a commit was applied is remembered in the log,
// so that a late Prepare cannot bring it back.
func (m *Machine) settle(a *attempt, commit bool) {
	pr := a.prepared
	if commit {
		m.index++
	}
	for i, it := range pr.items {
		it.RemoveIntents(a.txn)
		if commit {
			m.show(a.txn, it, &pr.row.Effects[i])
		}
		m.store.Unpin(it)
	}
	m.eased(pr.items)
	m.del(entry.TablePrepared, m.refKey(a.txn))
	if state, _ := m.queue.State(a.txn); commit && state == snapshotqueue.Sealed {
		m.decisions.note(m.now - pr.sealed)
	}
	if held, key := m.queue.HeldFor(m.now, a.txn); held > 0 && key != nil {
		m.waited(key, hotshard.Held, a.txn, held)
	}
	m.queue.Decided(m.now, a.txn)
	m.stats.VoteToDecide.add(m.now - pr.at)
	m.grace(m.now - pr.at)
	if commit {
		m.stats.Applied++
		m.noteApplied(pr)
	} else {
		m.ended.add(m.now, a.txn, nil)
	}
	a.prepared = nil
	if m.pledged[a.txn.TxnID] == a.txn {
		delete(m.pledged, a.txn.TxnID)
	}
	m.end(a)
}

// noteApplied remembers what was applied. Where the shard was the last agent
// too, the commit says it already.
func (m *Machine) noteApplied(pr *prepared) {
	if pr.row.Last == m.cfg.ID || m.cfg.Mutants.Has(mutant.AppliedForgotten) {
		return
	}
	m.outcome = entry.Outcome{Applied: pr.row.Txn.Attempt}
	m.finish(pr.row.Txn.TxnID, &m.outcome)
	m.overtake(pr.row.Txn)
}

// show makes an effect visible at the current index. The item is pinned.
func (m *Machine) show(txn kv.TxnRef, it *mvcc.Item, e *entry.Effect) {
	var version kv.Version
	if e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange {
		version = m.nextVersion(it.Value.Version)
	}
	before := it.Value
	old := it.Index
	v, err := m.store.Show(it, e, m.index, version)
	if err != nil {
		panic(err) // the add was checked against every outcome when it was executed
	}
	m.logVersion(it, &before, old, e, v)
	if before.Expires|v.Expires != 0 {
		m.settleDeadline(it.Key, before.Expires, v.Expires, e)
	}
	if m.cfg.Trace.Shown != nil {
		m.cfg.Trace.Shown(txn, e, v, m.index)
	}
	m.tell(it.Waiting)
	it.Waiting = nil
}

// recoverPrepared takes up a promise that the log holds. The readers that held
// it are forgotten, so that it does not seal before their leases have lapsed.
func (m *Machine) recoverPrepared(row entry.Prepared) {
	a := m.attemptOf(row.Txn, row.Gateway)
	pr := &prepared{row: row, recovered: true, at: m.now, wait: int64(m.cfg.Repeat)}
	a.prepared = pr
	m.pledged[row.Txn.TxnID] = row.Txn
	for _, l := range row.Locks {
		span := kv.Point(l.Start)
		if l.IsRange {
			span = kv.Range(l.Start, l.End)
		}
		m.locks.Force(row.Txn, lock.Need{Span: span, Mode: adt.Mode(l.Mode)})
	}
	for i := range pr.row.Effects {
		e := &pr.row.Effects[i]
		it := m.store.Pin(e.Key)
		it.AddIntent(row.Txn, e)
		pr.items = append(pr.items, it)
		m.await(it, pr)
	}
	m.queue.Recover(m.now, row.Txn, m.promised(&pr.row))
	m.vote(a, false)
}
