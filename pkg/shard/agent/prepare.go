package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// prepared is a participant's promise, as it is in the log.
type prepared struct {
	row entry.Prepared
	// items are those of row.Effects, pinned.
	items []*mvcc.Item
	// decided is a commit that waits for items, or pages of them, which, after a restart, are still
	// being read. recovered: it is not known yet whether pages are needed.
	decided   *msg.Decision
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

// onPrepare: lock, check, execute, write intents, vote.
func (p *Participant) onPrepare(q *msg.Prepare) {
	if p.preparedAgain(q) {
		return
	}
	f := p.Outcomes.Finished(q.Txn.TxnID)
	if p.hasCommitted(q.Txn, f.Applied, f.Committed) {
		p.refusePrepare(q, overtaken(f.Fingerprint, q.Fingerprint))
		return
	}
	closed := p.closedHere(q.Txn, p.ended.HasCommit(q.Txn, q.CommitID))
	if closed == nil {
		closed, _ = p.Outcomes.Dead(q.CommitID)
	}
	switch {
	case closed != nil:
		p.refusePrepare(q, closed)
	case q.Piece.Incarnation != p.Inc:
		p.refusePrepare(q, msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the shard has restarted"))
	case p.Outcomes.Complete(q.Txn.TxnID):
		p.prepare(q)
	default:
		p.prepareAfterLookUp(q)
	}
}

// preparedAgain answers a Prepare of an attempt that is here already.
func (p *Participant) preparedAgain(q *msg.Prepare) bool {
	a := p.attempts.of[q.Txn]
	switch {
	case a == nil:
		return false
	case p.isForOther(a, q.CommitID):
		p.refusePrepareWith(q, rival(), msg.Receipt{})
	case a.prepared != nil:
		p.vote(a, false)
	case a.preparing != nil:
		t := a.preparing
		if q.NoWait {
			p.Went(t, p.Exec.Wound(t))
		}
		p.reportWait(t)
	default:
		return false
	}
	return true
}

// prepareAfterLookUp: only the log knows whether an attempt of the transaction was applied here.
func (p *Participant) prepareAfterLookUp(q *msg.Prepare) {
	p.Outcomes.LookUp(q.Txn.TxnID, func(o *entry.Outcome, err error) {
		a := p.attempts.of[q.Txn]
		switch {
		case a != nil && (a.prepared != nil || a.preparing != nil):
		case p.closedHere(q.Txn, p.ended.HasCommit(q.Txn, q.CommitID)) != nil:
		case err != nil:
			p.refusePrepare(q, msg.FailureOf(err))
		case p.hasCommitted(q.Txn, o.Applied, o.Committed):
			p.refusePrepare(q, overtaken(o.Fingerprint, q.Fingerprint))
		default:
			p.prepare(q)
		}
	})
}

func (p *Participant) prepare(q *msg.Prepare) {
	if p.decidedHere(q.Txn, q.CommitID) {
		p.refusePrepareWith(q, rival(), msg.Receipt{})
		return
	}
	if !p.stillHeld(q.Txn, q.Piece.Incarnation, q.Piece.Grants()) {
		p.refusePrepare(q, staleGrant())
		return
	}
	a := p.attempts.touch(p.Now, q.Txn, q.CommitID.Gateway)
	a.preparing = &exec.Task{Kind: exec.Prepare, Txn: q.Txn, Gateway: q.CommitID.Gateway, User: q.User, Ops: q.Piece.Ops,
		Seen: q.Piece.Seen(), Request: locktable.Request{Begun: q.Begun}, Owner: q, NoWait: q.NoWait,
		Admitted: len(q.Piece.Grants()) > 0, Spans: true}
	p.begin(a.preparing)
}

// prepareNow executes under the locks and makes the promise.
func (p *Participant) prepareNow(t *exec.Task) {
	a, q := p.attempts.of[t.Txn], t.Owner.(*msg.Prepare)
	x, step := p.Exec.Run(t)
	if step != exec.Ready {
		p.Went(t, step)
		return
	}
	again, f := p.validated(t, &x, failureOf(&x, 0, q.MaxResponseBytes))
	if f == nil {
		f = p.rivals(t.Txn)
	}
	if f != nil {
		p.voteNo(t, f)
		return
	}
	p.Exec.ShrinkScans(t, x.Results)
	x.Results = x.Results[again:]
	pr := &prepared{receipt: p.Exec.Receipt(t), at: p.Now, wait: int64(p.cfg.Repeat)}
	pr.row = entry.Prepared{Txn: t.Txn, CommitID: q.CommitID, Fingerprint: q.Fingerprint, User: q.User, Last: q.Last, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts, Begun: q.Begun, Effects: x.Effects, Results: x.Results}
	for i := range pr.row.Effects {
		e := &pr.row.Effects[i]
		it := p.Exec.Item(t, e, pr)
		it.AddIntent(t.Txn, e)
		pr.items = append(pr.items, it)
	}
	p.Exec.Used(t, x.Effects, p.pace.hold())
	p.logLocks(pr)
	for _, late := range a.reads {
		p.Exec.Drop(late)
	}
	a.preparing, a.prepared, a.reads, a.replies = nil, pr, nil, nil
	p.attempts.promised[t.Txn.TxnID] = t.Txn
	p.Exec.Drop(t)
	p.Locks.SetPrepared(p.Now, t.Txn)
	p.Put(entry.TablePrepared, p.RefKey(t.Txn), &pr.row)
	p.Queue.Prepared(p.Now, t.Txn, p.promised(&pr.row))
	p.vote(a, false)
	if p.Mutants.Has(mutant.ReadLocksReleasedAtVote) {
		p.Locks.ReleaseReads(t.Txn)
	}
}

// failureOf is why a piece that has been executed fails; nil if it does not. Nothing is applied if the
// client would not receive the response, with the results of the votes.
func failureOf(x *mvcc.Execution, votedBytes int, maxResponse uint32) *msg.Failure {
	if x.Failure != nil || maxResponse == 0 {
		return x.Failure
	}
	return msg.ResponseTooLarge(votedBytes+msg.ResponseBytes(x.Results), maxResponse)
}

// validated is what becomes of a piece that is executed with failure f, nil for none: a stale read
// goes before f, which the client may have caused by what it read. again is how many of the results
// are of reads that were executed again, and for nothing else.
func (p *Parts) validated(t *exec.Task, x *mvcc.Execution, f *msg.Failure) (again int, _ *msg.Failure) {
	if f != nil && p.Mutants.Has(mutant.FailuresUnvalidated) {
		return 0, f
	}
	again, stale := p.Exec.SeenHolds(t, x.Results)
	if stale != nil {
		return again, stale
	}
	return again, f
}

// logLocks writes down what must be locked again after a restart: the read locks, and the write locks
// on ranges, which no intent shows.
func (p *Participant) logLocks(pr *prepared) {
	for _, g := range p.Locks.HeldBy(pr.row.Txn) {
		if g.Mode == adt.ModeRead && p.Mutants.Has(mutant.ReadLocksLost) {
			continue
		}
		if p.Mutants.Has(mutant.CallLocksLost) && g.Mode != adt.ModeRead && adt.Covers(adt.ModeRead, g.Mode) {
			continue
		}
		pr.row.Locks = append(pr.row.Locks, entry.HeldLock{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode)})
	}
}

// vote sends the vote to the last agent; it is complete, so that it can be repeated.
func (p *Participant) vote(a *attempt, repeated bool) {
	pr := a.prepared
	state, epoch := p.Queue.State(a.txn)
	m, v := msg.VoteTo(pr.row.Last)
	*v = msg.Vote{Txn: a.txn, CommitID: pr.row.CommitID, User: pr.row.User, Shard: p.ID, LastIncarnation: pr.row.LastIncarnation,
		LastAborts: pr.row.LastAborts, Yes: true, Sealed: state == snapshotqueue.Sealed, Epoch: epoch, Results: pr.row.Results,
		Receipt: p.OrHeld(pr.receipt, a.txn), Repeated: repeated, Incarnation: p.Inc}
	p.Send(m)
	if v.Sealed && epoch != pr.epoch {
		pr.epoch, pr.sealed = epoch, p.Now
	}
	pr.nextVote = p.Now + pr.wait
	p.at(pr.nextVote)
}

// Sealed votes for an update that no reader holds any more.
func (p *Participant) Sealed(txn kv.TxnRef) {
	a := p.attempts.of[txn]
	if a != nil && a.prepared != nil {
		p.vote(a, false)
	}
}

// voteNo ends a piece that cannot prepare.
func (p *Participant) voteNo(t *exec.Task, f *msg.Failure) {
	receipt := p.Exec.Receipt(t)
	p.end(p.attempts.of[t.Txn])
	p.Exec.Drop(t)
	p.refusePrepareWith(t.Owner.(*msg.Prepare), f, receipt)
}

func (p *Participant) refusePrepare(q *msg.Prepare, f *msg.Failure) {
	a := p.attempts.of[q.Txn]
	if a != nil {
		p.end(a)
	}
	p.refusePrepareWith(q, f, msg.Receipt{})
}

func (p *Participant) refusePrepareWith(q *msg.Prepare, f *msg.Failure, rc msg.Receipt) {
	p.ended.AddCommit(p.Now, q.Txn, q.CommitID)
	m, v := msg.VoteTo(q.Last)
	*v = msg.Vote{Txn: q.Txn, CommitID: q.CommitID, User: q.User, Shard: p.ID, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts, Failure: f, Receipt: rc, Incarnation: p.Inc}
	p.Send(m)
}

// onAskVote: the last agent misses the vote. A transaction that is not known here is refused for good.
func (p *Participant) onAskVote(q *msg.VoteRequest) {
	a := p.attempts.of[q.Txn]
	other := p.isForOther(a, q.CommitID)
	if a != nil && (a.prepared != nil || a.preparing != nil) && !other {
		if a.prepared != nil {
			p.vote(a, false)
		}
		return
	}
	x := &msg.Prepare{Txn: q.Txn, CommitID: q.CommitID, User: q.User, Last: q.Last, LastIncarnation: q.LastIncarnation,
		LastAborts: q.LastAborts}
	if other {
		p.refusePrepareWith(x, rival(), msg.Receipt{})
		return
	}
	p.refusePrepare(x, msg.Fail(msg.ReasonRefused, kv.KindAborted, "a participant does not know the transaction"))
}

// repeatVotes votes again where no decision has come.
func (p *Participant) repeatVotes() {
	for _, a := range p.attempts.sorted() {
		pr := a.prepared
		switch {
		case pr == nil:
		case p.Now >= pr.nextVote:
			pr.wait = min(2*pr.wait, int64(p.cfg.Liveness))
			p.vote(a, true)
		default:
			p.at(pr.nextVote)
		}
	}
}
