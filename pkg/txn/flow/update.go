package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Update is an interactive transaction that locks what it reads, but for keys on the hot shard,
// which are read without a lock the first time and validated by the commit.
type Update struct {
	Interactive
	locks  *locks
	commit commitreq.Commit
	// later are lock requests that are sent when those before have been answered.
	deferred piece.Pieces
	// validating: the commit under way has no writes, and is the first half of a reader's end, or all
	// of it if it is whole.
	validating, validatesAll bool
	// unproven: it has failed, and what it had read cannot be validated.
	unvalidatable bool
}

// Start is Fetch.
func (u *Update) Start(gw *Gateway) Outcome { return u.Fetch(gw) }

// Fetch asks for locks, or goes on at once.
func (u *Update) Fetch(gw *Gateway) Outcome {
	u.Phase = Locking
	var early func([]byte) bool
	if !u.ReadOnly {
		early = gw.Heat.Early
	}
	w := gw.sessionWhere(&u.Call, early)
	queues := false
	if !u.ReadOnly {
		w.EarlyRange = func(op *msg.Op) bool {
			is := gw.Heat.Early(rangeKey(op))
			queues = queues || is
			return is
		}
	}
	locked, unlocked := u.session.Wants(u.ops, w)
	if queues {
		first := func(p piece.Piece) bool { return p.Shard == w.First }
		u.deferred = slices.DeleteFunc(slices.Clone(locked), first)
		locked = slices.DeleteFunc(locked, func(p piece.Piece) bool { return !first(p) })
	}
	u.locks.requestLocks(gw, &u.Call, locked, unlocked)
	if !u.locks.requests.Open() {
		u.evaluate(gw)
	}
	return Continue
}

// Requests are the lock requests, Checks those that check the locks in the end.
func (u *Update) Requests() *lockreq.Requests { return &u.locks.requests }
func (u *Update) Checks() *lockreq.Checks     { return &u.locks.checks }

// Locked takes the locks and values of one shard.
func (u *Update) OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome {
	if !u.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	u.session.Learn(r.Shard, l.Ops, l.Optimistic, r.Results)
	if r.Receipt.WaitedNanos > 0 {
		u.recordRangeWait(gw)
	}
	switch {
	case u.locks.requests.Open():
	case len(u.deferred) > 0:
		later := u.deferred
		u.deferred = nil
		u.locks.requestLocks(gw, &u.Call, later, nil)
	default:
		u.evaluate(gw)
	}
	return Continue
}

// Refused: a shard has failed a request, for which it has nothing left to lock.
func (u *Update) OnFailure(gw *Gateway, f *msg.Failure) Outcome {
	f = u.renumber(f)
	if !needsValidation(gw, f) {
		return Aborted(f)
	}
	for _, t := range u.session.Touched() {
		if t.Empty() {
			gw.To(t.Shard).Body = &msg.Release{Txn: u.Ref}
		}
	}
	u.locks.requests.Forget()
	if u.session.SawAbsent() {
		u.unvalidatable = true
		return Aborted(unvalidated())
	}
	u.validateFailure(f, gw.Now)
	return u.FinishReads(gw)
}

// unvalidated is why a failure does not count that the client may have brought about by reading
// that a key is absent. What is asked for failed earlier than that is validated, and between the
// two the key may have been there. The next attempt locks.
func unvalidated() *msg.Failure {
	text := "the transaction failed; a key that it read without a lock as absent may have been created since"
	return env.Failure(msg.ReasonStaleRead, kv.KindAborted, text)
}

// Write commits the buffer, with the locks and what is to be validated.
func (u *Update) CommitWrites(gw *Gateway) Outcome {
	var ps piece.Pieces
	ps.Cut(u.session.Buffer(), gw.Router.Shards(), func(key []byte) kv.ShardID { return gw.shardOf(&u.Call, key) })
	for _, t := range u.session.Touched() {
		if t.Empty() {
			continue
		}
		addReadSet(ps.At(t.Shard), t)
	}
	f := u.commitRefusal(gw, ps)
	if f != nil {
		return Aborted(f)
	}
	return gw.sendCommit(u, ps, commitreq.Request{ReadBefore: u.session.HasRead()})
}

