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
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// recordFor returns the record for which a participant's message counts. If this is the first message
// about the commit, it creates the record. It returns nil if the message was answered with the decision,
// or waits for the log.
func (l *LastAgent) recordFor(x *commitRef, waiter any) *record.Record {
	rec := l.Records.Get(x.txn)
	switch {
	case l.isOtherRecord(rec, x.commit):
	case rec != nil && rec.State == record.Committed:
		l.sendDecision(x, true)
		return nil
	// The message names an earlier incarnation. A commit of that one has a record or an outcome in
	// the log until this participant acknowledges it, so the commit did not happen.
	case l.isOfOtherIncarnation(x.known.Incarnation):
		l.sendDecision(x, false)
		return nil
	case rec != nil:
		return rec
	}
	return l.recordIf(l.mayCommit(x, nil), x, waiter)
}

// recordIf creates the record of a commit that may be made. Otherwise it sends the abort to the
// participant, or has the log read.
func (l *LastAgent) recordIf(v verdict, x *commitRef, waiter any) *record.Record {
	switch v.answer {
	case permitted:
		return l.addSeenRecord(x)
	case uncertain:
		l.Outcomes.LookUp(x.txn.TxnID, waiter)
		return nil
	// Only one commit of an attempt may be open. This one is aborted here for good, whatever becomes
	// of the other one.
	case competing:
		l.rejectCommit(x.user, x.commit)
	}
	l.sendDecision(x, l.isMade(x))
	return nil
}

// recordAfterLookup is recordFor once the log was read. If the log has a commit, the message is a late
// copy: its participant has acknowledged, since the record is gone.
func (l *LastAgent) recordAfterLookup(x *commitRef, waiter any, f *outcome.Found) *record.Record {
	switch {
	// The participant repeats its message.
	case f.Err != nil:
		return nil
	// Another message has created a record meanwhile.
	case l.Records.Get(x.txn) != nil:
		return l.recordFor(x, waiter)
	}
	return l.recordIf(l.mayCommit(x, f), x, waiter)
}

// onVote counts a vote, or answers it with the decision.
func (l *LastAgent) onVote(v *msg.Vote) {
	rec := l.recordFor(refOfVote(v), v)
	if rec != nil {
		l.countVote(rec, v)
	}
}

// addSeenRecord creates the record of a commit whose request has not arrived.
func (l *LastAgent) addSeenRecord(x *commitRef) *record.Record {
	rec := l.Records.Add(l.Now, x.txn, x.commit, record.Seen)
	rec.User, rec.Known = x.user, x.known
	l.scheduleRepeat(rec)
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
	case rec.NeedsValidation(rec.VoteOf(v.Shard)):
		l.OnStep(taskOf(rec), l.tryDecide(rec))
	case !v.Yes:
		l.abort(rec, v.Failure)
	case rec.State == record.Seen && v.Repeated:
		l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted,
			"a participant voted before the last agent received the commit request"))
	// The vote left before the participant received the unseal response.
	case rec.HasDroppedEpoch(v):
		// The response to the unseal request may have been lost. Its reader may be gone, and then
		// the participant does not request again; without this response it would stay sealed with an
		// epoch that never counts.
		l.sendUnsealResponse(refOfVote(v), v.Epoch)
	default:
		l.OnStep(taskOf(rec), l.tryDecide(rec))
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
	case l.isOtherAck(rec, d), !rec.Acknowledge(d.Shard):
		return
	}
	l.deleteRecord(rec)
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

// scheduleRepeat sets when a record's missing votes are requested, or its decision is repeated.
func (l *LastAgent) scheduleRepeat(rec *record.Record) {
	rec.NextRepeat = l.Now + int64(l.cfg.Liveness)
	l.schedule(rec.NextRepeat)
}

// maxSilent is after how many repeats in a row an undecided commit is aborted if its gateway has not repeated the
// request, which it does as often. Somewhat arbitrary: a node counts as down after 3 s. Repeats are counted and not
// seconds, since a shard that was stalled itself has received nothing.
const maxSilent = 5

// sendRepeats requests missing votes, repeats decisions that are not acknowledged, and aborts commits whose gateway is
// silent. Without the latter, a node that fails would lock keys of others until it is back:
//
//	gateway n3             s1 on n1, last agent     s2 on n3
//	├─ commit request ────▶│ waits for the vote      │
//	├─ prepare ───────────────────────────────────▶│ the node fails before it votes
//	                       │ gets no cancel request; prepared rows on other shards wait for it
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
		rec.Silent++
		if l.hasLostGateway(rec) {
			l.abort(rec, msg.Fail(msg.ReasonTombstone, kv.KindAborted, "the gateway did not repeat the commit request"))
			continue
		}
		l.scheduleRepeat(rec)
		switch rec.State {
		case record.Seen, record.Pending:
			for _, s := range l.votesToRequest(rec) {
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
