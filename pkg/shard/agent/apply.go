package agent

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// onDecide: turn intents into versions, or drop them, and release.
func (p *Participant) onDecide(d *msg.Decision) {
	a := p.attempts.of[d.Txn]
	promise := a != nil && a.prepared != nil
	switch {
	case p.isForOther(a, d.CommitID):
		// It is about another commit of the attempt, of which nothing is left here.
	case promise && d.Commit && !p.ready(a.prepared):
		a.prepared.decided = d
		return
	case promise:
		p.settle(a, d.Commit)
	case !d.Commit:
		if a != nil {
			p.end(a)
		}
		p.ended.AddCommit(p.Now, d.Txn, d.CommitID)
	}
	if d.Commit {
		m, ack := msg.DecideAckTo(d.Last)
		*ack = msg.DecisionAck{Txn: d.Txn, CommitID: d.CommitID, Shard: p.ID}
		p.Send(m)
	}
}

// settle ends a promise. That a commit was applied is remembered in the log, so that a late Prepare
// cannot bring it back.
func (p *Participant) settle(a *attempt, commit bool) {
	pr := a.prepared
	if commit {
		p.Store.Advance()
	}
	for i, it := range pr.items {
		it.RemoveIntents(a.txn)
		if commit {
			p.show(a.txn, it, &pr.row.Effects[i])
		}
		p.Store.Unpin(it)
	}
	p.Exec.Eased(pr.items)
	p.Delete(entry.TablePrepared, p.RefKey(a.txn))
	p.measure(a, commit)
	p.Queue.Decided(p.Now, a.txn)
	if commit {
		p.stats.Applied++
		p.noteApplied(pr)
	} else {
		p.ended.AddCommit(p.Now, a.txn, pr.row.CommitID)
	}
	a.prepared = nil
	p.attempts.unpromise(a.txn)
	p.end(a)
}

// measure counts what the way from the vote to the decision took. The wound delay and the time after
// which readers have updates unsealed follow it.
func (p *Participant) measure(a *attempt, commit bool) {
	pr := a.prepared
	state, _ := p.Queue.State(a.txn)
	if commit && state == snapshotqueue.Sealed {
		p.pace.decisions.note(p.Now - pr.sealed)
		if !p.cfg.FixedUnseal {
			p.Queue.SetUnsealAfter(p.pace.unsealAfter())
		}
	}
	held, key := p.Queue.HeldFor(p.Now, a.txn)
	if held > 0 && key != nil {
		p.Heat.Waited(key, hotshard.Held, a.txn, held)
	}
	p.stats.VoteToDecide.Add(p.Now - pr.at)
	p.pace.promises.note(p.Now - pr.at)
	p.Locks.SetGrace(p.pace.woundDelay())
}

// noteApplied remembers what was applied. Where the shard was the last agent too, the commit says it
// already.
func (p *Participant) noteApplied(pr *prepared) {
	if pr.row.Last == p.ID || p.Mutants.Has(mutant.AppliedForgotten) {
		return
	}
	p.row = entry.Outcome{Applied: pr.row.Txn.Attempt, Fingerprint: pr.row.Fingerprint}
	p.Outcomes.Finish(pr.row.Txn.TxnID, &p.row)
	p.applied = append(p.applied, pr.row.Txn)
}

// show makes an effect visible at the current index. The item is pinned.
func (p *Parts) show(txn kv.TxnRef, it *mvcc.Item, e *entry.Effect) {
	before, after := p.Store.Show(it, e)
	if before.Expires|after.Expires != 0 {
		p.Expiry.Settle(it.Key, before.Expires, after.Expires, e)
	}
	if p.Trace.Shown != nil {
		p.Trace.Shown(txn, e, after, p.Store.Index())
	}
}

// Recover takes up a promise that the log holds. The readers that held it are forgotten, so that it
// does not seal before their leases have lapsed.
func (p *Participant) Recover(row entry.Prepared) {
	row.CommitID = commitIDOf(row.CommitID, row.Gateway)
	a := p.attempts.touch(p.Now, row.Txn, row.CommitID.Gateway)
	pr := &prepared{row: row, recovered: true, at: p.Now, wait: int64(p.cfg.Repeat)}
	a.prepared = pr
	p.attempts.promised[row.Txn.TxnID] = row.Txn
	for _, l := range row.Locks {
		span := kv.Point(l.Start)
		if l.IsRange {
			span = kv.Range(l.Start, l.End)
		}
		p.Locks.Force(row.Txn, row.Begun, locktable.Need{Span: span, Mode: adt.Mode(l.Mode)})
	}
	for i := range pr.row.Effects {
		e := &pr.row.Effects[i]
		it := p.Store.Pin(e.Key)
		it.AddIntent(row.Txn, e)
		pr.items = append(pr.items, it)
		p.Store.Await(it, pr)
	}
	p.Queue.Recover(p.Now, row.Txn, p.promised(&pr.row))
	p.vote(a, false)
}

// promised lists what a prepared update changes here, as readers see it. Its last agent is a
// participant too where all prepare in parallel.
func (p *Participant) promised(row *entry.Prepared) []snapshotqueue.Need {
	if len(row.Effects) == 0 && row.Last == p.ID {
		return onlyIndex
	}
	return p.Exec.Changes(row.Effects)
}

// onlyIndex is what a piece changes here that writes elsewhere alone: this shard's index, which is its
// causality token. A reader that fixes the index sees it, with everything else, or the state that
// it fixes would have the update and not the token.
var onlyIndex = []snapshotqueue.Need{{Span: kv.Point(nil), Mode: adt.ModeWrite}}

// AskUnseal asks an update's last agent to put its decision off, because readers have waited for it
// for long.
func (p *Participant) AskUnseal(q snapshotqueue.Ask) {
	a := p.attempts.of[q.Txn]
	if a == nil || a.prepared == nil {
		return
	}
	p.stats.UnsealsAsked++
	if p.Mutants.Has(mutant.UnsealsByItself) {
		p.Queue.Unsealed(p.Now, q.Txn, q.Epoch, 0)
		return
	}
	row := &a.prepared.row
	m := msg.ToShard(row.Last)
	m.Body = &msg.Unseal{Txn: q.Txn, CommitID: row.CommitID, Shard: p.ID, LastIncarnation: row.LastIncarnation,
		LastAborts: row.LastAborts, User: row.User, Epoch: q.Epoch}
	p.Urgent(m)
}

func (p *Participant) onUnsealed(u *msg.UnsealResponse) {
	a := p.attempts.of[u.Txn]
	if !p.isForOther(a, u.CommitID) {
		p.Queue.Unsealed(p.Now, u.Txn, u.Epoch, u.HeldNanos)
	}
}
