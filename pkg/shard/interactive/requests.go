// Package interactive handles the lock requests of interactive transactions on a shard: it locks and reads,
// or reads optimistically, and checks at the end that all locks were held until then.
//
// # Grants
//
// Each lock that is granted has a number, and the response contains it. Prepare, commit and check
// requests list the grants on which they rely:
//
//	transaction T                  shard                             transaction U
//	    ├─ lock x ──────────────────▶│ grant 7
//	    │◀─ x = 1, grant 7 ──────────┤
//	    │                            │ no response to a push: breaks grant 7
//	    │                            │◀─ write x = 2 ────────────────────┤
//	    │  (late copy of lock x) ───▶│ grant 9
//	    ├─ prepare, relies on 7 ────▶│ T holds x, but not by grant 7: votes no
//
// U must not be lost: what T has read is not current any more.
//
// # Use
//
// Package agent ends the attempts when they are prepared or decided, and checks grants by HoldsGrants.
package interactive

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Requests are the lock requests of a shard, with the components that they use.
type Requests struct {
	*step.Env
	Store    *store.Store
	Locks    *locktable.Table
	Queue    *snapshotqueue.Queue
	Exec     *exec.Executor
	Outcomes *outcome.Outcomes
	// Attempts are those with locks, waiting tasks or a prepared row; Ended remembers the ones that ended
	// without a record.
	Attempts *attempt.Table
	Ended    *outcome.Ended

	// transferring: no new locks are granted (SetTransferring).
	transferring bool
}

// SetTransferring begins or ends the time before a transfer of leadership, in which no new locks are granted: requests
// that wait are withdrawn, and others are ignored. Their gateways retry, and the next leader grants them (R14.3).
func (r *Requests) SetTransferring(is bool) {
	begins := is && !r.transferring
	r.transferring = is
	if !begins || !r.withholdsLocks() {
		return
	}
	for _, a := range r.Attempts.Sorted() {
		if len(a.LockTasks) == 0 {
			continue
		}
		for _, t := range a.LockTasks {
			r.Exec.Drop(t)
		}
		a.LockTasks = nil
		r.releaseFirstGrants(a)
	}
}

// HasHolders reports whether an attempt that is not prepared has been granted locks.
func (r *Requests) HasHolders() bool { return r.Attempts.HasLockHolders() }

// Receive handles a message. It reports false if the message is not for this component.
func (r *Requests) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Lock:
		r.onLock(b)
	case *msg.Check:
		r.onCheck(b)
	default:
		return false
	}
	return true
}

// OnStep continues the task of a request from the step that it has reached, until it waits or has ended.
func (r *Requests) OnStep(t *exec.Task, s exec.Step) {
	for s == exec.Ready {
		s = r.executeLock(t)
	}
	if s == exec.Refused {
		r.rejectLock(t, t.Failure)
	}
}

// onLock handles a lock request of an interactive transaction: it locks and reads, or reads
// optimistically, without a lock.
func (r *Requests) onLock(l *msg.Lock) {
	_, ended := r.Ended.Get(l.Txn)
	f := r.AttemptFailure(l.Txn, ended)
	if f != nil {
		r.Send(r.newLockResponse(l, &msg.LockResponse{Failure: f}))
		return
	}
	// The attempt has committed, and the request is a late copy. No message would release its lock,
	// so it is ignored.
	done := r.Outcomes.Finished(l.Txn.TxnID)
	if l.Txn.Attempt == done.Applied || l.Txn.Attempt == done.Committed {
		return
	}
	t := &exec.Task{Kind: exec.Optimistic, Txn: l.Txn, Gateway: l.Gateway, User: l.User, Ops: l.Ops, Owner: l}
	// An optimistic read has neither lock nor state: the version is validated in the deciding step.
	if !l.Optimistic {
		if r.withholdsLocks() && !r.isAnswered(l) {
			return
		}
		a := r.Attempts.Touch(r.Now, l.Txn, l.Gateway)
		if r.handleRepeatedLock(a, l) {
			return
		}
		t.Kind, t.NoWait, t.Admitted = exec.Lock, l.NoWait, a.HasLockRequests()
		t.Request = locktable.Request{Begun: l.Begun, Lasting: true}
		if a.LockTasks == nil {
			a.LockTasks = map[uint32]*exec.Task{}
		}
		a.LockTasks[l.Number] = t
	}
	r.OnStep(t, r.Exec.Begin(t))
}

