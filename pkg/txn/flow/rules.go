package flow

// The rules that tests break, each with its mutant.

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// beginTime is the begin time of a first attempt: when it reached the gateway. The client makes the
// time in the id. If that counted, a client with a slow clock would win every conflict on a hot
// key.
func beginTime(gw *Gateway, how *TxnOptions) int64 {
	if gw.Mutants.Has(mutant.IDTimesTrusted) {
		return 0
	}
	return how.Arrived
}

// isRetry reports whether an attempt is the next one of a transaction that was aborted here. It is as old as the first:
// otherwise a transaction could be wounded again and again.
func (d *Admitter) isRetry(ref kv.TxnRef) bool {
	return d.aborted.isNextAttempt(ref) && !d.gw.Mutants.Has(mutant.AttemptsBeginAnew)
}

// canDecide reports whether a shard's log is fast enough for a last agent, on which all participants wait.
func canDecide(gw *Gateway, s kv.ShardID) bool {
	return gw.Shards.CanDecide(s) || gw.Mutants.Has(mutant.ExcludedShardDecides)
}

// needsValidation reports whether reads have to be validated before a failure is reported.
func needsValidation(gw *Gateway, f *msg.Failure) bool {
	return f.Reason == msg.ReasonRequest && !gw.Mutants.Has(mutant.FailuresUnvalidated)
}

// NeedsLock reports whether a request that failed is repeated under locks: it read without them, and the failure may be
// of a state that a commit is replacing. The commit validates results of such reads, but a failure ends the attempt.
//
//	T deletes the counter c, and is decided; the decision is in flight to the shard of c
//	A calls max of the top-k c, without a lock: the key holds a counter
func NeedsLock(gw *Gateway, l *msg.Lock, f *msg.Failure) bool {
	return l.Optimistic && f.Reason == msg.ReasonRequest && !gw.Mutants.Has(mutant.LocklessFailuresFinal)
}

// wasActive reports whether the current request was a new one. A client that repeats the same read to keep its locks
// counts as idle.
func (x *Interactive) wasActive(gw *Gateway) bool {
	return x.requestsNew || gw.Mutants.Has(mutant.PingsCount)
}

// hasWaiter reports whether another request waits for a lock of the transaction.
func (x *Interactive) hasWaiter(gw *Gateway) bool {
	return gw.Now < x.waiterUntil && !gw.Mutants.Has(mutant.IdleHoldersKept) &&
		!gw.Mutants.Has(mutant.IdleWoundedContinues)
}

// isWounded reports whether an older transaction waits for the transaction, which so cannot stay idle.
func (x *Interactive) isWounded(gw *Gateway) bool {
	return x.Wound.Is && !gw.Mutants.Has(mutant.IdleWoundedContinues)
}

// lockRequest requests the write lock of a moved key. Writes between its reading and the decision would be lost.
func (m *Move) lockRequest(gw *Gateway) *msg.Lock {
	return &msg.Lock{Ops: []msg.Op{m.moveOut()}, Optimistic: gw.Mutants.Has(mutant.MoveUnlocked)}
}

// leavesTombstone reports whether the key's present shard has to redirect requests: its home shard does.
func (m *Move) leavesTombstone(gw *Gateway) bool {
	return gw.Router.Shard(m.key) == m.from && !gw.Mutants.Has(mutant.MoveLeavesNoTombstone)
}

// moveIn creates the key on its new shard, with all that it has on the present one.
func (m *Move) moveIn(gw *Gateway, held *msg.Result) msg.Op {
	in := msg.Op{Kind: msg.OpMoveIn, Seq: 1, Key: m.key, Type: held.Type, Value: held.Value}
	in.Version, in.Expiry = held.Version, held.Expires
	if gw.Mutants.Has(mutant.MoveCopiesNoValue) {
		in.Type, in.Value = uint32(entry.TypeDeleted), nil
	}
	return in
}

// OnFlush forgets the reads that are sent now. A read that begins later must not share their results:
//
//	R1: get k is sent, and executed on the shard
//	client B commits put k 2, and then sends R2: get k
//	the response of R1 arrives: it has no 2, so it must not be R2's result
func (s *SharedReads) OnFlush(gw *Gateway) {
	if !gw.Mutants.Has(mutant.SharedAfterSent) {
		s.unsent = s.unsent[:0]
	}
}

// hasDistinct reports whether a result of a read is for its caller only: a unique identifier that two clients share is
// not unique.
func (o *OneShot) hasDistinct(gw *Gateway) bool {
	return slices.ContainsFunc(o.ops, isDistinct) && !gw.Mutants.Has(mutant.UniqueShared)
}

// sameArguments reports whether two calls of one method have the same results.
func sameArguments(gw *Gateway, a, b []msg.Datum) bool {
	return gw.Mutants.Has(mutant.SharedWithOtherArguments) || slices.EqualFunc(a, b, func(x, y msg.Datum) bool {
		return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && bytes.Equal(x.Bytes, y.Bytes)
	})
}

// expiredLease returns a shard on which the lease of a view has expired: its reads may be of different instants. A
// reading at a snapshot has no leases.
func (v *View) expiredLease(gw *Gateway) (s kv.ShardID, ok bool) {
	if v.reading == nil || gw.Mutants.Has(mutant.OpenEndUnchecked) {
		return 0, false
	}
	return v.reading.ExpiredLease(gw.Env)
}

// dropPendingReads drops the reads in flight when a view begins to wait for a snapshot.
//
// Sequence: the round fixes x at CSN 5, update T of x and y commits, and a read of y that was in flight returns T's
// value. With it, the view would see a part of T.
func (v *View) dropPendingReads(gw *Gateway) {
	if !gw.Mutants.Has(mutant.LateReadsUsed) {
		v.reading.DropPending(gw.Env)
	}
}

// keepLeases keeps a view registered until its snapshot is fixed: an update that is decided in between could be in the
// snapshot, but not in the reads before it.
func (v *View) keepLeases(gw *Gateway) Outcome {
	if gw.Mutants.Has(mutant.DeregisteredBeforeSnapshot) {
		gw.endReading(v.reading)
		v.reading = nil
	}
	if v.reading == nil {
		return Continue
	}
	return gw.tickLeases(v.reading)
}

// retainWhenDurable confirms on each shard that a snapshot is durable before it is retained. A round is
// answered before the log is. If a shard crashed after that, it would restart without some
// transactions that the snapshot contains on other shards.
func (s *Snapshot) retainWhenDurable(gw *Gateway, p *round.Round) Outcome {
	if gw.Mutants.Has(mutant.RetainedBeforeDurable) {
		s.roundWait.Drop()
		return s.retain(gw)
	}
	return s.readEveryShard(gw, p)
}
