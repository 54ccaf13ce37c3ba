package txn

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// taken refuses an id that is under way here.
func (g *Gateway) taken(id kv.TxnID) *msg.Failure {
	if g.status.Has(id) {
		return env.Failure(msg.ReasonFenced, kv.KindAborted, "a query of the transaction's outcome is in flight")
	}
	f := g.flows.newest(id)
	switch _, open := f.(flow.Open); {
	case f == nil:
		return nil
	case commits(f), !open && !f.Base().ReadOnly:
		// The sender of a copy must not take it for refused: the first one may commit.
		return env.Failure(msg.ReasonRequest, kv.KindOutcomeUnknown, "a transaction with this id is in flight and may be applied")
	}
	text := "a transaction with this id is in flight; use a new id for each transaction"
	return env.Failure(msg.ReasonRequest, kv.KindInvalid, text)
}

// commits reports whether a flow has asked for its commit.
func commits(f flow.Flow) bool { return f.Base().Phase == flow.Committing }

// begin starts a call, unless it is refused, or its id is under way.
func (g *Gateway) begin(f flow.Flow, refused *msg.Failure) {
	c := f.Base()
	why := g.taken(c.Ref.TxnID)
	if why == nil {
		why = refused
	}
	if why != nil {
		g.host.Answer(c, flow.Done{Failure: why, Closed: true})
		return
	}
	g.flows.launch(f)
}

// Execute starts a one-shot transaction: ops in order, all or none. They have been validated;
// the gateway numbers them. Its Done carries the results.
func (g *Gateway) Execute(now int64, token Token, id kv.TxnID, ops []msg.Op, deadline int64, how How) {
	g.host.At(now)
	o := g.flows.pool.Get()
	o.Init(g.host, token, id, ops, deadline, how)
	g.begin(o, how.Refuse(o.ReadOnly, g.host.Router.Shards()))
}

// Scan opens a strictly serializable scan over all shards, perhaps from the last key on: it
// fixes a state, and Next reads pages of it. Its Done has no pairs. The deadline is for the
// opening.
func (g *Gateway) Scan(
	now int64, token Token, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how How,
) kv.TxnRef {
	g.host.At(now)
	s := flow.NewScan(g.host, token, id, span, reverse, deadline, how)
	g.begin(s, how.Refuse(true, g.host.Router.Shards()))
	return s.Ref
}

// Next reads the next page of an open scan, of which the client wants left pairs at most; 0 is no bound.
// Its Done says in More whether there may be others.
func (g *Gateway) Next(now int64, token Token, ref kv.TxnRef, left int) {
	g.host.At(now)
	s, ok := g.flows.find(ref).(*flow.Scan)
	if ok {
		var o flow.Outcome
		o, ok = s.Next(g.host, token, left)
		g.flows.handle(s, o)
	}
	if !ok {
		g.answerNone(token, ref, env.Failure(msg.ReasonRequest, kv.KindAborted, "the scan no longer exists; start it again"))
	}
}

// answerNone answers a request about what is not open: why it is not, if that is remembered.
func (g *Gateway) answerNone(token Token, ref kv.TxnRef, why *msg.Failure) {
	remembered := g.flows.failed.why[ref]
	if remembered != nil {
		why = remembered
	}
	g.host.Done = append(g.host.Done, Done{Token: token, Txn: ref, Failure: why, Closed: true})
}

// Close gives a scan up, whichever attempt to open it is under way.
func (g *Gateway) Close(now int64, ref kv.TxnRef) {
	g.host.At(now)
	s, ok := g.flows.newest(ref.TxnID).(*flow.Scan)
	if ok {
		g.flows.Finish(s, Done{Failure: env.Failure(msg.ReasonCancelled, kv.KindCancelled, "the scan was closed")})
	}
}

// KeepSnapshot fixes the state of the whole store at one instant between now and its Done, and
// has it kept under a name for a time. Done.Pins is the snapshot.
func (g *Gateway) KeepSnapshot(now int64, token Token, id kv.TxnID, name string, ttl, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewKeep(g.host, token, id, name, ttl, deadline), nil)
}

// Snapshots lists the snapshots that have a name.
func (g *Gateway) Snapshots(now int64, token Token, id kv.TxnID, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewList(g.host, token, id, deadline), nil)
}