// handleRepeatedLock handles a lock request that is not new: a retry, or a late copy.
func (r *Requests) handleRepeatedLock(a *attempt.Attempt, l *msg.Lock) bool {
	t, last := a.LockTasks[l.Number], a.LockResponse
	switch {
	case last != nil && last.Number == l.Number:
		// The response is immutable: the first message with it may not be encoded yet.
		m := msg.ToGateway(l.Gateway)
		m.Body = last
		r.Send(m)
	case t != nil:
		// The transaction was wounded after the first copy: if the request waits, it aborts.
		if l.NoWait {
			r.OnStep(t, r.Exec.Wound(t))
		}
		r.ReportWait(t, r.Exec.Receipt(t))
	default:
		// A late copy: the transaction has sent a later request, or its commit.
		return a.IsCommitting() || last != nil && l.Number < last.Number
	}
	return true
}

// isAnswered reports whether a lock request is a retry whose response is here.
func (r *Requests) isAnswered(l *msg.Lock) bool {
	a := r.Attempts.Get(l.Txn)
	return a != nil && a.LockResponse != nil && a.LockResponse.Number == l.Number
}

// newLockResponse addresses a response to a lock request.
func (r *Requests) newLockResponse(l *msg.Lock, reply *msg.LockResponse) *msg.Envelope {
	reply.Txn, reply.Number, reply.Shard, reply.Incarnation = l.Txn, l.Number, r.ID, r.Inc
	m := msg.ToGateway(l.Gateway)
	m.Body = reply
	return m
}

// executeLock executes a request under its locks and responds with results and grants.
func (r *Requests) executeLock(t *exec.Task) exec.Step {
	x, step := r.Exec.Run(t)
	if step != exec.Ready {
		return step
	}
	// A response above the size limit is a failure.
	f := x.Failure
	if f == nil {
		f = msg.MessageTooLarge(x.Results)
	}
	if f != nil {
		r.rejectLock(t, f)
		return exec.Waiting
	}
	reply := &msg.LockResponse{Results: x.Results, Receipt: r.Exec.Receipt(t), CSN: r.Store.CSN()}
	l := t.Owner.(*msg.Lock)
	if t.Kind == exec.Lock {
		r.Exec.ShrinkScans(t, x.Results)
		for _, g := range r.Exec.Grants(t) {
			reply.Grants = append(reply.Grants, grantMsg(g))
		}
		a := r.Attempts.Get(t.Txn)
		delete(a.LockTasks, l.Number)
		a.LockResponse = reply
	}
	r.Exec.Drop(t)
	r.Send(r.newLockResponse(l, reply))
	return exec.Waiting
}

func grantMsg(g locktable.Grant) msg.Grant {
	return msg.Grant{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode),
		Number: g.Number}
}

func grantOf(g *msg.Grant) locktable.Grant {
	return locktable.Grant{Span: g.Span(), Mode: adt.Mode(g.Mode), Number: g.Number}
}

// rejectLock responds with a failure. The locks of earlier requests stay until the gateway releases
// the attempt.
func (r *Requests) rejectLock(t *exec.Task, f *msg.Failure) {
	receipt := r.Exec.Receipt(t)
	r.Exec.Drop(t)
	l, a := t.Owner.(*msg.Lock), r.Attempts.Get(t.Txn)
	if a != nil && t.Kind == exec.Lock {
		delete(a.LockTasks, l.Number)
		r.releaseFirstGrants(a)
	}
	r.Send(r.newLockResponse(l, &msg.LockResponse{Failure: f, Receipt: receipt}))
}

