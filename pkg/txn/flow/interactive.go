package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Interactive is the common part of an Update and a View.
//
// Its client sends one request at a time. Between two requests it is idle; then only time, leases and
// wounds change its state:
//
//	Begin ─▶ Idle ── Do ──────────▶ Locking, Reading … ─▶ Idle
//	           ├──── Commit ──────▶ Committing, Checking ─▶ finished
//	           ├──── Rollback ────▶ finished, after a validation if requested
//	           └──── idle timeout, maximum age, expired lease ─▶ aborted; the next request gets the cause
type Interactive struct {
	Call
	session *session.Session
	// claimedKeys are the keys that its requests have named, in order; namedKeys is the same as a set,
	// nil before the first request.
	claimedKeys [][]byte
	namedKeys   map[string]bool
	// idleSince is when the last request ended that needed a key or range which no earlier request had
	// named; repeating a request does not keep a transaction from being idle. requestsNew: the current
	// request does. requested has what was named. waiterUntil is until when some request is assumed to
	// wait for its locks.
	idleSince, waiterUntil int64
	requestsNew            bool
	requested              map[string]bool
	// queueScans are the ranges of which it has read the beginning; see ranges.go. drainsAtBegin is
	// the number of drains of shards that were known when it began.
	queueScans    []msg.Op
	drainsAtBegin uint64
	// rollsBack: its reads are being validated for a rollback. validatedFailure is the failure that
	// the rollback reports, nil if the client has requested it.
	rollsBack        bool
	validatedFailure *msg.Failure
}

// NewInteractive makes a View if the transaction is read-only and needs no locks, else an Update.
// Only the first attempt reads optimistically: an attempt that has lost over such a read locks. An
// attempt whose reads could not be validated is followed by one in which keys that the user must
// not write are read-locked, too.
//
//	attempt    keys on the hot shard       reads that ask for no lock
//	1          read without locks          without locks
//	2, 3 …     locked                      without locks, unless the last attempt could not be validated
func NewInteractive(gw *Gateway, ref kv.TxnRef, readOnly bool, how TxnOptions) InteractiveTxn {
	x := Interactive{idleSince: gw.Now, drainsAtBegin: gw.Shards.DrainingReports()}
	x.Call = Call{Kind: UpdateKind, Ref: ref, ReadOnly: readOnly, How: how, started: gw.Now}
	x.snapshot = newPastSnapshot(how)
	x.Begun = gw.Admitter.firstBeginTime(ref, &how)
	x.setDeadline(gw, env.Never)
	if readOnly && (x.snapshot != nil || gw.Reads == env.SnapshotReads) {
		x.Kind, x.session = ViewKind, session.New()
		return &View{Interactive: x}
	}
	u := &Update{Interactive: x, locks: newLocks()}
	u.session = u.locks.session
	aborted := &gw.Admitter.aborted
	u.session.Unlocked = !readOnly && !(aborted.isNextAttempt(ref) && aborted.last[ref.TxnID].unvalidatable)
	u.session.Optimistic = ref.Attempt == 1 && !readOnly && !gw.NoOptimistic
	return u
}

// Txn implements InteractiveTxn.
func (x *Interactive) Txn() *Interactive { return x }

// Session is what it has read and buffered.
func (x *Interactive) Session() *session.Session { return x.session }

// Claim lists the keys that its requests have named.
func (x *Interactive) Claim() admission.Claim { return admission.Claim{Keys: x.claimedKeys} }

// BeginDo begins a request. A write in a read-only transaction fails the request, not the
// transaction.
//
// The operations are numbered over all requests of the transaction, so that results and buffered writes of different
// requests cannot be confused.
func (x *Interactive) BeginDo(gw *Gateway, ops []msg.Op, deadline int64) *msg.Failure {
	x.reqStart, x.reqDeadline, x.reqReceipt = gw.Now, deadline, msg.Receipt{}
	gw.WakeAt(x.AbortAt())
	x.ops = ops
	x.session.Number(ops)
	for i := range ops {
		if x.noteRequest(&ops[i]) {
			x.requestsNew = true
			x.noteQueueScan(&ops[i])
		}
	}
	// The failure names the first write, by its position.
	i := slices.IndexFunc(ops, func(op msg.Op) bool { return op.Writes() })
	if !x.ReadOnly || i < 0 {
		return nil
	}
	f := invalid("the transaction is read-only")
	f.Key, f.Seq, f.HasSeq = ops[i].Key, ops[i].Seq, true
	return f
}

