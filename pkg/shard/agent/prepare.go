package agent

// # The states of an attempt on a participant
//
//	from        event                              to
//	(none)      Lock                               holds locks; it may be pushed, and its locks broken
//	holds       Release, Check, unanswered push    (none), remembered in ended
//	any         Prepare                            preparing: waits for keys and locks, may be wounded
//	preparing   keys and locks are there           prepared: logged, votes yes, held or sealed
//	preparing   failure, lost grant, wound         (none), votes no
//	prepared    no decision in time                prepared, votes again
//	prepared    Decision                           (none), the commit is applied or dropped
//
// A participant that has voted yes cannot end the attempt by itself: the last agent may have decided
// to commit at any time since the vote left.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// onPrepare locks, validates grants and conditions, executes, writes intents and votes; it rejects a late
// copy (mayPrepare).
func (p *Participant) onPrepare(q *msg.Prepare) {
	if p.handleRepeatedPrepare(q) {
		return
	}
	p.answerPrepare(q, p.mayPrepare(q, nil))
}

// answerPrepare begins or rejects a prepare request, or has the log read for it.
func (p *Participant) answerPrepare(q *msg.Prepare, v verdict) {
	switch v.answer {
	case permitted:
		p.beginPrepare(q)
	case uncertain:
		p.Outcomes.LookUp(q.Txn.TxnID, q)
	// This shard decides another commit of the attempt, which may hold locks here: they stay.
	case competing:
		p.sendNoVote(q, v.failure, msg.Receipt{})
	default:
		p.rejectPrepare(q, v.failure)
	}
}

// handleRepeatedPrepare handles a prepare request whose attempt is known here. It reports false if
// the attempt is unknown, or holds locks only, as that of an interactive transaction.
func (p *Participant) handleRepeatedPrepare(q *msg.Prepare) bool {
	a := p.Attempts.Get(q.Txn)
	switch {
	case a == nil:
		return false
	case p.isOtherAttempt(a, q.CommitID):
		p.sendNoVote(q, concurrentCommitFailure(), msg.Receipt{})
	case a.Prepared != nil:
		p.sendVote(a, false)
	case a.Preparing != nil:
		t := a.Preparing
		// The transaction was wounded after the first copy: a task that waits for a lock aborts.
		if q.NoWait {
			p.OnStep(t, p.Exec.Wound(t))
		}
		p.ReportWait(t, p.Exec.Receipt(t))
	default:
		return false
	}
	return true
}

// onPrepareOutcome continues a prepare request for which the log was read. A copy of the request, or a
// decision, may have arrived meanwhile.
func (p *Participant) onPrepareOutcome(q *msg.Prepare, f *outcome.Found) {
	a := p.Attempts.Get(q.Txn)
	switch {
	// Another copy of the request was quicker.
	case a != nil && (a.Prepared != nil || a.Preparing != nil):
	// The last agent has aborted the commit meanwhile, or a query the id, so no vote is needed.
	case p.AttemptFailure(q.Txn, p.Ended.HasCommit(q.Txn, q.CommitID)) != nil:
	case f.Err != nil:
		p.rejectPrepare(q, msg.FailureOf(f.Err))
	default:
		p.answerPrepare(q, p.mayPrepare(q, f))
	}
}

// beginPrepare starts the piece: it waits for its keys and locks, then executePrepare runs. The request
// is rejected if a grant of the transaction was broken: if another transaction wrote in between, what was
// read is not current.
func (p *Participant) beginPrepare(q *msg.Prepare) {
	if !p.HoldsGrants(q.Txn, q.Piece.Incarnation, q.Piece.Grants()) {
		p.rejectPrepare(q, staleGrantFailure())
		return
	}
	// A piece with grants was admitted when it acquired them; rejecting it at a bound would waste
	// its locks.
	a := p.Attempts.Touch(p.Now, q.Txn, q.CommitID.Gateway)
	a.Preparing = &exec.Task{Kind: exec.Prepare, Txn: q.Txn, Gateway: q.CommitID.Gateway, User: q.User, Ops: q.Piece.Ops,
		Seen: q.Piece.Seen(), Request: locktable.Request{Begun: q.Begun}, Owner: q, NoWait: q.NoWait,
		Admitted: len(q.Piece.Grants()) > 0, Spans: true}
	p.OnStep(a.Preparing, p.Exec.Begin(a.Preparing))
}

