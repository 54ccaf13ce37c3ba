package agent

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// onDecision applies a commit or an abort, and acknowledges a commit. A decision may arrive again
// after its attempt has ended, and an abort may reach a shard that has never prepared.
func (p *Participant) onDecision(d *msg.Decision) {
	a := p.attempts.byRef[d.Txn]
	isPrepared := a != nil && a.prepared != nil
	switch {
	case p.isOtherCommit(a, d.CommitID):
		// The decision is about another commit of the attempt, of which nothing is left here.
	// A commit must be applied completely in one step, so it waits for all keys. An abort needs
	// none.
	case isPrepared && d.Commit && !p.canApply(a.prepared):
		// After a restart: the keys are still being read. The acknowledgement follows the
		// application.
		a.prepared.decided = d
		return
	case isPrepared:
		p.finishPrepared(a, d.Commit)
	case !d.Commit:
		if a != nil {
			p.endAttempt(a)
		}
		p.ended.AddCommit(p.Now, d.Txn, d.CommitID)
	}
	if d.Commit {
		// A commit is acknowledged even if it is not known here: it was applied before, and the
		// acknowledgement was lost.
		m, ack := msg.DecisionAckTo(d.Last)
		*ack = msg.DecisionAck{Txn: d.Txn, CommitID: d.CommitID, Shard: p.ID}
		p.Send(m)
	}
}

// finishPrepared ends a prepared attempt: its intents become versions at the next CSN, or are
// dropped, and its locks are released. An applied commit is recorded in the log, so that a late
// prepare request is rejected.
func (p *Participant) finishPrepared(a *attempt, commit bool) {
	pr := a.prepared
	if commit {
		p.Store.Advance()
	}
	for i, it := range pr.items {
		it.RemoveIntents(a.txn)
		if commit {
			p.makeVisible(a.txn, it, &pr.row.Effects[i])
		}
		p.Store.Dereference(it)
	}
	// The items have fewer references: the bound on one key counts that.
	p.Exec.RecordEnd(pr.items)
	p.Delete(entry.TablePrepared, p.RefKey(a.txn))
	p.recordLatency(a, commit)
	// Readers that wait for the decision read now.
	p.Queue.Decided(p.Now, a.txn)
	if commit {
		p.stats.Applied++
		p.recordApplied(pr)
	} else {
		p.ended.AddCommit(p.Now, a.txn, pr.row.CommitID)
	}
	a.prepared = nil
	p.attempts.removePrepared(a.txn)
	p.endAttempt(a)
}

// recordLatency measures the time from the vote to the decision. The wound delay and the time after
// which readers request an unseal are derived from it.
func (p *Participant) recordLatency(a *attempt, commit bool) {
	pr := a.prepared
	state, _ := p.Queue.State(a.txn)
	if commit && state == snapshotqueue.Sealed {
		p.latencies.sealedToDecision.add(p.Now - pr.sealedAt)
		if !p.cfg.FixedUnseal {
			p.Queue.SetUnsealAfter(p.latencies.unsealAfter())
		}
	}
	held, key := p.Queue.HeldTime(p.Now, a.txn)
	if held > 0 && key != nil {
		p.Heat.RecordWait(key, hotshard.Held, a.txn, held)
	}
	p.stats.VoteToDecision.Add(p.Now - pr.preparedAt)
	p.latencies.voteToDecision.add(p.Now - pr.preparedAt)
	p.Locks.SetWoundDelay(p.latencies.woundDelay())
}

// recordApplied records an applied commit. If this shard is also the last agent (--commit-order
// parallel), its commit has recorded the outcome.
func (p *Participant) recordApplied(pr *prepared) {
	// Its outcome row would replace that of the commit.
	if pr.row.Last == p.ID || p.Mutants.Has(mutant.AppliedForgotten) {
		return
	}
	p.row = entry.Outcome{Applied: pr.row.Txn.Attempt, Fingerprint: pr.row.Fingerprint}
	p.Outcomes.Finish(pr.row.Txn.TxnID, &p.row)
	p.applied = append(p.applied, pr.row.Txn)
}

// Recover restores a prepared attempt after a restart: its locks, its intents, and its place in the
// snapshot-queues. The readers of the last incarnation are not known, so it votes held, and seals
// only when their leases have ended.
func (p *Participant) Recover(row entry.Prepared) {
	row.CommitID = commitIDOf(row.CommitID, row.Gateway)
	a := p.attempts.touch(p.Now, row.Txn, row.CommitID.Gateway)
	pr := &prepared{row: row, recovered: true, preparedAt: p.Now, wait: int64(p.cfg.Repeat)}
	a.prepared = pr
	p.attempts.prepared[row.Txn.TxnID] = row.Txn
	for _, l := range row.Locks {
		span := kv.Point(l.Start)
		if l.IsRange {
			span = kv.Range(l.Start, l.End)
		}
		// The locks were compatible when they were granted; they are restored without a check.
		p.Locks.Restore(row.Txn, row.Begun, locktable.Need{Span: span, Mode: adt.Mode(l.Mode)})
	}
	for i := range pr.row.Effects {
		e := &pr.row.Effects[i]
		it := p.Store.Reference(e.Key)
		it.AddIntent(row.Txn, e)
		pr.items = append(pr.items, it)
		p.Store.Await(it, pr)
	}
	p.Queue.Recover(p.Now, row.Txn, p.queueNeeds(&pr.row))
	p.sendVote(a, false)
}

// queueNeeds returns what a prepared update changes here, as readers see it. Its last agent may be
// this shard if all prepare in parallel; then it changes at least the CSN.
func (p *Participant) queueNeeds(row *entry.Prepared) []snapshotqueue.Need {
	if len(row.Effects) == 0 && row.Last == p.ID {
		return csnOnly
	}
	return p.Exec.Changes(row.Effects)
}

// RequestUnseal requests that the last agent of a sealed update drop its epoch, because readers have
// waited for the decision for too long.
func (p *Participant) RequestUnseal(q snapshotqueue.UnsealRequest) {
	a := p.attempts.byRef[q.Txn]
	if a == nil || a.prepared == nil {
		return
	}
	p.stats.UnsealsRequested++
	// A planted fault: a participant must not drop its epoch itself, since its vote may have been
	// counted.
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

// onUnsealResponse returns an update to held, so that its readers continue. The snapshot-queue
// ignores a response for another than the current epoch.
func (p *Participant) onUnsealResponse(u *msg.UnsealResponse) {
	a := p.attempts.byRef[u.Txn]
	if !p.isOtherCommit(a, u.CommitID) {
		p.Queue.Unsealed(p.Now, u.Txn, u.Epoch, u.HeldNanos)
	}
}
