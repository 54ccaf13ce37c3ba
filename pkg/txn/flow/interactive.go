package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Interactive is what an Update and a View have in common.
type Interactive struct {
	Call
	session *session.Session
	// claimed are the keys that it has named so far, in their order, and wants finds them;
	// nil before the first call.
	claimedKeys [][]byte
	namedKeys   map[string]bool
	// idleSince is when the last call ended that asked for anything new, which news says of the one
	// under way, by what was asked before; wantedUntil is until when some request is taken to wait
	// for its locks. left is how many shards were known to leave, or to
	// have left, when it began.
	idleSince, waiterUntil int64
	requestsNew            bool
	requested              map[string]bool
	// takes are the ranges that it has read the beginning of.
	queueScans    []msg.Op
	drainsAtBegin uint64
	// rollback: it is being made certain only so that it can be given up. concluded is the
	// failure of a call for which it is.
	rollsBack        bool
	validatedFailure *msg.Failure
}

// NewOpen makes an update, or a view, which needs no locks.
func NewInteractive(gw *Gateway, ref kv.TxnRef, readOnly bool, how How) InteractiveTxn {
	x := Interactive{idleSince: gw.Now, drainsAtBegin: gw.Shards.Leavings()}
	x.Call = Call{Kind: UpdateKind, Ref: ref, ReadOnly: readOnly, How: how, snapshot: newPastSnapshot(how), started: gw.Now}
	x.Begun = gw.Admitter.firstBeginTime(ref, &how)
	x.setDeadline(gw, env.Never)
	if readOnly && (x.snapshot != nil || gw.Reads == env.SnapshotReads) {
		x.Kind, x.session = ViewKind, session.New()
		return &View{Interactive: x}
	}
	u := &Update{Interactive: x, locks: newLocks()}
	u.session = u.locks.session
	u.session.Unlocked = !readOnly && !(gw.Admitter.aborted.isNextAttempt(ref) && gw.Admitter.aborted.last[ref.TxnID].unvalidatable)
	u.session.Optimistic = ref.Attempt == 1 && !readOnly && !gw.NoOptimistic
	return u
}

// Opened is what updates and views have in common.
func (x *Interactive) Txn() *Interactive { return x }

// Session is what it has read and buffered.
func (x *Interactive) Session() *session.Session { return x.session }

// Claim counts it for the keys that it has named.
func (x *Interactive) Claim() admission.Claim { return admission.Claim{Keys: x.claimedKeys} }

// BeginDo begins a call of operations. It refuses a write in a transaction that only reads: a
// failure of the call.
func (x *Interactive) BeginDo(gw *Gateway, ops []msg.Op, deadline int64) *msg.Failure {
	x.reqStart, x.reqDeadline, x.reqReceipt = gw.Now, deadline, msg.Receipt{}
	gw.Timed(x.AbortAt())
	x.ops = ops
	x.session.Number(ops)
	for i := range ops {
		if x.noteRequest(&ops[i]) {
			x.requestsNew = true
			x.noteQueueScan(&ops[i])
		}
	}
	i := slices.IndexFunc(ops, func(op msg.Op) bool { return op.Writes() })
	if !x.ReadOnly || i < 0 {
		return nil
	}
	f := invalid("the transaction is read-only")
	f.Key, f.Seq, f.HasSeq = ops[i].Key, ops[i].Seq, true
	return f
}

