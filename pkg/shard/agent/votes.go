package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// standing is what this shard, as the last agent, can say to a participant that
// speaks of a transaction.
type standing uint8

const (
	// answered: it is decided, or can never be, and the participant was told.
	answered standing = iota
	// recorded: there is a record of it.
	recorded
	// unheard: nothing was heard of it so far.
	unheard
	// unsure: memory may have forgotten a commit that all participants have
	// acknowledged; the log has to be asked.
	unsure
)

// said is what a participant speaks of: a commit, by what it names.
type said struct {
	txn    kv.TxnRef
	commit kv.CommitID
	user   kv.Account
	named  kv.Known
	by     kv.ShardID
}

func saidBy(v *msg.Vote) said {
	return said{txn: v.Txn, commit: v.CommitID, user: v.User, named: v.Known(), by: v.Shard}
}

// standingOf judges what a participant says.
func (l *LastAgent) standingOf(x said) (*record.Record, standing) {
	rec := l.Records.Get(x.txn)
	switch {
	case l.isRival(rec, x.commit):
		l.refuseToDecide(x.user, x.commit)
		l.tellOne(x, rec.State == record.Committed && l.Mutants.Has(mutant.DecisionOfAnyCommit))
		return rec, answered
	case rec != nil && rec.State == record.Committed:
		l.tellOne(x, true)
		return rec, answered
	case x.named.Incarnation != l.Inc && !l.Mutants.Has(mutant.IncarnationIgnored):
		l.tellOne(x, false)
		return rec, answered
	case rec != nil:
		return rec, recorded
	case l.part.decidedElsewhere(x.txn, x.commit):
		l.refuseToDecide(x.user, x.commit)
		l.tellOne(x, false)
		return nil, answered
	case l.closedCommit(x) != nil || l.isOver(l.Outcomes.Finished(x.txn.TxnID)):
		l.tellOne(x, false)
		return nil, answered
	case l.Outcomes.Complete(x.txn.TxnID):
		return nil, unheard
	}
	return nil, unsure
}

// isOver reports whether a transaction has committed, here or, as this shard knows as a participant, by
// the decision of another one. Then no other commit of it is made here.
func (l *LastAgent) isOver(f record.Finished) bool {
	return f.Committed != 0 || f.Applied != 0 && !l.Mutants.Has(mutant.AttemptsApart)
}

// tellOne answers a participant.
func (l *LastAgent) tellOne(x said, commit bool) {
	l.tellAll(x.txn, x.commit, []kv.ShardID{x.by}, commit)
}

// standingInLog asks the log. If there is a commit the message is a late
// duplicate, and answered; again is called if something was heard meanwhile,
// and first if nothing ever was.
func (l *LastAgent) standingInLog(x said, again, first func()) {
	l.Outcomes.LookUp(x.txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil: // who needs the answer asks again
		case l.Records.Get(x.txn) != nil:
			again()
		case l.isOver(record.Finished{Committed: o.Committed, Applied: o.Applied}) || l.closedCommit(x) != nil:
			l.tellOne(x, false) // each participant of a commit has acknowledged it
		case l.part.decidedElsewhere(x.txn, x.commit):
			l.refuseToDecide(x.user, x.commit)
			l.tellOne(x, false)
		default:
			first()
		}
	})
}

// closedCommit tells why a commit that a participant speaks of cannot be decided any more.
func (l *LastAgent) closedCommit(x said) *msg.Failure {
	return l.Outcomes.ClosedCommit(x.txn, x.commit, x.user, x.named)
}

// onVote counts a vote, or answers it.
func (l *LastAgent) onVote(v *msg.Vote) {
	x := saidBy(v)
	rec, s := l.standingOf(x)
	switch s {
	case recorded:
		l.count(rec, v)
	case unheard:
		l.count(l.heardOf(x), v)
	case unsure:
		l.standingInLog(x, func() { l.onVote(v) }, func() { l.count(l.heardOf(x), v) })
	}
}

// heardOf makes the record of an attempt that has not been parked.
func (l *LastAgent) heardOf(x said) *record.Record {
	rec := l.Records.Add(l.Now, x.txn, x.commit, record.Heard)
	rec.User, rec.Known = x.user, x.named
	rec.NextAsk = l.Now + int64(l.cfg.Liveness)
	l.at(rec.NextAsk)
	return rec
}

// count takes a vote into its record.
func (l *LastAgent) count(rec *record.Record, v *msg.Vote) {
	rec.Vote(v)
	switch {
	case rec.Concludes(rec.VoteOf(v.Shard)) && !l.Mutants.Has(mutant.FailuresUnvalidated):
		l.tryDecide(rec)
	case !v.Yes:
		l.abort(rec, v.Failure)
	case rec.State == record.Heard && v.Repeated:
		if l.Mutants.Has(mutant.NoTombstone) {
			l.tellOne(saidBy(v), false)
			l.Records.Remove(rec)
			return
		}
		l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted, "a participant voted before the last agent received the commit request"))
	case rec.Dropped(v):
		// The shard may not have heard of it, and the reader for whom it asked
		// may be gone, so that it would not ask again.
		l.tellUnsealed(saidBy(v), v.Epoch)
	default:
		l.tryDecide(rec)
	}
}

// onDecideAck: a participant has applied a commit for good.
func (l *LastAgent) onDecideAck(d *msg.DecisionAck) {
	rec := l.Records.Get(d.Txn)
	switch {
	case rec == nil || rec.State != record.Committed:
		return
	case rec.CommitID != d.CommitID && !l.Mutants.Has(mutant.AckOfAnyCommit), !rec.Acknowledged(d.Shard):
		return
	}
	l.Delete(entry.TableRecord, l.RefKey(d.Txn))
	l.Records.Remove(rec)
}

// Recover takes up a commit that some participant may not know of.
func (l *LastAgent) Recover(row *entry.Record) {
	rec := l.Records.Add(l.Now, row.Txn, commitIDOf(row.CommitID, row.Gateway), record.Committed)
	rec.Missing = row.Participants
	rec.NextAsk = l.Now + int64(l.cfg.Repeat)
	l.at(rec.NextAsk)
	l.tellAll(rec.Txn, rec.CommitID, rec.Missing, true)
}

// repeatQuestions asks for missing votes and acknowledgements.
func (l *LastAgent) repeatQuestions() {
	for _, rec := range l.Records.All() {
		if l.Now < rec.NextAsk {
			l.at(rec.NextAsk)
			continue
		}
		if rec.State == record.Heard && (rec.No() != nil || len(rec.Silent()) == 0) {
			// A yes that somebody stands by would have been repeated.
			l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted, "the last agent did not receive the commit request"))
			continue
		}
		rec.NextAsk = l.Now + int64(l.cfg.Liveness)
		l.at(rec.NextAsk)
		switch rec.State {
		case record.Heard, record.Parked:
			if l.Mutants.Has(mutant.NoAskVote) {
				continue
			}
			for _, s := range rec.Silent() {
				m := msg.ToShard(s)
				m.Body = &msg.VoteRequest{Txn: rec.Txn, Last: l.ID, LastIncarnation: l.Inc, LastAborts: rec.Known.Aborts,
					CommitID: rec.CommitID, User: rec.User}
				l.Send(m)
			}
		case record.Committed:
			l.tellAll(rec.Txn, rec.CommitID, rec.Missing, true)
		}
	}
}
