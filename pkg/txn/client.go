package txn

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// taken refuses an id that is under way here.
func (g *Gateway) idInUse(id kv.TxnID) *msg.Failure {
	if g.status.Has(id) {
		return env.Failure(msg.ReasonFenced, kv.KindAborted, "a query of the transaction's outcome is in flight")
	}
	f := g.flows.newest(id)
	switch _, open := f.(flow.InteractiveTxn); {
	case f == nil:
		return nil
	case isCommitting(f), !open && !f.Base().ReadOnly:
		// The sender of a copy must not take it for refused: the first one may commit.
		return env.Failure(msg.ReasonRequest, kv.KindOutcomeUnknown, "a transaction with this id is in flight and may be applied")
	}
	text := "a transaction with this id is in flight; use a new id for each transaction"
	return env.Failure(msg.ReasonRequest, kv.KindInvalid, text)
}

// commits reports whether a flow has asked for its commit.
func isCommitting(f flow.Flow) bool { return f.Base().Phase == flow.Committing }

// begin starts a call, unless it is refused, or its id is under way.
func (g *Gateway) begin(f flow.Flow, refused *msg.Failure) {
	c := f.Base()
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

// Execute starts a one-shot transaction: ops in order, all or none. They have been validated;
// the gateway numbers them. Its Done carries the results.
func (g *Gateway) Execute(now int64, token Token, id kv.TxnID, ops []msg.Op, deadline int64, how How) {
	g.gw.At(now)
	o := g.flows.pool.Get()
	o.Init(g.gw, token, id, ops, deadline, how)
	g.begin(o, how.Validate(o.ReadOnly, g.gw.Router.Shards()))
}

// Scan opens a strictly serializable scan over all shards, perhaps from the last key on: it
// fixes a state, and Next reads pages of it. Its Done has no pairs. The deadline is for the
// opening.
func (g *Gateway) Scan(
	now int64, token Token, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how How,
) kv.TxnRef {
	g.gw.At(now)
	s := flow.NewScan(g.gw, token, id, span, reverse, deadline, how)
	g.begin(s, how.Validate(true, g.gw.Router.Shards()))
	return s.Ref
}

// Next reads the next page of an open scan, of which the client wants left pairs at most; 0 is no bound.
// Its Done says in More whether there may be others.
func (g *Gateway) Next(now int64, token Token, ref kv.TxnRef, left int) {
	g.gw.At(now)
	s, ok := g.flows.find(ref).(*flow.Scan)
	if ok {
		var o flow.Outcome
		o, ok = s.Next(g.gw, token, left)
		g.flows.apply(s, o)
	}
	if !ok {
		g.respondNotOpen(token, ref, env.Failure(msg.ReasonRequest, kv.KindAborted, "the scan no longer exists; start it again"))
	}
}

// answerNone answers a request about what is not open: why it is not, if that is remembered.
func (g *Gateway) respondNotOpen(token Token, ref kv.TxnRef, why *msg.Failure) {
	remembered := g.flows.failures.byRef[ref]
	if remembered != nil {
		why = remembered
	}
	g.gw.Done = append(g.gw.Done, Done{Token: token, Txn: ref, Failure: why, Closed: true})
}

// Close gives a scan up, whichever attempt to open it is under way.
func (g *Gateway) Close(now int64, ref kv.TxnRef) {
	g.gw.At(now)
	s, ok := g.flows.newest(ref.TxnID).(*flow.Scan)
	if ok {
		g.flows.Finish(s, Done{Failure: env.Failure(msg.ReasonCancelled, kv.KindCancelled, "the scan was closed")})
	}
}

// KeepSnapshot fixes the state of the whole store at one instant between now and its Done, and
// has it kept under a name for a time. Done.Pins is the snapshot.
func (g *Gateway) KeepSnapshot(now int64, token Token, id kv.TxnID, name string, ttl, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewRetain(g.gw, token, id, name, ttl, deadline), nil)
}

// Snapshots lists the snapshots that have a name.
func (g *Gateway) Snapshots(now int64, token Token, id kv.TxnID, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewList(g.gw, token, id, deadline), nil)
}

// DropSnapshot gives a snapshot up. Done.Pins is what it was.
func (g *Gateway) DropSnapshot(now int64, token Token, id kv.TxnID, at At, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewDrop(g.gw, token, id, at, deadline), nil)
}

// Hot asks what is known of hot keys. Done.Hot is the answer.
func (g *Gateway) Hot(now int64, token Token, id kv.TxnID, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewHotPolicy(g.gw, token, id, nil, deadline), nil)
}

