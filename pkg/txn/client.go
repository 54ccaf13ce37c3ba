package txn

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// idInUse refuses an id that is in flight here, nil if it is not. If the transaction in flight may
// commit, the failure is "unknown": the client may have sent the same request twice, and must not
// conclude from the refusal of the copy that nothing is applied.
func (g *Gateway) idInUse(id kv.TxnID) *msg.Failure {
	// The query is about to fence the id. A transaction that began now would be rejected by the shards
	// that have done so.
	if g.status.IsInFlight(id) {
		return env.Failure(msg.ReasonFenced, kv.KindAborted, "a query of the transaction's outcome is in flight")
	}
	f := g.flows.newest(id)
	switch _, open := f.(flow.InteractiveTxn); {
	case f == nil:
		return nil
	case isCommitting(f), !open && !f.Base().ReadOnly:

		text := "a transaction with this id is in flight and may be applied"
		return env.Failure(msg.ReasonRequest, kv.KindOutcomeUnknown, text)
	}
	text := "a transaction with this id is in flight; use a new id for each transaction"
	return env.Failure(msg.ReasonRequest, kv.KindInvalid, text)
}

// isCommitting reports whether a flow has sent its commit.
func isCommitting(f flow.Flow) bool { return f.Base().Phase == flow.Committing }

// begin starts a call, unless it is refused or its id is in flight.
func (g *Gateway) begin(f flow.Flow, refused *msg.Failure) {
	c := f.Base()
	// The id is checked first: a request with an id in flight must not learn anything from a refusal
	// of its options.
	why := g.idInUse(c.Ref.TxnID)
	if why == nil {
		why = refused
	}
	if why != nil {
		g.gw.Respond(c, flow.Done{Failure: why, Closed: true})
		return
	}
	g.flows.start(f)
}

// Execute executes a one-shot transaction: ops in order, all or none. They have been validated. The
// gateway numbers them, and owns them from now on. The Done has the results.
func (g *Gateway) Execute(now int64, handle CallHandle, id kv.TxnID, ops []msg.Op, deadline int64, how TxnOptions) {
	g.gw.AdvanceTo(now)
	o := g.flows.pool.Get()
	o.Init(g.gw, handle, id, ops, deadline, how)
	g.begin(o, how.Validate(o.ReadOnly, g.gw.Router.Shards()))
}

// Scan opens a strictly serializable scan over all shards, in reverse order if requested: it fixes
// a snapshot, and Next reads its pages. The Done has no pairs. The deadline is for the opening.
func (g *Gateway) Scan(
	now int64, handle CallHandle, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how TxnOptions,
) kv.TxnRef {
	g.gw.AdvanceTo(now)
	s := flow.NewScan(g.gw, handle, id, span, reverse, deadline, how)
	g.begin(s, how.Validate(true, g.gw.Router.Shards()))
	return s.Ref
}

// Next reads the next page of an open scan. At most left more pairs are needed; 0 is no
// bound. More in its Done reports whether another page may follow.
func (g *Gateway) Next(now int64, handle CallHandle, ref kv.TxnRef, left int) {
	g.gw.AdvanceTo(now)
	s, ok := g.flows.find(ref).(*flow.Scan)
	if ok {
		var o flow.Outcome
		o, ok = s.Next(g.gw, handle, left)
		g.flows.apply(s, o)
	}
	if !ok {
		text := "the scan no longer exists; start it again"
		g.respondNotOpen(handle, ref, env.Failure(msg.ReasonRequest, kv.KindAborted, text))
	}
}

// respondNotOpen responds to a request for a transaction or scan that is not open: with the reason
// for which it has ended if that is remembered, else with why.
func (g *Gateway) respondNotOpen(handle CallHandle, ref kv.TxnRef, why *msg.Failure) {
	remembered := g.flows.failures.byRef[ref]
	if remembered != nil {
		why = remembered
	}
	g.gw.Done = append(g.gw.Done, Done{Handle: handle, Txn: ref, Failure: why, Closed: true})
}

// Close ends a scan, whichever attempt of its opening is in flight.
//
// Without it the shards would retain the snapshot for another minute, and finish pages that no client reads.
func (g *Gateway) Close(now int64, ref kv.TxnRef) {
	g.gw.AdvanceTo(now)
	s, ok := g.flows.newest(ref.TxnID).(*flow.Scan)
	if ok {
		g.flows.Finish(s, Done{Failure: env.Failure(msg.ReasonCancelled, kv.KindCancelled, "the scan was closed")})
	}
}

// RetainSnapshot fixes a snapshot at one instant between now and its Done, and retains it under a
// name for ttl nanoseconds. Done.Snapshots has it.
func (g *Gateway) RetainSnapshot(now int64, handle CallHandle, id kv.TxnID, name string, ttl, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewRetain(g.gw, handle, id, name, ttl, deadline), nil)
}

// Snapshots lists the snapshots with a name.
func (g *Gateway) Snapshots(now int64, handle CallHandle, id kv.TxnID, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewList(g.gw, handle, id, deadline), nil)
}

// DropSnapshot drops a snapshot. Done.Snapshots is its last entry.
func (g *Gateway) DropSnapshot(now int64, handle CallHandle, id kv.TxnID, at SnapshotRef, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewDrop(g.gw, handle, id, at, deadline), nil)
}

// HotStatus queries the status of hot keys. Done.Hot is the response.
func (g *Gateway) HotStatus(now int64, handle CallHandle, id kv.TxnID, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewHotPolicy(g.gw, handle, id, nil, deadline), nil)
}