// noteRequest records what an operation names, and reports whether that is new: the transaction has
// neither read it before nor, if the operation writes, written it.
func (x *Interactive) noteRequest(op *msg.Op) bool {
	// The name is r or w, the key, and for a range its end. A zero byte ends the key; names of different
	// operations may coincide, in which case the transaction counts as idle a little early.
	name := make([]byte, 0, 16+len(op.Key)+len(op.End))
	name = append(name, 'r')
	if op.Writes() || op.ForUpdate {
		name[0] = 'w'
	}
	name = append(append(name, op.Key...), 0)
	if op.IsRange() {
		name = append(append(name, 1), op.End...)
	}
	if x.requested[string(name)] {
		return false
	}
	if x.requested == nil {
		x.requested = map[string]bool{}
	}
	x.requested[string(name)] = true
	return true
}

// Unavailable returns why the current request cannot be executed, nil if it can: a shard is down,
// or drains and the transaction began after the drain was announced. A drain waits for older
// transactions only, so it ends.
func (x *Interactive) Unavailable(gw *Gateway) *msg.Failure {
	if gw.Shards.AllAvailable() {
		return nil
	}
	for i := range x.ops {
		need := gw.EveryShard()
		if !x.ops[i].IsRange() {
			need = []kv.ShardID{gw.shardOf(&x.Call, x.ops[i].Key)}
		}
		f := x.HeldUpBy(gw.Shards.WhyDown(need...))
		if f == nil {
			f = gw.Shards.WhyDraining(need, x.drainsAtBegin)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// evaluate executes the current request. All values that it needs are known. Its writes are
// buffered.
func (x *Interactive) evaluate(gw *Gateway) {
	results, f := x.session.Evaluate(x.ops, gw.WallMillis())
	if f == nil {
		f = x.session.Write(x.ops)
	}
	if f != nil {
		x.FailCall(gw, f)
		return
	}
	for i := range results {
		results[i].Seq = uint32(i)
	}
	x.EndCall(gw, slices.Clone(results))
}

// EndCall responds to a request that has succeeded. The receipt is of the waits of this request.
func (x *Interactive) EndCall(gw *Gateway, results []msg.Result) {
	x.setIdle(gw)
	receipt := x.reqReceipt
	receipt.Open = false
	gw.enqueueDone(&x.Call, Done{Results: results, Contention: Contention{Receipt: receipt}})
}

// FailCall responds to a request with a failure that leaves the transaction open.
func (x *Interactive) FailCall(gw *Gateway, f *msg.Failure) {
	f = x.renumber(f)
	x.session.DropReadsOf(x.ops)
	x.setIdle(gw)
	gw.Respond(&x.Call, Done{Failure: f})
}

// setIdle ends the current request. If others wait for its locks, the idle time runs from now on.
//
// Example. A holds k, for which B waits. A's client sends "get k" every 100 ms, to stay alive. Each get succeeds, and
// none is new: a second after the last new request A is aborted.
func (x *Interactive) setIdle(gw *Gateway) {
	x.Phase, x.reqDeadline, x.openWait = Idle, 0, nil
	if x.wasActive(gw) {
		x.idleSince, x.requestsNew = gw.Now, false
	}
	if x.Wound.Is || gw.Now < x.waiterUntil {
		gw.WakeAt(gw.Now + int64(gw.IdleTimeout))
	}
}

// OnWaiter: a request waits for a lock that the transaction holds. The shard repeats that while it
// is so; without a repeat for two periods, the waiter is assumed to be gone.
func (x *Interactive) OnWaiter(gw *Gateway) {
	x.waiterUntil = gw.Now + 2*int64(gw.Liveness)
	gw.WakeAt(x.idleSince + int64(gw.IdleTimeout))
}

// checkIdle aborts an idle transaction if
//
//   - it is wounded, and has requested nothing new for the idle timeout since the wound;
//   - another request waits for its locks, whichever is older, and it has requested nothing new for
//     that time; or
//   - it has reached the maximum age.
//
// Two clients may each hold a lock, wait for the other one outside of the store, and send only
// requests that they have sent before. Without the second rule both would hold their locks up to
// the maximum age.
func (x *Interactive) checkIdle(gw *Gateway) Outcome {
	idleEnds := x.idleSince + int64(gw.IdleTimeout)
	hasWaiter, isWounded := x.hasWaiter(gw), x.isWounded(gw)
	woundEnds := max(x.Wound.At, x.idleSince) + int64(gw.IdleTimeout)
	switch {
	case isWounded && gw.Now >= woundEnds:
		text := "the transaction was idle and an older transaction waited for it"
		return Aborted(x.Wound.addConflict(env.Failure(msg.ReasonWounded, kv.KindAborted, text)))
	case hasWaiter && gw.Now >= idleEnds:
		text := "the transaction was idle and another one waited for its lock"
		return Aborted(env.Failure(msg.ReasonWounded, kv.KindAborted, text))
	case gw.Now >= x.deadline:
		return Aborted(gw.MaxAgeFailure(&x.Call))
	case isWounded:
		gw.WakeAt(woundEnds)
	}
	if hasWaiter {
		gw.WakeAt(idleEnds)
	}
	gw.WakeAt(x.deadline)
	return Continue
}

// BeginCommit begins the end of the transaction. It records which of the keys that were read have
// been written, for early locks (package heat).
func (x *Interactive) BeginCommit(gw *Gateway, deadline int64) {
	x.deadline = min(x.deadline, deadline)
	x.started = gw.Now
	x.ops = nil
	if x.ReadOnly {
		return
	}
	for _, key := range x.session.ReadKeys() {
		gw.Heat.OnCommit(key, x.session.Writes(key))
	}
	x.recordQueueScans(gw)
}

// BeginValidatingRollback makes FinishReads validate what was read and then roll back.
func (x *Interactive) BeginValidatingRollback() { x.rollsBack = true }

// validateFailure begins a rollback that validates the reads and then reports the failure of a
// request. The client may have sent the operation that failed because of a value that it read. If
// that value was stale, the failure may occur in no serial execution; the client receives a
// retryable error instead.
//
//	A reads x = 1 without a lock; it means that y is a counter
//	B makes x = 2 and y a set, and commits
//	A adds 1 to y: wrong type. In no serial order does A see x = 1 and y as a set.
func (x *Interactive) validateFailure(f *msg.Failure, now int64) {
	// The validation has to end within the request.
	if x.reqDeadline != 0 {
		x.deadline = min(x.deadline, x.reqDeadline)
	}
	x.started, x.rollsBack, x.validatedFailure = now, true, f
}

// RecordConflict records an attempt that another transaction ended, and the key. The ranges and
// keys over which attempts are lost get early locks.
func (x *Interactive) RecordConflict(gw *Gateway, why *msg.Failure) {
	// A shard that finds a read changed does not know that the transaction is interactive.
	by := x.Earlier.Ended.By
	if by != nil && by.Cause == msg.CauseChanged {
		interactive := *by
		interactive.Methods |= uint64(adt.Interactive)
		x.Earlier.Ended.By = &interactive
	}
	if x.ReadOnly || !why.Reason.IsContention() {
		return
	}
	// A failure by a wound names the key in the conflict, if at all.
	key := why.Key
	if len(key) == 0 && why.Conflict != nil {
		key = why.Conflict.Key
	}
	if x.session.HasReadKey(key) {
		gw.Heat.OnAbort(key, x.session.Writes(string(key)))
	}
	x.recordRangeConflict(gw, key)
}

// EndLocalCall responds to a request that needs no shard, such as Savepoint.
func (x *Interactive) EndLocalCall(gw *Gateway, f *msg.Failure) {
	if f == nil {
		x.EndCall(gw, nil)
		return
	}
	x.setIdle(gw)
	gw.Respond(&x.Call, Done{Failure: f})
}
