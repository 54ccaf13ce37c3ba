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

// Update is an interactive transaction that locks what it reads. Its first attempt reads keys on
// the hot shard without locks, and its commit validates their versions: a lock on a hot key would
// be held across the client's round trips.
type Update struct {
	Interactive
	locks  *locks
	commit commitreq.Commit
	// deferred are lock requests that are sent after the responses to the first ones.
	deferred piece.Pieces
	// validating: the current commit has no writes and validates optimistic reads. validatesAll: it
	// also validates grants, so no check of locks follows.
	validating, validatesAll bool
	// unvalidatable: the attempt has failed, and its reads cannot be validated. The next attempt reads
	// under locks.
	unvalidatable bool
}

// Start implements Flow.
func (u *Update) Start(gw *Gateway) Outcome { return u.Fetch(gw) }

// Fetch requests locks on what the call reads, or executes the call if everything is known.
//
// If a scan takes an early lock, as consumers of a queue do, the locks on its first shard are
// requested alone. The consumers wait for each other there, holding nothing on the other shards;
// the other locks follow when the first shard has granted its own.
func (u *Update) Fetch(gw *Gateway) Outcome {
	u.Phase = Locking
	var early func([]byte) bool
	// Reads of a read-only transaction block no other reader, so they never lock early.
	if !u.ReadOnly {
		early = gw.Heat.LocksEarly
	}
	w := gw.sessionWhere(&u.Call, early)
	// Consumers of a queue all scan its start for update. If each locked its part on all shards at once, they would lock
	// the shards in different orders, and wound each other.
	queues := false
	if !u.ReadOnly {
		w.EarlyRange = func(op *msg.Op) bool {
			is := gw.Heat.LocksEarly(rangeKey(op))
			queues = queues || is
			return is
		}
	}
	locked, unlocked := u.session.NeededReads(u.ops, w)
	// Consumers of a queue: the other shards follow in OnLocks.
	if queues {
		first := func(p piece.Piece) bool { return p.Shard == w.First }
		u.deferred = slices.DeleteFunc(slices.Clone(locked), first)
		locked = slices.DeleteFunc(locked, func(p piece.Piece) bool { return !first(p) })
	}
	// No request is needed if the transaction has read, or written, everything that the call names.
	u.locks.requestLocks(gw, &u.Call, locked, unlocked)
	if !u.locks.requests.HasPending() {
		u.evaluate(gw)
	}
	return Continue
}

// Requests returns the lock requests, Checks the checks of locks at the end.
func (u *Update) Requests() *lockreq.Requests { return &u.locks.requests }
func (u *Update) Checks() *lockreq.Checks     { return &u.locks.checks }

// OnLocks records the grants and values of one shard.
func (u *Update) OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome {
	// Sequence: shard s grants a lock, restarts, and grants a second one. The first lock is lost, and
	// another transaction may have changed its key since.
	if !u.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	u.session.StoreResults(r.Shard, l.Ops, l.Optimistic, r.Results)
	// The early locks of ranges end when consumers no longer wait. This request has waited.
	if r.Receipt.WaitedNanos > 0 {
		u.recordRangeWait(gw)
	}
	switch {
	case u.locks.requests.HasPending():
	case len(u.deferred) > 0:
		later := u.deferred
		u.deferred = nil
		u.locks.requestLocks(gw, &u.Call, later, nil)
	default:
		u.evaluate(gw)
	}
	return Continue
}

// OnFailure handles the failure of a lock request. If the client may have caused it by what it read
// (for example, a type error after reading a key), the reads are validated before the failure is reported:
// a stale read must not produce an error that no serial execution has. The shards that hold no lock
// of this attempt release their outstanding requests; the others are released after validation.
func (u *Update) OnFailure(gw *Gateway, f *msg.Failure) Outcome {
	f = u.renumber(f)
	// Wounds, stale grants and redirects end the attempt in any case, and are retried.
	if !needsValidation(gw, f) {
		return Aborted(f)
	}
	// A shard without grants or reads takes part in no validation, so nothing else releases a lock
	// request that is in flight to it.
	for _, t := range u.session.Parts() {
		if t.IsEmpty() {
			gw.SendTo(t.Shard).Body = &msg.Release{Txn: u.Ref}
		}
	}
	// Late responses must not add grants that the validation does not list.
	u.locks.requests.DropPending()
	// See unvalidated.
	if u.session.HasReadAbsence() {
		u.unvalidatable = true
		return Aborted(unvalidated())
	}
	u.validateFailure(f, gw.Now)
	return u.FinishReads(gw)
}

// unvalidated is the failure of an attempt that has read a key as absent without a lock, and has
// then failed. Absence has no version: the key may have been created and deleted between the read
// and the validation, so that nothing is proven. The next attempt reads under locks.
func unvalidated() *msg.Failure {
	text := "the transaction failed; a key that it read without a lock as absent may have been created since"
	return env.Failure(msg.ReasonStaleRead, kv.KindAborted, text)
}