// SetHotPolicy sets a placement rule, unless r is nil, and the mode, unless that is 0 (msg.SetHotPolicy).
// Done.Hot is the status after that.
func (g *Gateway) SetHotPolicy(now int64, handle CallHandle, id kv.TxnID, r *msg.HotRule, mode uint32, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewHotPolicy(g.gw, handle, id, &msg.SetHotPolicy{Rule: r, Mode: mode}, deadline), nil)
}

// Move moves a key between two shards, of which one is its home and the other the hot shard. Its
// Done reports whether it has moved. If the key is not on shard from, nothing happens, so Move may
// be called at any time.
func (g *Gateway) Move(now int64, handle CallHandle, id kv.TxnID, key []byte, from, to kv.ShardID, deadline int64) {
	g.gw.AdvanceTo(now)
	g.begin(flow.NewMove(g.gw, handle, kv.TxnRef{TxnID: id, Attempt: 1}, key, from, to, deadline), nil)
}

// AbortTxn aborts a transaction on behalf of an administrator, and reports whether it is in flight here.
// If it has sent its commit, the gateway cancels it at the last agent, which alone decides.
//
// The client gets the failure of the administrator's request. Its deadline plays no role.
func (g *Gateway) AbortTxn(now int64, id kv.TxnID) bool {
	g.gw.AdvanceTo(now)
	f := g.flows.newest(id)
	if f == nil || !f.Base().Kind.IsTransaction() {
		return false
	}
	c, commits := f.(flow.Committer)
	if commits && f.Base().Phase == flow.Committing {
		c.Commit().Cancel(g.gw.Env)
		g.gw.WakeAt(g.gw.Now)
		return true
	}
	g.flows.Abort(f, env.Failure(msg.ReasonCancelled, kv.KindCancelled, "an administrator ended the transaction"))
	return true
}

// QueryOutcome queries the outcome of a transaction whose response was lost (package status). Committed
// in its Done reports it, with the results if they are still stored; "not committed" is no failure.
// Before it is reported, every shard has fenced the id durably. Fences count against the user's
// limit, which may reject the query.
func (g *Gateway) QueryOutcome(now int64, handle CallHandle, id kv.TxnID, user kv.Account, deadline int64) {
	g.gw.AdvanceTo(now)
	g.status.Start(handle, id, user, deadline)
}

// LendSnapshot fixes a snapshot for another machine of the node. The Done has it. It is retained until
// ReturnSnapshot has been called as often as it was lent.
func (g *Gateway) LendSnapshot(now int64, handle CallHandle) {
	g.gw.AdvanceTo(now)
	g.flows.start(flow.NewLoan(g.gw, handle))
}

// ReturnSnapshot ends the use of a snapshot by another machine.
func (g *Gateway) ReturnSnapshot(now int64, name kv.TxnRef) {
	g.gw.AdvanceTo(now)
	g.gw.Rounds.GivenBack(name)
}

// OnBorrowedSnapshot delivers the snapshot that Output.BorrowSnapshot has requested, or why there is none.
func (g *Gateway) OnBorrowedSnapshot(now int64, s *State, f *msg.Failure) {
	g.gw.AdvanceTo(now)
	if f != nil {
		s = nil
	}
	p, waiters := g.gw.Rounds.Borrowed(s)
	g.flows.deliverSnapshot(p, waiters, f)
}

// The requests of shards.

// onExpireKey deletes an expired key, unless its deadline has changed since. It is a one-shot
// without a client. The shard sees whether the key is gone, and repeats the request if not.
func (g *Gateway) onExpireKey(k *msg.ExpireKey) {
	// A copy of a request whose delete is in flight.
	if g.flows.newest(k.Txn.TxnID) != nil {
		return
	}
	ops := []msg.Op{{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}
	g.Execute(g.gw.Now, nil, k.Txn.TxnID, ops, g.gw.Now+int64(kv.DefaultExpiryTimeout), TxnOptions{})
}

// onMoveKey: the planner of hot keys requests a move. A copy of the request is ignored while the
// move is in flight.
func (g *Gateway) onMoveKey(m *msg.MoveKey) {
	if g.flows.newest(m.Txn.TxnID) == nil {
		deadline := g.gw.Now + int64(kv.DefaultMoveTimeout)
		g.begin(flow.NewMove(g.gw, nil, m.Txn, m.Key, m.From, m.To, deadline), nil)
	}
}

// partialHistoryGap is the least time between two snapshots of the history while shards are
// excluded from rounds. Such a round includes them, and blocks their updates until they have
// responded. Somewhat arbitrary: a tenth of it is more than the worst latency of most disks.
const partialHistoryGap = 10 * time.Second

// onSnapshotDue: the snapshot registry requests a snapshot of the present, for the history. There
// is one request at a time, and one that is skipped is repeated by the registry.
func (g *Gateway) onSnapshotDue() {
	if g.historyFlow != nil && g.flows.newest(g.historyFlow.Ref.TxnID) == flow.Flow(g.historyFlow) {
		return
	}
	// A snapshot of the history needs all shards, including those that are excluded because they are
	// slow.
	if !g.gw.Shards.NoneLeftOut() {
		if g.gw.Now < g.historyFrom {
			return
		}
		g.historyFrom = g.gw.Now + int64(partialHistoryGap)
	}
	g.historyFlow = flow.NewRetain(g.gw, nil, g.gw.NewID(), "", 0, env.Never)
	g.flows.start(g.historyFlow)
}
