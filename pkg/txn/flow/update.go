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
	later piece.Pieces
	// validating: the commit under way has no writes, and is the first half of a reader's end, or all
	// of it if it is whole.
	validating, whole bool
	// unproven: it has failed, and what it had read cannot be validated.
	unproven bool
}

// Start is Fetch.
func (u *Update) Start(h *Host) Outcome { return u.Fetch(h) }

// Fetch asks for locks, or goes on at once.
func (u *Update) Fetch(h *Host) Outcome {
	u.Phase = Locking
	var early func([]byte) bool
	if !u.ReadOnly {
		early = h.Heat.Early
	}
	w := h.where(&u.Call, early)
	queues := false
	if !u.ReadOnly {
		w.EarlyRange = func(op *msg.Op) bool {
			is := h.Heat.Early(rangeName(op))
			queues = queues || is
			return is
		}
	}
	locked, unlocked := u.session.Wants(u.ops, w)
	if queues {
		first := func(p piece.Piece) bool { return p.Shard == w.First }
		u.later = slices.DeleteFunc(slices.Clone(locked), first)
		locked = slices.DeleteFunc(locked, func(p piece.Piece) bool { return !first(p) })
	}
	u.locks.ask(h, &u.Call, locked, unlocked)
	if !u.locks.requests.Open() {
		u.evaluate(h)
	}
	return GoesOn
}

// Requests are the lock requests, Checks those that check the locks in the end.
func (u *Update) Requests() *lockreq.Requests { return &u.locks.requests }
func (u *Update) Checks() *lockreq.Checks     { return &u.locks.checks }

// Locked takes the locks and values of one shard.
func (u *Update) Locked(h *Host, l *msg.Lock, r *msg.LockResponse) Outcome {
	if !u.locks.granted(r) {
		return Aborted(restarted())
	}
	u.session.Learn(r.Shard, l.Ops, l.Optimistic, r.Results)
	if r.Receipt.WaitedNanos > 0 {
		u.waitedForRanges(h)
	}
	switch {
	case u.locks.requests.Open():
	case len(u.later) > 0:
		later := u.later
		u.later = nil
		u.locks.ask(h, &u.Call, later, nil)
	default:
		u.evaluate(h)
	}
	return GoesOn
}

// Refused: a shard has failed a request, for which it has nothing left to lock.
func (u *Update) Refused(h *Host, f *msg.Failure) Outcome {
	f = u.ofCall(f)
	if !concludes(h, f) {
		return Aborted(f)
	}
	for _, t := range u.session.Touched() {
		if t.Empty() {
			h.To(t.Shard).Body = &msg.Release{Txn: u.Ref}
		}
	}
	u.locks.requests.Forget()
	if u.session.SawAbsent() {
		u.unproven = true
		return Aborted(unvalidated())
	}
	u.conclude(f, h.Now)
	return u.Finish(h)
}

// unvalidated is why a failure does not count that the client may have brought about by reading
// that a key is absent. What is asked for failed earlier than that is validated, and between the
// two the key may have been there. The next attempt locks.
func unvalidated() *msg.Failure {
	text := "the transaction failed; a key that it read without a lock as absent may have been created since"
	return env.Failure(msg.ReasonStaleRead, kv.KindAborted, text)
}

// Write commits the buffer, with the locks and what is to be validated.
func (u *Update) Write(h *Host) Outcome {
	var ps piece.Pieces
	ps.Cut(u.session.Buffer(), h.Router.Shards(), func(key []byte) kv.ShardID { return h.place(&u.Call, key) })
	for _, t := range u.session.Touched() {
		if t.Empty() {
			continue
		}
		relyOn(ps.At(t.Shard), t)
	}
	f := u.uncommittable(h, ps)
	if f != nil {
		return Aborted(f)
	}
	return h.send(u, ps, commitreq.Request{ReadBefore: u.session.HasRead()})
}

// relyOn has a piece validate what was read on its shard.
func relyOn(p *piece.Piece, t *session.Touched) {
	p.ReadSet, p.Incarnation = msg.ReadSetOf(t.Grants, t.Seen), t.Inc
	p.Ops = append(slices.Clone(t.Again), p.Ops...)
}

// uncommittable says why a transaction cannot commit on these shards now. One that is about to
// stop waits for those that hold locks there, and for no others.
func (u *Update) uncommittable(h *Host, ps piece.Pieces) *msg.Failure {
	if h.Shards.AllThere() {
		return nil
	}
	all := ps.Shards()
	f := h.Shards.Unreachable(all...)
	if f != nil {
		return f
	}
	return h.Shards.Refusing(slices.DeleteFunc(all, u.session.HoldsOn))
}

// Finish ends a transaction without writes. If it has read without locks on one shard, that is
// validated in one step there while its locks are held, then the locks are checked and released:
// between the last grant and the first check everything it read was current. If on several, a commit
// validates everything.
func (u *Update) Finish(h *Host) Outcome {
	touched := u.session.Touched()
	var ps piece.Pieces
	for _, t := range touched {
		if len(t.Seen) > 0 {
			relyOn(ps.At(t.Shard), t)
		}
	}
	if len(ps) == 0 {
		return u.locks.end(h, u)
	}
	u.validating, u.whole = true, len(ps) > 1
	for _, t := range touched {
		if u.whole && len(t.Seen) == 0 && !t.Empty() {
			relyOn(ps.At(t.Shard), t)
		}
	}
	return h.send(u, ps, commitreq.Request{ReadBefore: u.session.HasRead()})
}

// Checked: everything that was read was current at one instant. Nothing is left to release: the
// checks, and the validation of optimistic reads, have done that.
func (u *Update) Checked(*Host) Outcome {
	return Over(Done{Committed: !u.rollback, Failure: u.concluded})
}

// Commit is the commit under way.
func (u *Update) Commit() *commitreq.Commit { return &u.commit }

// OnlyReads reports whether the commit applies nothing.
func (u *Update) OnlyReads() bool { return u.validating }

// Answered takes the decision of the last agent.
func (u *Update) Answered(h *Host, a *msg.CommitResponse) Outcome {
	switch {
	case !a.Committed:
		u.Release(h)
		f := a.Failure
		if f.Reason == msg.ReasonRequest && u.session.SawAbsent() {
			u.unproven = true
			f = unvalidated()
		}
		return Lost(f)
	case u.validating && u.whole:
		return u.Checked(h)
	case u.validating:
		u.validating = false
		return u.locks.check(h, u)
	}
	return Over(Done{
		Committed:   true,
		ResultsLost: a.ResultsLost,
		Index:       msg.ShardCSN{Shard: a.Shard, Index: a.Index},
	})
}

// Awaits lists the shards that have not answered.
func (u *Update) Awaits() []kv.ShardID { return u.locks.awaits(u.Phase) }

// Shards lists the shards that it has asked for anything.
func (u *Update) Shards() []kv.ShardID { return u.session.Shards() }

// Repeat sends again what has no answer.
func (u *Update) Repeat(h *Host) Outcome {
	if u.Phase == Idle {
		return u.idleTooLong(h)
	}
	u.locks.repeat(h, &u.Call)
	return GoesOn
}

// Release gives up the locks.
func (u *Update) Release(h *Host) { u.locks.release(h, u.Ref) }

// Seen is the state that it has read.
func (u *Update) Seen() []msg.ShardCSN { return u.locks.seen() }