// CommitWrites commits the buffer, with the grants and the optimistic reads to validate.
//
// Shards on which the transaction has only read get a piece, too: it validates the grants there at the commit point.
func (u *Update) CommitWrites(gw *Gateway) Outcome {
	var ps piece.Pieces
	ps.Cut(u.session.Buffer(), gw.Router.Shards(), func(key []byte) kv.ShardID { return gw.shardOf(&u.Call, key) })
	for _, t := range u.session.Parts() {
		if t.IsEmpty() {
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

// addReadSet adds the grants and optimistic reads of a shard to its piece, and repeats the reads
// that have no version before the writes.
//
//	piece of the commit on one shard    [scan a..m (validated by digest)] [put b 1] [grants 7, 9] [k at version 5]
func addReadSet(p *piece.Piece, t *session.Part) {
	p.ReadSet, p.Incarnation = msg.ReadSetOf(t.Grants, t.Seen), t.Incarnation
	p.Ops = append(slices.Clone(t.Reexecuted), p.Ops...)
}

// commitRefusal returns why the transaction cannot commit on these shards now, nil if it can. A
// shard that drains accepts commits of transactions that hold locks on it, and no others.
//
// The drain waits for the former; a transaction that newly needs the shard would prolong it.
func (u *Update) commitRefusal(gw *Gateway, ps piece.Pieces) *msg.Failure {
	if gw.Shards.AllAvailable() {
		return nil
	}
	all := ps.Shards()
	f := gw.Shards.WhyDown(all...)
	if f != nil {
		return f
	}
	return gw.Shards.WhyUnavailable(slices.DeleteFunc(all, u.session.HasLockOn))
}

// FinishReads ends a transaction without writes. All of its reads must have been current at one
// instant:
//
//   - Under locks on one request: it is the instant of the grant.
//   - Under locks of several requests: the checks report that no lock was lost. The instant is
//     between the last grant and the first check.
//   - With optimistic reads on one shard: a commit without writes validates them while the locks are
//     held; then the locks are checked. The instant is that of the validation.
//   - With optimistic reads on several shards: a two-phase commit validates reads and grants. The
//     instant is the commit point.
func (u *Update) FinishReads(gw *Gateway) Outcome {
	touched := u.session.Parts()
	var ps piece.Pieces
	// A piece validates all optimistic reads of its shard, and the grants there, in one step.
	for _, t := range touched {
		if len(t.Seen) > 0 {
			addReadSet(ps.At(t.Shard), t)
		}
	}
	// Everything was read under locks.
	if len(ps) == 0 {
		return u.locks.finishReads(gw, u)
	}
	// With several shards, validations one after the other would have several instants; one two-phase
	// commit has one. Its pieces include shards with grants only, so no check follows.
	u.validating, u.validatesAll = true, len(ps) > 1
	for _, t := range touched {
		if u.validatesAll && len(t.Seen) == 0 && !t.IsEmpty() {
			addReadSet(ps.At(t.Shard), t)
		}
	}
	return gw.sendCommit(u, ps, commitreq.Request{ReadBefore: u.session.HasRead()})
}

// OnChecked: all reads were current at one instant. The checks, or the validating commit, have
// released the locks.
func (u *Update) OnChecked(*Gateway) Outcome {
	return Finished(Done{Committed: !u.rollsBack, Failure: u.validatedFailure})
}

// Commit returns the current commit.
func (u *Update) Commit() *commitreq.Commit { return &u.commit }

// IsReadOnly reports whether the commit only validates.
func (u *Update) IsReadOnly() bool { return u.validating }

// OnCommitResponse handles the decision. The failure of an operation counts only if the reads
// before it are validated, which absence prevents; see unvalidated.
func (u *Update) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	switch {
	case !a.Committed:
		// The participants release their own locks when they learn of the abort. Shards that were only
		// read take no part in the commit, and need a Release.
		u.Release(gw)
		f := a.Failure
		if f.Reason == msg.ReasonRequest && u.session.HasReadAbsence() {
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
		Committed:    true,
		ResultsLost:  a.ResultsLost,
		LastAgentCSN: msg.ShardCSN{Shard: a.Shard, CSN: a.CSN},
	})
}

// PendingShards lists the shards that have not responded.
func (u *Update) PendingShards() []kv.ShardID { return u.locks.pendingShards(u.Phase) }

// Shards lists the shards that may hold locks of the attempt.
func (u *Update) Shards() []kv.ShardID { return u.session.Shards() }

// Retry retries requests. An idle transaction has none, and is aborted if it blocks others.
func (u *Update) Retry(gw *Gateway) Outcome {
	if u.Phase == Idle {
		return u.checkIdle(gw)
	}
	u.locks.retry(gw, &u.Call)
	return Continue
}

// Release releases the locks.
// Shards that were only read optimistically get a release, too: they forget the attempt.
func (u *Update) Release(gw *Gateway) { u.locks.release(gw, u.Ref) }

// ReadCSNs is the CSN of each shard at its last response.
func (u *Update) ReadCSNs() []msg.ShardCSN { return u.locks.readCSNs() }