// asks notes what an operation asks for, and reports whether that is new: the transaction has
// neither read it before nor, if the operation is to write it, written it.
func (x *Interactive) noteRequest(op *msg.Op) bool {
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

// Unavailable says why it cannot do its call: a shard that it needs is down, or it began when that
// was about to stop, and would keep it from that.
func (x *Interactive) Unavailable(gw *Gateway) *msg.Failure {
	if gw.Shards.AllThere() {
		return nil
	}
	for i := range x.ops {
		need := gw.EveryShard()
		if !x.ops[i].IsRange() {
			need = []kv.ShardID{gw.shardOf(&x.Call, x.ops[i].Key)}
		}
		f := gw.Shards.Unreachable(need...)
		if f == nil {
			f = gw.Shards.LeavingBefore(need, x.drainsAtBegin)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// evaluate executes the call's operations, for which everything is here; its writes go into
// the buffer.
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

// EndCall answers a call that has succeeded.
func (x *Interactive) EndCall(gw *Gateway, results []msg.Result) {
	x.setIdle(gw)
	receipt := x.reqReceipt
	receipt.Open = false
	gw.enqueueDone(&x.Call, Done{Results: results, Receipt: receipt})
}

// FailCall answers a call with a failure that leaves the transaction open.
func (x *Interactive) FailCall(gw *Gateway, f *msg.Failure) {
	f = x.renumber(f)
	x.session.Failed(x.ops)
	x.setIdle(gw)
	gw.Respond(&x.Call, Done{Failure: f})
}

func (x *Interactive) setIdle(gw *Gateway) {
	x.Phase, x.reqDeadline, x.openWait = Idle, 0, nil
	if x.requestsNew || gw.Mutants.Has(mutant.PingsCount) {
		x.idleSince, x.requestsNew = gw.Now, false
	}
	if x.Wound.Is || gw.Now < x.waiterUntil {
		gw.Timed(gw.Now + int64(gw.IdleGrace))
	}
}

// Wanted notes that a request waits for a lock that the transaction holds. The shard says so
// again as long as it does.
func (x *Interactive) OnWaiter(gw *Gateway) {
	x.waiterUntil = gw.Now + 2*int64(gw.Liveness)
	gw.Timed(x.idleSince + int64(gw.IdleGrace))
}

// idleTooLong aborts a transaction that is idle while others wait for it, or was open for too long.
func (x *Interactive) checkIdle(gw *Gateway) Outcome {
	idleEnds := x.idleSince + int64(gw.IdleGrace)
	wanted := gw.Now < x.waiterUntil && !gw.Mutants.Has(mutant.IdleHoldersKept) && !gw.Mutants.Has(mutant.NoIdleGrace)
	graceEnds := max(x.Wound.At, x.idleSince) + int64(gw.IdleGrace)
	graced := x.Wound.Is && !gw.Mutants.Has(mutant.NoIdleGrace)
	switch {
	case graced && gw.Now >= graceEnds:
		why := env.Failure(msg.ReasonWounded, kv.KindAborted, "the transaction was idle and an older transaction waited for it")
		return Aborted(x.Wound.addConflict(why))
	case wanted && gw.Now >= idleEnds:
		return Aborted(env.Failure(msg.ReasonWounded, kv.KindAborted, "the transaction was idle and another one waited for its lock"))
	case gw.Now >= x.deadline:
		return Aborted(gw.MaxAgeFailure(&x.Call))
	case graced:
		gw.Timed(graceEnds)
	}
	if wanted {
		gw.Timed(idleEnds)
	}
	gw.Timed(x.deadline)
	return Continue
}

// BeginCommit begins the end of the transaction.
func (x *Interactive) BeginCommit(gw *Gateway, deadline int64) {
	x.deadline = min(x.deadline, deadline)
	x.started = gw.Now
	x.ops = nil
	if x.ReadOnly {
		return
	}
	for _, key := range x.session.ReadKeys() {
		gw.Heat.Committing(key, x.session.Writes(key))
	}
	x.recordQueueScans(gw)
}

// BeginRollback has it given up once what it has read is certain.
func (x *Interactive) BeginValidatingRollback() { x.rollsBack = true }

// conclude ends a transaction with the failure of a call, for which a shard has nothing left to
// lock. Its client may have asked for what failed because of what it had read; so that is made
// certain first, and if it was not so the transaction has lost against others.
func (x *Interactive) validateFailure(f *msg.Failure, now int64) {
	if x.reqDeadline != 0 {
		x.deadline = min(x.deadline, x.reqDeadline)
	}
	x.started, x.rollsBack, x.validatedFailure = now, true, f
}

// concludes reports whether a failure is to be made certain first.
func needsValidation(gw *Gateway, f *msg.Failure) bool {
	return f.Reason == msg.ReasonRequest && !gw.Mutants.Has(mutant.FailuresUnvalidated)
}

// LostOver counts an attempt that another transaction ended, and over which key.
func (x *Interactive) RecordConflict(gw *Gateway, why *msg.Failure) {
	// The shard that found a read changed does not know what kind of transaction it was of.
	by := x.Earlier.Ended.By
	if by != nil && by.Cause == msg.CauseChanged {
		marked := *by
		marked.Methods |= uint64(adt.Interactive)
		x.Earlier.Ended.By = &marked
	}
	if x.ReadOnly || !why.Reason.Contention() {
		return
	}
	key := why.Key
	if len(key) == 0 && why.Conflict != nil {
		key = why.Conflict.Key
	}
	if x.session.HasReadKey(key) {
		gw.Heat.Lost(key, x.session.Writes(string(key)))
	}
	x.recordRangeConflict(gw, key)
}

// Answer answers a call that has been executed here, or has failed.
func (x *Interactive) EndLocalCall(gw *Gateway, f *msg.Failure) {
	if f == nil {
		x.EndCall(gw, nil)
		return
	}
	x.setIdle(gw)
	gw.Respond(&x.Call, Done{Failure: f})
}