// executePrepare runs the piece under its locks. In one step it writes the intents and the prepared
// row with all locks, and votes. The vote leaves when the row is durable.
func (p *Participant) executePrepare(t *exec.Task) exec.Step {
	a, q := p.Attempts.Get(t.Txn), t.Owner.(*msg.Prepare)
	x, step := p.Exec.Run(t)
	if step != exec.Ready {
		return step
	}
	// The first `again` results belong to reads that were executed for validation only; the vote
	// must not contain them.
	again, f := p.validate(t, &x, failureOf(&x, 0, q.MaxResponseBytes))
	if f == nil {
		f = p.otherPreparedFailure(t.Txn)
	}
	if f != nil {
		p.rejectPrepareTask(t, f)
		return exec.Waiting
	}
	// From here on the attempt is prepared, and nothing may fail. A scan that stopped at its limit
	// releases the rest of its range.
	p.Exec.ShrinkScans(t, x.Results)
	x.Results = x.Results[again:]
	pr := &attempt.Prepared{Receipt: p.Exec.Receipt(t), At: p.Now, Wait: int64(p.cfg.Repeat)}
	pr.Row = entry.Prepared{Txn: t.Txn, CommitID: q.CommitID, Fingerprint: q.Fingerprint, User: q.User,
		Last: q.Last, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts, Begun: q.Begun, Effects: x.Effects, Results: x.Results}
	for i := range pr.Row.Effects {
		e := &pr.Row.Effects[i]
		it := p.Exec.EffectItem(t, e, pr)
		it.AddIntent(t.Txn, e)
		pr.Items = append(pr.Items, it)
	}
	// Heat counts the lock as held until a typical decision.
	p.Exec.RecordUse(t, x.Effects, p.latencies.lockHoldNanos())
	p.logLocks(pr)
	// A lock request that still waits is a late copy: the gateway commits only after all responses.
	// Its task is dropped, or it would acquire a lock beside the prepared row.
	for _, late := range a.LockTasks {
		p.Exec.Drop(late)
	}
	p.Attempts.SetPrepared(a, pr)
	p.Exec.Drop(t)
	p.lockUntilDecision(t.Txn)
	p.Put(entry.TablePrepared, p.RefKey(t.Txn), &pr.Row)
	p.Queue.Prepared(p.Now, t.Txn, p.queueNeeds(&pr.Row))
	p.sendVote(a, false)
	return exec.Waiting
}

// logLocks adds all locks of the attempt to the prepared row. After a restart they are acquired
// again: an intent shows only the write lock on its key, neither a read lock nor a lock on a range.
// If a read lock were lost, another transaction could change the key between the vote and F(T).
func (p *Participant) logLocks(pr *attempt.Prepared) {
	for _, g := range p.locksToLog(pr.Row.Txn) {
		pr.Row.Locks = append(pr.Row.Locks, entry.HeldLock{Start: g.Span.Start, End: g.Span.End,
			IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode)})
	}
}

// sendVote sends the vote to the last agent. Every vote is complete, with results and epoch, so it
// can replace any earlier one that was lost. repeated reports to the last agent that there was no
// decision in time: without a commit request it then aborts.
func (p *Participant) sendVote(a *attempt.Attempt, repeated bool) {
	pr := a.Prepared
	state, epoch := p.Queue.State(a.Txn)
	m, v := msg.VoteTo(pr.Row.Last)
	*v = msg.Vote{Txn: a.Txn, CommitID: pr.Row.CommitID, User: pr.Row.User, Shard: p.ID,
		LastIncarnation: pr.Row.LastIncarnation, LastAborts: pr.Row.LastAborts, Yes: true,
		Sealed: state == snapshotqueue.Sealed, Epoch: epoch, Results: pr.Row.Results,
		Receipt: p.WorstReceipt(pr.Receipt, a.Txn), Repeated: repeated, Incarnation: p.Inc}
	p.Send(m)
	// A new epoch: latency is measured from the first vote with it.
	if v.Sealed && epoch != pr.Epoch {
		pr.Epoch, pr.SealedAt = epoch, p.Now
	}
	pr.NextVote = p.Now + pr.Wait
	p.schedule(pr.NextVote)
}