// relyOn has a piece validate what was read on its shard.
func addReadSet(p *piece.Piece, t *session.Touched) {
	p.ReadSet, p.Incarnation = msg.ReadSetOf(t.Grants, t.Seen), t.Inc
	p.Ops = append(slices.Clone(t.Again), p.Ops...)
}

// uncommittable says why a transaction cannot commit on these shards now. One that is about to
// stop waits for those that hold locks there, and for no others.
func (u *Update) commitRefusal(gw *Gateway, ps piece.Pieces) *msg.Failure {
	if gw.Shards.AllThere() {
		return nil
	}
	all := ps.Shards()
	f := gw.Shards.Unreachable(all...)
	if f != nil {
		return f
	}
	return gw.Shards.Refusing(slices.DeleteFunc(all, u.session.HoldsOn))
}

// Finish ends a transaction without writes. If it has read without locks on one shard, that is
// validated in one step there while its locks are held, then the locks are checked and released:
// between the last grant and the first check everything it read was current. If on several, a commit
// validates everything.
func (u *Update) FinishReads(gw *Gateway) Outcome {
	touched := u.session.Touched()
	var ps piece.Pieces
	for _, t := range touched {
		if len(t.Seen) > 0 {
			addReadSet(ps.At(t.Shard), t)
		}
	}
	if len(ps) == 0 {
		return u.locks.finishReads(gw, u)
	}
	u.validating, u.validatesAll = true, len(ps) > 1
	for _, t := range touched {
		if u.validatesAll && len(t.Seen) == 0 && !t.Empty() {
			addReadSet(ps.At(t.Shard), t)
		}
	}
	return gw.sendCommit(u, ps, commitreq.Request{ReadBefore: u.session.HasRead()})
}

// Checked: everything that was read was current at one instant. Nothing is left to release: the
// checks, and the validation of optimistic reads, have done that.
func (u *Update) OnChecked(*Gateway) Outcome {
	return Finished(Done{Committed: !u.rollsBack, Failure: u.validatedFailure})
}

// Commit is the commit under way.
func (u *Update) Commit() *commitreq.Commit { return &u.commit }

// OnlyReads reports whether the commit applies nothing.
func (u *Update) IsReadOnly() bool { return u.validating }

// Answered takes the decision of the last agent.
func (u *Update) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	switch {
	case !a.Committed:
		u.Release(gw)
		f := a.Failure
		if f.Reason == msg.ReasonRequest && u.session.SawAbsent() {
			u.unvalidatable = true
			f = unvalidated()
		}
		return AbortConfirmed(f)
	case u.validating && u.validatesAll:
		return u.OnChecked(gw)
	case u.validating:
		u.validating = false
		return u.locks.checkLocks(gw, u)
	}
	return Finished(Done{
		Committed:   true,
		ResultsLost: a.ResultsLost,
		Index:       msg.ShardCSN{Shard: a.Shard, Index: a.Index},
	})
}

// Awaits lists the shards that have not answered.
func (u *Update) PendingShards() []kv.ShardID { return u.locks.pendingShards(u.Phase) }

// Shards lists the shards that it has asked for anything.
func (u *Update) Shards() []kv.ShardID { return u.session.Shards() }

// Repeat sends again what has no answer.
func (u *Update) Retry(gw *Gateway) Outcome {
	if u.Phase == Idle {
		return u.checkIdle(gw)
	}
	u.locks.retry(gw, &u.Call)
	return Continue
}

// Release gives up the locks.
func (u *Update) Release(gw *Gateway) { u.locks.release(gw, u.Ref) }

// Seen is the state that it has read.
func (u *Update) ReadCSNs() []msg.ShardCSN { return u.locks.readCSNs() }
