package agent

// # Messages of participants
//
// A participant sends votes and unseal requests, in any order, before or after the commit request,
// and again after any time. Each is first classified:
//
//	record of the same commit, undecided     it is counted
//	record of another commit                 abort: one commit of an id at a time
//	committed                                the decision
//	names an earlier incarnation             abort: that one's commits all have records
//	aborted, fenced, applied, too old        abort
//	nothing is known, memory is complete     a record in state Seen
//	nothing is known, memory is incomplete   the log decides between the last two
//
// An abort that answers a late copy does no harm: the participant has ended that commit and ignores
// it.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// knowledge is what the last agent knows about the commit that a participant's message names.
type knowledge uint8

const (
	// decisionSent: it is decided, or can never commit, and the participant was sent the decision.
	decisionSent knowledge = iota
	// hasRecord: its record is undecided.
	hasRecord
	// unknownCommit: no message about it has arrived before.
	unknownCommit
	// needsLookup: memory may have forgotten the commit, after all participants acknowledged it.
	// Only the log knows.
	needsLookup
)

// commitRef is the commit that a participant's message names, and the participant.
type commitRef struct {
	txn    kv.TxnRef
	commit kv.CommitID
	user   kv.Account
	known  kv.KnownState
	shard  kv.ShardID
}

func commitRefOf(v *msg.Vote) commitRef {
	return commitRef{txn: v.Txn, commit: v.CommitID, user: v.User, known: v.Known(), shard: v.Shard}
}

// classify determines what is known about the commit of a participant's message. If it is decided,
// or this shard must not decide it, the decision is sent in this step.
func (l *LastAgent) classify(x commitRef) (*record.Record, knowledge) {
	rec := l.Records.Get(x.txn)
	switch {
	// Only one commit of an attempt may be open. The other one is aborted here for good, whatever
	// becomes of the recorded one.
	case l.isOtherCommit(rec, x.commit):
		l.rejectCommit(x.user, x.commit)
		l.sendDecision(x, rec.State == record.Committed && l.Mutants.Has(mutant.DecisionOfAnyCommit))
		return rec, decisionSent
	case rec != nil && rec.State == record.Committed:
		l.sendDecision(x, true)
		return rec, decisionSent
	// The message names an earlier incarnation. A commit of that one has a record or an outcome in
	// the log until this participant acknowledges it, so the commit did not happen.
	case x.known.Incarnation != l.Inc && !l.Mutants.Has(mutant.IncarnationIgnored):
		l.sendDecision(x, false)
		return rec, decisionSent
	case rec != nil:
		return rec, hasRecord
	// This shard is a participant of another commit of the attempt, with another last agent. If it
	// decided this one, both could commit.
	case l.part.participatesInOther(x.txn, x.commit):
		l.rejectCommit(x.user, x.commit)
		l.sendDecision(x, false)
		return nil, decisionSent
	case l.commitFailure(x) != nil || l.hasFinished(l.Outcomes.Finished(x.txn.TxnID)):
		l.sendDecision(x, false)
		return nil, decisionSent
	case l.Outcomes.IsComplete(x.txn.TxnID):
		return nil, unknownCommit
	}
	return nil, needsLookup
}

// hasFinished reports whether a commit of the id was made, here or, as this shard knows as a
// participant, on another last agent. No other commit of the id may be made here.
func (l *LastAgent) hasFinished(f record.Finished) bool {
	return f.Committed != 0 || f.Applied != 0 && !l.Mutants.Has(mutant.AttemptsIndependent)
}

// sendDecision sends the decision to the participant that sent the message.
func (l *LastAgent) sendDecision(x commitRef, commit bool) {
	l.sendDecisions(x.txn, x.commit, []kv.ShardID{x.shard}, commit)
}

// classifyAfterLookup reads the log. It calls again if a record was created meanwhile, and first if
// the commit is unknown. If the log has a commit, the message is a late copy: its participant has
// acknowledged, since the record is gone.
func (l *LastAgent) classifyAfterLookup(x commitRef, again, first func()) {
	l.Outcomes.LookUp(x.txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		// The participant repeats its message.
		case err != nil:
		case l.Records.Get(x.txn) != nil:
			again()
		case l.hasFinished(record.Finished{Committed: o.Committed, Applied: o.Applied}) || l.commitFailure(x) != nil:
			l.sendDecision(x, false)
		case l.part.participatesInOther(x.txn, x.commit):
			l.rejectCommit(x.user, x.commit)
			l.sendDecision(x, false)
		default:
			first()
		}
	})
}

// commitFailure returns why a commit cannot be made here any more, nil if it can.
func (l *LastAgent) commitFailure(x commitRef) *msg.Failure {
	return l.Outcomes.CommitFailure(x.txn, x.commit, x.user, x.known)
}

