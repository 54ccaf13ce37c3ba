package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Begin opens an interactive transaction. A retry passes the same id with the next attempt number,
// and keeps its age. It aborts an earlier attempt that is still open: the client has lost the
// connection on which it had begun. A retained snapshot is looked up with the first request. The
// result is nil if the transaction is open.
//
// It sends no message: locks and registrations come with the first request, so an open transaction that does nothing
// costs the shards nothing.
func (g *Gateway) Begin(now int64, ref kv.TxnRef, readOnly bool, how TxnOptions) *msg.Failure {
	g.gw.AdvanceTo(now)
	f := g.supersede(ref)
	if f == nil {
		f = g.idInUse(ref.TxnID)
	}
	if f == nil {
		f = how.Validate(readOnly, g.gw.Router.Shards())
	}
	if f != nil {
		return f
	}
	o := flow.NewInteractive(g.gw, ref, readOnly, how)
	f = g.gw.Admitter.AdmitOpen(o.Base())
	if f != nil {
		return f
	}
	g.flows.add(o)
	g.gw.WakeAt(o.Base().Deadline())
	return nil
}

// supersede aborts an earlier attempt of an interactive transaction, which its client has
// abandoned. It returns a failure if that attempt cannot be aborted, or if ref is the earlier one:
// its Begin was delayed, and the client waits for the later attempt.
//
// Sequence: the client's connection breaks during Do of attempt 1, and the client begins attempt 2. If
// attempt 1 stayed open, attempt 2 would wait for its locks until a wound has aborted it.
func (g *Gateway) supersede(ref kv.TxnRef) *msg.Failure {
	f, open := g.flows.newest(ref.TxnID).(flow.InteractiveTxn)
	if !open || f.Base().Ref.Attempt == ref.Attempt {
		return nil
	}
	superseded := env.Failure(msg.ReasonCancelled, kv.KindAborted, "a later attempt of the transaction has begun")
	switch {
	case f.Base().Ref.Attempt > ref.Attempt:
		return superseded
	case f.Base().Phase == flow.Committing:
		// Only the last agent can abort it now. The client retries until the outcome is known.
		return env.Failure(msg.ReasonConcurrentCommit, kv.KindAborted, "an earlier attempt of the transaction is committing")
	}
	g.flows.Abort(f, superseded)
	return nil
}

// findIdle returns an interactive transaction that can execute a request. If there is none, it
// responds to the request.
//
// A transaction has one request at a time: the results of two would depend on their order, which the network decides.
func (g *Gateway) findIdle(handle CallHandle, ref kv.TxnRef) flow.InteractiveTxn {
	found := g.flows.find(ref)
	f, ok := found.(flow.InteractiveTxn)
	var why *msg.Failure
	switch {
	// It was aborted while it was idle, for example because it held a lock that others waited for.
	case found == nil && g.flows.failures.byRef[ref] != nil:
		why = g.flows.failures.byRef[ref]
	case !ok:
		why = env.Failure(msg.ReasonRequest, kv.KindInvalid, "the transaction is not open")
	case f.Base().Phase != flow.Idle:
		why = env.Failure(msg.ReasonRequest, kv.KindInvalid, "the previous call of the transaction is still in flight")
	default:
		f.Base().Handle = handle
		return f
	}
	d := Done{Handle: handle, Txn: ref, Failure: why, Closed: found == nil}
	d.Ended.Add(why)
	g.gw.Done = append(g.gw.Done, d)
	return nil
}

// Do executes operations in an interactive transaction: reads return values, writes are buffered. A
// failed condition fails the request, not the transaction. If deadline is not 0, the transaction is
// aborted a little before it unless the request has ended.
//
//	failure of                             effect
//	the request (a condition, a limit)     the request fails; the transaction stays open
//	a node that is down or drains          the transaction aborts
//	admission of further keys              the transaction ends
//	a lock, a wound, a stale read          the transaction aborts; the client begins the next attempt
func (g *Gateway) Do(now int64, handle CallHandle, ref kv.TxnRef, ops []msg.Op, deadline int64) {
	g.gw.AdvanceTo(now)
	f := g.findIdle(handle, ref)
	if f == nil {
		return
	}
	x := f.Txn()
	why := x.BeginDo(g.gw, ops, deadline)
	if why != nil {
		x.FailCall(g.gw, why)
		return
	}
	why = x.Unavailable(g.gw)
	if why != nil {
		g.flows.Abort(f, why)
		return
	}
	why = g.gw.Admitter.AdmitCall(x)
	if why != nil {
		g.flows.Finish(f, Done{Failure: why})
		return
	}
	g.flows.apply(f, f.Fetch(g.gw))
}