// SetHot has the hot shard keep a rule about hot keys, unless it is nil, and go by a mode,
// unless that is 0 (msg.SetHot). Done.Hot is what is known after that.
func (g *Gateway) SetHot(now int64, token Token, id kv.TxnID, r *msg.HotRule, mode uint32, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewHotPolicy(g.gw, token, id, &msg.SetHotPolicy{Rule: r, Mode: mode}, deadline), nil)
}

// Move moves a key from one shard to another; one of them is the key's home, the other the hot
// shard. Done says whether it has moved. It may be called for any key at any time: if the key
// is not where it is said to be, nothing is moved.
func (g *Gateway) Move(now int64, token Token, id kv.TxnID, key []byte, from, to kv.ShardID, deadline int64) {
	g.gw.At(now)
	g.begin(flow.NewMove(g.gw, token, kv.TxnRef{TxnID: id, Attempt: 1}, key, from, to, deadline), nil)
}

// End ends a transaction that is under way here, and reports whether there is one. If it has asked to
// commit, only its last agent can end it, and is asked to.
func (g *Gateway) End(now int64, id kv.TxnID) bool {
	g.gw.At(now)
	f := g.flows.newest(id)
	if f == nil || !f.Base().Kind.IsTransaction() {
		return false
	}
	c, commits := f.(flow.Committer)
	if commits && f.Base().Phase == flow.Committing {
		c.Commit().Cancel(g.gw.Env)
		g.gw.Timed(g.gw.Now)
		return true
	}
	g.flows.Abort(f, env.Failure(msg.ReasonCancelled, kv.KindCancelled, "an administrator ended the transaction"))
	return true
}

// Outcome finds out what became of a transaction whose answer was lost (package status). Its
// Done says Committed, with the results if they are still known; not committed is no failure.
// If it has not committed it is closed for good, on every shard and durably, before that is
// the answer; what is closed is counted to the user, and there may be no room for one more.
func (g *Gateway) Outcome(now int64, token Token, id kv.TxnID, user kv.Account, deadline int64) {
	g.gw.At(now)
	g.status.Ask(token, id, user, deadline)
}

// Lend has a state fixed from now on. It is in the Done, and is kept until it has been given
// back as often as it was lent.
func (g *Gateway) Lend(now int64, token Token) {
	g.gw.At(now)
	g.flows.start(flow.NewLoan(g.gw, token))
}

// GiveBack ends the use that another machine made of a state.
func (g *Gateway) GiveBack(now int64, name kv.TxnRef) {
	g.gw.At(now)
	g.gw.Rounds.GivenBack(name)
}

// Borrowed is what came of Output.Borrow: a state, or why there is none.
func (g *Gateway) Borrowed(now int64, s *State, f *msg.Failure) {
	g.gw.At(now)
	if f != nil {
		s = nil
	}
	p, waiters := g.gw.Rounds.Borrowed(s)
	g.flows.deliverSnapshot(p, waiters, f)
}

// What shards ask for.

// expire deletes a key that is due, unless it has been written since. It is a one-shot like
// those of clients, without a client: the shard sees whether the key is gone, and asks again if
// it is not.
func (g *Gateway) onExpireKey(k *msg.ExpireKey) {
	if g.flows.newest(k.Txn.TxnID) != nil {
		return
	}
	ops := []msg.Op{{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}
	g.Execute(g.gw.Now, nil, k.Txn.TxnID, ops, g.gw.Now+int64(kv.DefaultExpiryTime), How{})
}

// moveKey: the planner of hot keys wants a key moved.
func (g *Gateway) onMoveKey(m *msg.MoveKey) {
	if g.flows.newest(m.Txn.TxnID) == nil {
		deadline := g.gw.Now + int64(kv.DefaultMoveTime)
		g.begin(flow.NewMove(g.gw, nil, m.Txn, m.Key, m.From, m.To, deadline), nil)
	}
}

// slowHistory is the least time between two states of the history that need shards which are left out
// of rounds: these hold their updates until they have answered. Somewhat arbitrary: a tenth of that
// is more than most disks take.
const partialHistoryGap = 10 * time.Second

// snapshotDue: the snapshot registry wants a state of the present. One at a time is enough.
func (g *Gateway) onSnapshotDue() {
	if g.historyFlow != nil && g.flows.newest(g.historyFlow.Ref.TxnID) == flow.Flow(g.historyFlow) {
		return
	}
	if !g.gw.Shards.NoneLeftOut() {
		if g.gw.Now < g.historyFrom {
			return // the registry asks again
		}
		g.historyFrom = g.gw.Now + int64(partialHistoryGap)
	}
	g.historyFlow = flow.NewRetain(g.gw, nil, g.gw.NewID(), "", 0, env.Never)
	g.flows.start(g.historyFlow)
}
