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
	claimed [][]byte
	wants   map[string]bool
	// idleSince is when the last call ended that asked for anything new, which news says of the one
	// under way, by what was asked before; wantedUntil is until when some request is taken to wait
	// for its locks. left is how many shards were known to leave, or to
	// have left, when it began.
	idleSince, wantedUntil int64
	news                   bool
	asked                  map[string]bool
	// takes are the ranges that it has read the beginning of.
	takes []msg.Op
	left  uint64
	// rollback: it is being made certain only so that it can be given up. concluded is the
	// failure of a call for which it is.
	rollback  bool
	concluded *msg.Failure
}

// NewOpen makes an update, or a view, which needs no locks.
func NewOpen(h *Host, ref kv.TxnRef, readOnly bool, how How) Open {
	x := Interactive{idleSince: h.Now, left: h.Shards.Leavings()}
	x.Call = Call{Kind: UpdateKind, Ref: ref, ReadOnly: readOnly, How: how, past: pastOf(how), started: h.Now}
	x.Begun = h.Door.begunBefore(ref, &how)
	x.bound(h, env.Never)
	if readOnly && (x.past != nil || h.Reads == env.SnapshotReads) {
		x.Kind, x.session = ViewKind, session.New()
		return &View{Interactive: x}
	}
	u := &Update{Interactive: x, locks: newLocks()}
	u.session = u.locks.session
	u.session.Unlocked = !readOnly && !(h.Door.returning.follows(ref) && h.Door.returning.last[ref.TxnID].unproven)
	u.session.Optimistic = ref.Attempt == 1 && !readOnly && !h.NoOptimistic
	return u
}

// Opened is what updates and views have in common.
func (x *Interactive) Opened() *Interactive { return x }

// Session is what it has read and buffered.
func (x *Interactive) Session() *session.Session { return x.session }

// Claim counts it for the keys that it has named.
func (x *Interactive) Claim() admission.Claim { return admission.Claim{Keys: x.claimed} }