// Commit ends a transaction. Its Done reports whether it has committed.
func (g *Gateway) Commit(now int64, handle CallHandle, ref kv.TxnRef, deadline int64) {
	g.gw.AdvanceTo(now)
	f := g.findIdle(handle, ref)
	if f == nil {
		return
	}
	x := f.Txn()
	x.BeginCommit(g.gw, deadline)
	// Without writes, only the reads have to be validated.
	if len(x.Session().Buffer()) == 0 {
		g.flows.apply(f, f.FinishReads(g.gw))
		return
	}
	g.flows.apply(f, f.CommitWrites(g.gw))
}

// Rollback aborts a transaction. With validate, its Done reports, by a nil Failure, that all reads
// were current at one instant; otherwise the client must not rely on what it has concluded from
// them. Locks can be lost, too, so a transaction without optimistic reads is validated as well.
func (g *Gateway) Rollback(now int64, handle CallHandle, ref kv.TxnRef, validate bool) {
	g.gw.AdvanceTo(now)
	var unknown *msg.Failure
	if validate {
		unknown = notValidated()
	}
	f, ok := g.flows.find(ref).(flow.InteractiveTxn)
	if !ok || f.Base().Phase == flow.Committing || f.Base().Phase == flow.Checking {
		g.respondNotOpen(handle, ref, unknown)
		return
	}
	c := f.Base()
	if c.Handle != nil {
		why := env.Failure(msg.ReasonCancelled, kv.KindCancelled, "the transaction was rolled back")
		g.gw.Respond(c, Done{Failure: why, Closed: true})
	}
	c.Handle = handle
	if validate && c.Phase == flow.Idle {
		f.Txn().BeginValidatingRollback()
		g.flows.apply(f, f.FinishReads(g.gw))
		return
	}
	f.Release(g.gw)
	g.flows.Finish(f, Done{Failure: unknown})
}

// notValidated is the failure of a validating rollback of a transaction whose reads cannot be
// validated any more, or not while a request is in flight.
func notValidated() *msg.Failure {
	text := "the reads of the transaction cannot be validated: it is not open, or a call is in flight"
	return env.Failure(msg.ReasonStaleRead, kv.KindAborted, text)
}

// Savepoint sets a savepoint in an interactive transaction, for RollbackTo. Its response needs no
// shard. A transaction has up to kv.MaxSavepoints; a name has 1 to kv.MaxSavepointName bytes.
func (g *Gateway) Savepoint(now int64, handle CallHandle, ref kv.TxnRef, name string) {
	g.savepoint(now, handle, ref, func(s *session.Session) *msg.Failure { return s.Savepoint(name) })
}

// RollbackTo discards what a transaction has written since its newest savepoint of a name, and the
// later savepoints; the named one remains. Locks acquired since are kept and reads since are
// validated: the client may rely on them.
func (g *Gateway) RollbackTo(now int64, handle CallHandle, ref kv.TxnRef, name string) {
	g.savepoint(now, handle, ref, func(s *session.Session) *msg.Failure { return s.RollbackTo(name) })
}

// Release removes the newest savepoint of a name, and the later ones. The writes remain.
func (g *Gateway) Release(now int64, handle CallHandle, ref kv.TxnRef, name string) {
	g.savepoint(now, handle, ref, func(s *session.Session) *msg.Failure { return s.Release(name) })
}

func (g *Gateway) savepoint(now int64, handle CallHandle, ref kv.TxnRef, change func(*session.Session) *msg.Failure) {
	g.gw.AdvanceTo(now)
	f := g.findIdle(handle, ref)
	if f != nil {
		f.Txn().EndLocalCall(g.gw, change(f.Txn().Session()))
	}
}