// OnSealed votes for an update that has become sealed: the last conflicting reader has deregistered.
func (p *Participant) OnSealed(txn kv.TxnRef) {
	a := p.Attempts.Get(txn)
	if a.IsPrepared() {
		p.sendVote(a, false)
	}
}

// rejectPrepareTask ends a piece that cannot prepare, and votes no.
func (p *Participant) rejectPrepareTask(t *exec.Task, f *msg.Failure) {
	receipt := p.Exec.Receipt(t)
	p.End(p.Attempts.Get(t.Txn))
	p.Exec.Drop(t)
	p.sendNoVote(t.Owner.(*msg.Prepare), f, receipt)
}

// rejectPrepare votes no for a request that has no task, and releases the locks of its attempt.
func (p *Participant) rejectPrepare(q *msg.Prepare, f *msg.Failure) {
	a := p.Attempts.Get(q.Txn)
	if a != nil {
		p.End(a)
	}
	p.sendNoVote(q, f, msg.Receipt{})
}

// sendNoVote votes no. The commit is remembered as ended, so that a late copy of its prepare request
// does not prepare again and hold locks until the last agent has answered.
func (p *Participant) sendNoVote(q *msg.Prepare, f *msg.Failure, rc msg.Receipt) {
	p.Ended.AddCommit(p.Now, q.Txn, q.CommitID)
	m, v := msg.VoteTo(q.Last)
	*v = msg.Vote{Txn: q.Txn, CommitID: q.CommitID, User: q.User, Shard: p.ID, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts, Failure: f, Receipt: rc, Incarnation: p.Inc}
	p.Send(m)
}

// onVoteRequest handles a query of the last agent, which has no vote from this shard. A prepared
// attempt votes again; one that is preparing votes when it has executed. An unknown attempt is
// rejected from now on: a crash may have lost its prepare request, or the request is still in flight
// and must not prepare after this vote.
func (p *Participant) onVoteRequest(q *msg.VoteRequest) {
	a := p.Attempts.Get(q.Txn)
	other := p.isOtherAttempt(a, q.CommitID)
	if a != nil && (a.Prepared != nil || a.Preparing != nil) && !other {
		if a.Prepared != nil {
			p.sendVote(a, false)
		}
		return
	}
	// The vote needs the addressing fields of a prepare request only.
	x := &msg.Prepare{Txn: q.Txn, CommitID: q.CommitID, User: q.User, Last: q.Last, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts}
	if other {
		p.sendNoVote(x, concurrentCommitFailure(), msg.Receipt{})
		return
	}
	p.rejectPrepare(x, msg.Fail(msg.ReasonRefused, kv.KindAborted, "a participant does not know the transaction"))
}

// repeatVotes repeats the votes that are due, with exponential backoff up to Config.Liveness.
func (p *Participant) repeatVotes() {
	for _, a := range p.Attempts.Sorted() {
		pr := a.Prepared
		switch {
		case pr == nil:
		case p.Now >= pr.NextVote:
			pr.Wait = min(2*pr.Wait, int64(p.cfg.Liveness))
			p.sendVote(a, true)
		default:
			p.schedule(pr.NextVote)
		}
	}
}

// rejectSuperseded votes no for the other attempts of a committed transaction that are preparing.
func (p *Participant) rejectSuperseded(txn kv.TxnRef) {
	for _, a := range p.Attempts.Others(txn) {
		if a.Preparing != nil {
			p.rejectPrepareTask(a.Preparing, supersededFailure(0, 0))
		}
	}
}