// BeginDo begins a call of operations. It refuses a write in a transaction that only reads: a
// failure of the call.
func (x *Interactive) BeginDo(h *Host, ops []msg.Op, deadline int64) *msg.Failure {
	x.from, x.by, x.step = h.Now, deadline, msg.Receipt{}
	h.Timed(x.EndAt())
	x.ops = ops
	x.session.Number(ops)
	for i := range ops {
		if x.asks(&ops[i]) {
			x.news = true
			x.noteRange(&ops[i])
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
func (x *Interactive) asks(op *msg.Op) bool {
	name := make([]byte, 0, 16+len(op.Key)+len(op.End))
	name = append(name, 'r')
	if op.Writes() || op.ForUpdate {
		name[0] = 'w'
	}
	name = append(append(name, op.Key...), 0)
	if op.IsRange() {
		name = append(append(name, 1), op.End...)
	}
	if x.asked[string(name)] {
		return false
	}
	if x.asked == nil {
		x.asked = map[string]bool{}
	}
	x.asked[string(name)] = true
	return true
}

// Unavailable says why it cannot do its call: a shard that it needs is down, or it began when that
// was about to stop, and would keep it from that.
func (x *Interactive) Unavailable(h *Host) *msg.Failure {
	if h.Shards.AllThere() {
		return nil
	}
	for i := range x.ops {
		need := h.EveryShard()
		if !x.ops[i].IsRange() {
			need = []kv.ShardID{h.place(&x.Call, x.ops[i].Key)}
		}
		f := h.Shards.Unreachable(need...)
		if f == nil {
			f = h.Shards.LeavingBefore(need, x.left)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// evaluate executes the call's operations, for which everything is here; its writes go into
// the buffer.
func (x *Interactive) evaluate(h *Host) {
	results, f := x.session.Evaluate(x.ops, h.WallMillis())
	if f == nil {
		f = x.session.Write(x.ops)
	}
	if f != nil {
		x.FailCall(h, f)
		return
	}
	for i := range results {
		results[i].Seq = uint32(i)
	}
	x.EndCall(h, slices.Clone(results))
}

// EndCall answers a call that has succeeded.
func (x *Interactive) EndCall(h *Host, results []msg.Result) {
	x.idle(h)
	receipt := x.step
	receipt.Open = false
	h.report(&x.Call, Done{Results: results, Receipt: receipt})
}

// FailCall answers a call with a failure that leaves the transaction open.
func (x *Interactive) FailCall(h *Host, f *msg.Failure) {
	f = x.ofCall(f)
	x.session.Failed(x.ops)
	x.idle(h)
	h.Answer(&x.Call, Done{Failure: f})
}

func (x *Interactive) idle(h *Host) {
	x.Phase, x.by, x.open = Idle, 0, nil
	if x.news || h.Mutants.Has(mutant.PingsCount) {
		x.idleSince, x.news = h.Now, false
	}
	if x.Wound.Is || h.Now < x.wantedUntil {
		h.Timed(h.Now + int64(h.IdleGrace))
	}
}

// Wanted notes that a request waits for a lock that the transaction holds. The shard says so
// again as long as it does.
func (x *Interactive) Wanted(h *Host) {
	x.wantedUntil = h.Now + 2*int64(h.Liveness)
	h.Timed(x.idleSince + int64(h.IdleGrace))
}

// idleTooLong aborts a transaction that is idle while others wait for it, or was open for too long.
func (x *Interactive) idleTooLong(h *Host) Outcome {
	idleEnds := x.idleSince + int64(h.IdleGrace)
	wanted := h.Now < x.wantedUntil && !h.Mutants.Has(mutant.IdleHoldersKept) && !h.Mutants.Has(mutant.NoIdleGrace)
	graceEnds := max(x.Wound.At, x.idleSince) + int64(h.IdleGrace)
	graced := x.Wound.Is && !h.Mutants.Has(mutant.NoIdleGrace)
	switch {
	case graced && h.Now >= graceEnds:
		why := env.Failure(msg.ReasonWounded, kv.KindAborted, "the transaction was idle and an older transaction waited for it")
		return Aborted(x.Wound.blame(why))
	case wanted && h.Now >= idleEnds:
		return Aborted(env.Failure(msg.ReasonWounded, kv.KindAborted, "the transaction was idle and another one waited for its lock"))
	case h.Now >= x.deadline:
		return Aborted(h.TooOld(&x.Call))
	case graced:
		h.Timed(graceEnds)
	}
	if wanted {
		h.Timed(idleEnds)
	}
	h.Timed(x.deadline)
	return GoesOn
}

// BeginCommit begins the end of the transaction.
func (x *Interactive) BeginCommit(h *Host, deadline int64) {
	x.deadline = min(x.deadline, deadline)
	x.started = h.Now
	x.ops = nil
	if x.ReadOnly {
		return
	}
	for _, key := range x.session.ReadKeys() {
		h.Heat.Committing(key, x.session.Writes(key))
	}
	x.committingRanges(h)
}

// BeginRollback has it given up once what it has read is certain.
func (x *Interactive) BeginRollback() { x.rollback = true }

// conclude ends a transaction with the failure of a call, for which a shard has nothing left to
// lock. Its client may have asked for what failed because of what it had read; so that is made
// certain first, and if it was not so the transaction has lost against others.
func (x *Interactive) conclude(f *msg.Failure, now int64) {
	if x.by != 0 {
		x.deadline = min(x.deadline, x.by)
	}
	x.started, x.rollback, x.concluded = now, true, f
}

// concludes reports whether a failure is to be made certain first.
func concludes(h *Host, f *msg.Failure) bool {
	return f.Reason == msg.ReasonRequest && !h.Mutants.Has(mutant.FailuresUnvalidated)
}

// LostOver counts an attempt that another transaction ended, and over which key.
func (x *Interactive) LostOver(h *Host, why *msg.Failure) {
	// The shard that found a read changed does not know what kind of transaction it was of.
	by := x.Losses.Ended.By
	if by != nil && by.Cause == msg.CauseChanged {
		marked := *by
		marked.Methods |= uint64(adt.Interactive)
		x.Losses.Ended.By = &marked
	}
	if x.ReadOnly || !why.Reason.Contention() {
		return
	}
	key := why.Key
	if len(key) == 0 && why.Conflict != nil {
		key = why.Conflict.Key
	}
	if x.session.HasReadKey(key) {
		h.Heat.Lost(key, x.session.Writes(string(key)))
	}
	x.lostRanges(h, key)
}

// Answer answers a call that has been executed here, or has failed.
func (x *Interactive) Answer(h *Host, f *msg.Failure) {
	if f == nil {
		x.EndCall(h, nil)
		return
	}
	x.idle(h)
	h.Answer(&x.Call, Done{Failure: f})
}
