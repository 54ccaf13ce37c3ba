package agent

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// onDecision applies a commit or an abort, and acknowledges a commit. A decision may arrive again
// after its attempt has ended, and an abort may reach a shard that has never prepared.
func (p *Participant) onDecision(d *msg.Decision) {
	a := p.Attempts.Get(d.Txn)
	isPrepared := a.IsPrepared()
	switch {
	case p.isOtherAttempt(a, d.CommitID):
		// The decision is about another commit of the attempt, of which nothing is left here.
	// A commit must be applied completely in one step, so it waits for all keys. An abort needs
	// none.
	case isPrepared && d.Commit && !p.canApply(a.Prepared):
		// After a restart: the keys are still being read. The acknowledgement follows the
		// application.
		a.Prepared.Decided = d
		return
	case isPrepared:
		p.finishPrepared(a, d.Commit)
	case !d.Commit:
		if a != nil {
			p.End(a)
		}
		p.Ended.AddCommit(p.Now, d.Txn, d.CommitID)
	}
	if d.Commit {
		p.acknowledge(d, nil)
	}
}

// acknowledge acknowledges a commit that was applied, now or before: then the acknowledgement was lost. found is the
// result of reading the log, nil if memory is to be asked first. A commit that was not applied, or of which that is
// unknown, is not acknowledged, so the last agent repeats the decision. With one replica no leader is deposed: what is
// not prepared here was applied.
func (p *Participant) acknowledge(d *msg.Decision, found *outcome.Found) {
	f := p.Outcomes.Finished(d.Txn.TxnID)
	if found != nil {
		f = found.Finished()
	}
	switch {
	case p.LeaseEnd == 0, p.hasApplied(d, f):
		m, ack := msg.DecisionAckTo(d.Last)
		*ack = msg.DecisionAck{Txn: d.Txn, CommitID: d.CommitID, Shard: p.ID}
		p.Send(m)
	case found == nil:
		p.Outcomes.LookUp(d.Txn.TxnID, d)
	}
}

// finishPrepared ends a prepared attempt: its intents become versions at the next CSN, or are
// dropped, and its locks are released. An applied commit is recorded in the log, so that a late
// prepare request is rejected.
func (p *Participant) finishPrepared(a *attempt.Attempt, commit bool) {
	pr := a.Prepared
	if commit {
		p.Store.Advance()
	}
	for i, it := range pr.Items {
		it.RemoveIntents(a.Txn)
		if commit {
			p.makeVisible(a.Txn, it, &pr.Row.Effects[i])
		}
		p.Store.Dereference(it)
	}
	// The items have fewer references: the bound on one key counts that.
	p.Exec.Limits.RecordEnd(pr.Items)
	p.Delete(entry.TablePrepared, p.RefKey(a.Txn))
	p.recordLatency(a, commit)
	// Readers that wait for the decision read now.
	p.Queue.Decided(p.Now, a.Txn)
	if commit {
		p.stats.Applied++
		p.recordApplied(pr)
	} else {
		p.Ended.AddCommit(p.Now, a.Txn, pr.Row.CommitID)
	}
	p.Attempts.ClearPrepared(a)
	p.End(a)
}

// recordLatency measures the time from the vote to the decision. The wound delay and the time after
// which readers request an unseal are derived from it.
func (p *Participant) recordLatency(a *attempt.Attempt, commit bool) {
	pr := a.Prepared
	state, _ := p.Queue.State(a.Txn)
	if commit && state == snapshotqueue.Sealed {
		p.latencies.sealedToDecision.add(p.Now - pr.SealedAt)
		if !p.cfg.FixedUnseal {
			p.Queue.SetUnsealAfter(p.latencies.unsealAfter())
		}
	}
	held, key := p.Queue.HeldTime(p.Now, a.Txn)
	if held > 0 && key != nil {
		p.Heat.RecordWait(key, hotshard.Held, a.Txn, held)
	}
	p.stats.VoteToDecision.Add(p.Now - pr.At)
	p.latencies.voteToDecision.add(p.Now - pr.At)
	p.Locks.SetWoundDelay(p.latencies.woundDelay())
}

// recordApplied records an applied commit. If this shard is also the last agent (--commit-order
// parallel), its commit has recorded the outcome.
func (p *Participant) recordApplied(pr *attempt.Prepared) {
	// Its outcome row would replace that of the commit.
	if pr.Row.Last == p.ID {
		return
	}
	p.row = entry.Outcome{Applied: pr.Row.Txn.Attempt, Fingerprint: pr.Row.Fingerprint}
	p.Outcomes.Finish(pr.Row.Txn.TxnID, &p.row)
	p.applied = append(p.applied, pr.Row.Txn)
}

// Recover restores a prepared attempt after a restart: its locks, its intents, and its place in the
// snapshot-queues. The readers of the last incarnation are not known, so it votes held, and seals
// only when their leases have ended.
func (p *Participant) Recover(row entry.Prepared) {
	row.CommitID = commitIDOf(row.CommitID, row.Gateway)
	a := p.Attempts.Touch(p.Now, row.Txn, row.CommitID.Gateway)
	pr := &attempt.Prepared{Row: row, Recovered: true, At: p.Now, Wait: int64(p.cfg.Repeat)}
	p.Attempts.SetPrepared(a, pr)
	for _, l := range row.Locks {
		span := kv.Point(l.Start)
		if l.IsRange {
			span = kv.Range(l.Start, l.End)
		}
		// The locks were compatible when they were granted; they are restored without a check.
		p.Locks.Restore(row.Txn, row.Begun, locktable.Need{Span: span, Mode: adt.Mode(l.Mode)})
	}
	for i := range pr.Row.Effects {
		e := &pr.Row.Effects[i]
		it := p.Store.Reference(e.Key)
		it.AddIntent(row.Txn, e)
		pr.Items = append(pr.Items, it)
		p.Store.Await(it, pr)
	}
	p.Queue.Recover(p.Now, row.Txn, p.queueNeeds(&pr.Row))
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
	a := p.Attempts.Get(q.Txn)
	if !a.IsPrepared() {
		return
	}
	p.stats.UnsealsRequested++
	row := &a.Prepared.Row
	p.sendUnseal(row.Last, &msg.Unseal{Txn: q.Txn, CommitID: row.CommitID, Shard: p.ID, User: row.User, Epoch: q.Epoch,
		LastIncarnation: row.LastIncarnation, LastAborts: row.LastAborts})
}

// onUnsealResponse returns an update to held, so that its readers continue. The snapshot-queue
// ignores a response for another than the current epoch.
func (p *Participant) onUnsealResponse(u *msg.UnsealResponse) {
	a := p.Attempts.Get(u.Txn)
	if !p.isOtherAttempt(a, u.CommitID) {
		p.Queue.Unsealed(p.Now, u.Txn, u.Epoch, u.HeldNanos)
	}
}