// DropSnapshot gives a snapshot up. Done.Pins is what it was.
func (g *Gateway) DropSnapshot(now int64, token Token, id kv.TxnID, at At, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewDrop(g.host, token, id, at, deadline), nil)
}

// Hot asks what is known of hot keys. Done.Hot is the answer.
func (g *Gateway) Hot(now int64, token Token, id kv.TxnID, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewRule(g.host, token, id, nil, deadline), nil)
}

// SetHot has the hot shard keep a rule about hot keys, unless it is nil, and go by a mode,
// unless that is 0 (msg.SetHot). Done.Hot is what is known after that.
func (g *Gateway) SetHot(now int64, token Token, id kv.TxnID, r *msg.HotRule, mode uint32, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewRule(g.host, token, id, &msg.SetHotPolicy{Rule: r, Mode: mode}, deadline), nil)
}

// Move moves a key from one shard to another; one of them is the key's home, the other the hot
// shard. Done says whether it has moved. It may be called for any key at any time: if the key
// is not where it is said to be, nothing is moved.
func (g *Gateway) Move(now int64, token Token, id kv.TxnID, key []byte, from, to kv.ShardID, deadline int64) {
	g.host.At(now)
	g.begin(flow.NewMove(g.host, token, kv.TxnRef{TxnID: id, Attempt: 1}, key, from, to, deadline), nil)
}

// End ends a transaction that is under way here, and reports whether there is one. If it has asked to
// commit, only its last agent can end it, and is asked to.
func (g *Gateway) End(now int64, id kv.TxnID) bool {
	g.host.At(now)
	f := g.flows.newest(id)
	if f == nil || !f.Base().Kind.Transaction() {
		return false
	}
	c, commits := f.(flow.Committer)
	if commits && f.Base().Phase == flow.Committing {
		c.Commit().Cancel(g.host.Env)
		g.host.Timed(g.host.Now)
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
	g.host.At(now)
	g.status.Ask(token, id, user, deadline)
}

// Lend has a state fixed from now on. It is in the Done, and is kept until it has been given
// back as often as it was lent.
func (g *Gateway) Lend(now int64, token Token) {
	g.host.At(now)
	g.flows.launch(flow.NewLending(g.host, token))
}

// GiveBack ends the use that another machine made of a state.
func (g *Gateway) GiveBack(now int64, name kv.TxnRef) {
	g.host.At(now)
	g.host.Rounds.GivenBack(name)
}

// Borrowed is what came of Output.Borrow: a state, or why there is none.
func (g *Gateway) Borrowed(now int64, s *State, f *msg.Failure) {
	g.host.At(now)
	if f != nil {
		s = nil
	}
	p, waiters := g.host.Rounds.Borrowed(s)
	g.flows.seat(p, waiters, f)
}

// What shards ask for.

// expire deletes a key that is due, unless it has been written since. It is a one-shot like
// those of clients, without a client: the shard sees whether the key is gone, and asks again if
// it is not.
func (g *Gateway) expire(k *msg.ExpireKey) {
	if g.flows.newest(k.Txn.TxnID) != nil {
		return
	}
	ops := []msg.Op{{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}
	g.Execute(g.host.Now, nil, k.Txn.TxnID, ops, g.host.Now+int64(kv.DefaultExpiryTime), How{})
}

// moveKey: the planner of hot keys wants a key moved.
func (g *Gateway) moveKey(m *msg.MoveKey) {
	if g.flows.newest(m.Txn.TxnID) == nil {
		deadline := g.host.Now + int64(kv.DefaultMoveTime)
		g.begin(flow.NewMove(g.host, nil, m.Txn, m.Key, m.From, m.To, deadline), nil)
	}
}

// slowHistory is the least time between two states of the history that need shards which are left out
// of rounds: these hold their updates until they have answered. Somewhat arbitrary: a tenth of that
// is more than most disks take.
const slowHistory = 10 * time.Second

// snapshotDue: the snapshot registry wants a state of the present. One at a time is enough.
func (g *Gateway) snapshotDue() {
	if g.due != nil && g.flows.newest(g.due.Ref.TxnID) == flow.Flow(g.due) {
		return
	}
	if !g.host.Shards.NoneLeftOut() {
		if g.host.Now < g.dueFrom {
			return // the registry asks again
		}
		g.dueFrom = g.host.Now + int64(slowHistory)
	}
	g.due = flow.NewKeep(g.host, nil, g.host.NewID(), "", 0, env.Never)
	g.flows.launch(g.due)
}