// releaseFirstGrants releases all locks of an attempt if this was its first request: the gateway
// then does not know that it holds any. A later failure ends the transaction, and the gateway
// releases its locks.
func (r *Requests) releaseFirstGrants(a *attempt.Attempt) {
	if a.HasLockRequests() {
		return
	}
	r.Locks.ReleaseHeld(a.Txn)
	if !a.IsCommitting() {
		r.Attempts.Remove(a)
	}
}

// HoldsGrants reports whether the grants of a piece or a reader have been held without interruption.
// Holding the locks is not enough. A push breaks the lock of T; U writes the key; a delayed copy of
// T's lock request acquires the lock again. The numbers of the grants differ then.
func (r *Requests) HoldsGrants(txn kv.TxnRef, inc kv.Incarnation, grants []msg.Grant) bool {
	for i := range grants {
		if !r.holdsGrant(txn, inc, &grants[i]) {
			return false
		}
	}
	return true
}

// onCheck ends a locking read. If its grants on all shards have been held until now, all values were
// current at one instant. The response is remembered, because the locks are released: a retry cannot
// be checked again.
func (r *Requests) onCheck(c *msg.Check) {
	reply, _ := r.Ended.Get(c.Txn)
	if reply == nil {
		a := r.Attempts.Get(c.Txn)
		// Only its last agent may end a prepared attempt.
		if a.IsPrepared() {
			return
		}
		reply = &msg.CheckResponse{Txn: c.Txn, Shard: r.ID, Incarnation: r.Inc}
		reply.Ok = a != nil && r.passes(c)
		if a != nil {
			r.End(a)
		}
		r.Ended.Add(r.Now, c.Txn, reply)
	}
	m := msg.ToGateway(c.Gateway)
	m.Body = reply
	r.Send(m)
}

// End drops the tasks of an attempt, releases its locks and removes it.
func (r *Requests) End(a *attempt.Attempt) {
	for _, t := range a.LockTasks {
		r.Exec.Drop(t)
	}
	r.Exec.Drop(a.Preparing)
	a.LockTasks, a.LockResponse, a.Preparing = nil, nil, nil
	r.Locks.ReleaseHeld(a.Txn)
	r.Attempts.Remove(a)
}

// AttemptFailure returns why an attempt, or a commit of it, is rejected here; nil if it is not.
// ended: it has ended here. Otherwise its id may be too old or fenced.
func (r *Requests) AttemptFailure(txn kv.TxnRef, ended bool) *msg.Failure {
	if ended {
		return msg.Fail(msg.ReasonCancelled, kv.KindAborted, "the attempt has ended on this shard")
	}
	return r.Outcomes.IDFailure(txn.TxnID)
}

// ReportWait answers the retry of a request whose task waits. If the transaction fails before the
// wait ends, its client can report what it waited for. If the blocking transaction is prepared here,
// the report names the last agent that decides it, because the gateway ends the wait early if the
// node of that shard is down.
func (r *Requests) ReportWait(t *exec.Task, wait msg.Receipt) {
	wait = r.WorstReceipt(wait, t.Txn)
	if !wait.Open || wait.WaitedNanos == 0 {
		return
	}
	w := &msg.WaitReport{Txn: t.Txn, Shard: r.ID, Receipt: wait}
	a := r.Attempts.Get(wait.Holder)
	if a.IsPrepared() {
		w.Last, w.Prepared = a.Prepared.Row.Last, true
	}
	m := msg.ToGateway(t.Gateway)
	m.Body = w
	r.Urgent(m)
}

// WorstReceipt returns wait, or the receipt of the time for which readers have held the transaction
// here, if that is longer.
func (r *Requests) WorstReceipt(wait msg.Receipt, txn kv.TxnRef) msg.Receipt {
	nanos, _ := r.Queue.HeldTime(r.Now, txn)
	if nanos == 0 {
		return wait
	}
	return msg.Worst(wait, r.Queue.Receipt(r.Now, txn))
}