// onVote counts a vote, or answers it with the decision.
func (l *LastAgent) onVote(v *msg.Vote) {
	x := commitRefOf(v)
	rec, s := l.classify(x)
	switch s {
	case hasRecord:
		l.countVote(rec, v)
	case unknownCommit:
		l.countVote(l.addSeenRecord(x), v)
	case needsLookup:
		l.classifyAfterLookup(x, func() { l.onVote(v) }, func() { l.countVote(l.addSeenRecord(x), v) })
	}
}

// addSeenRecord creates the record of a commit whose request has not arrived.
func (l *LastAgent) addSeenRecord(x commitRef) *record.Record {
	rec := l.Records.Add(l.Now, x.txn, x.commit, record.Seen)
	rec.User, rec.Known = x.user, x.known
	rec.NextRepeat = l.Now + int64(l.cfg.Liveness)
	l.schedule(rec.NextRepeat)
	return rec
}

// countVote adds a vote to its record and acts on it:
//   - A failure that may result from earlier reads is validated first.
//   - Any other no aborts.
//   - A repeated yes without a commit request is a query. The gateway has probably failed, so the
//     record is aborted; the abort rejects the request if it arrives later.
//   - A sealed yes with a dropped epoch does not count.
//   - Any other yes may be the last one.
func (l *LastAgent) countVote(rec *record.Record, v *msg.Vote) {
	rec.AddVote(v)
	switch {
	case rec.NeedsValidation(rec.VoteOf(v.Shard)) && !l.Mutants.Has(mutant.FailuresUnvalidated):
		l.tryDecide(rec)
	case !v.Yes:
		l.abort(rec, v.Failure)
	case rec.State == record.Seen && v.Repeated:
		if l.Mutants.Has(mutant.NoAbortTombstone) {
			l.sendDecision(commitRefOf(v), false)
			l.Records.Remove(rec)
			return
		}
		l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted,
			"a participant voted before the last agent received the commit request"))
	// The vote left before the participant received the unseal response.
	case rec.HasDroppedEpoch(v):
		// The response to the unseal request may have been lost. Its reader may be gone, and then
		// the participant does not request again; without this response it would stay sealed with an
		// epoch that never counts.
		l.sendUnsealResponse(commitRefOf(v), v.Epoch)
	default:
		l.tryDecide(rec)
	}
}

// onDecisionAck handles the acknowledgement of a participant that has durably applied a commit.
// After the last one the record is deleted.
func (l *LastAgent) onDecisionAck(d *msg.DecisionAck) {
	rec := l.Records.Get(d.Txn)
	switch {
	case rec == nil || rec.State != record.Committed:
		return
	// History: commit 1 of the attempt is decided here and its decision is lost; the participant has
	// applied commit 2 of another gateway, or rejected it, and acknowledges that. The record must
	// stay until commit 1 is acknowledged.
	case rec.CommitID != d.CommitID && !l.Mutants.Has(mutant.AckOfAnyCommit), !rec.Acknowledge(d.Shard):
		return
	}
	l.Delete(entry.TableRecord, l.RefKey(d.Txn))
	l.Records.Remove(rec)
}

// Recover restores a committed record after a restart. Some participant may not know the decision,
// so it is sent to all that had not acknowledged.
func (l *LastAgent) Recover(row *entry.Record) {
	rec := l.Records.Add(l.Now, row.Txn, commitIDOf(row.CommitID, row.Gateway), record.Committed)
	rec.Unacknowledged = row.Participants
	rec.NextRepeat = l.Now + int64(l.cfg.Repeat)
	l.schedule(rec.NextRepeat)
	l.sendDecisions(rec.Txn, rec.CommitID, rec.Unacknowledged, true)
}

// sendRepeats requests missing votes and repeats decisions that are not acknowledged.
func (l *LastAgent) sendRepeats() {
	for _, rec := range l.Records.All() {
		if l.Now < rec.NextRepeat {
			l.schedule(rec.NextRepeat)
			continue
		}
		// No commit request arrived in time. A participant that is still prepared would have
		// repeated its vote, and countVote would have aborted the record.
		if rec.State == record.Seen && (rec.FailedVote() != nil || len(rec.MissingVotes()) == 0) {
			l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted, "the last agent did not receive the commit request"))
			continue
		}
		rec.NextRepeat = l.Now + int64(l.cfg.Liveness)
		l.schedule(rec.NextRepeat)
		switch rec.State {
		case record.Seen, record.Pending:
			if l.Mutants.Has(mutant.NoVoteRequest) {
				continue
			}
			for _, s := range rec.MissingVotes() {
				m := msg.ToShard(s)
				m.Body = &msg.VoteRequest{Txn: rec.Txn, Last: l.ID, LastIncarnation: l.Inc, LastAborts: rec.Known.Aborts,
					CommitID: rec.CommitID, User: rec.User}
				l.Send(m)
			}
		// The decision or its acknowledgement was lost.
		case record.Committed:
			l.sendDecisions(rec.Txn, rec.CommitID, rec.Unacknowledged, true)
		}
	}
}
