package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Round executes a snapshot round, for all flows that wait for it. It has no client. If a shard
// does not respond within RoundTimes.Wait, the snapshot has no part of that shard.
//
//	gateway               s1                  s2                  hot shard (last)
//	├─ fix, register ────▶│                   │                   │
//	├─ fix, register ────────────────────────▶│                   │
//	├─ fix ──────────────────────────────────────────────────────▶│ waits for both notices
//	│◀─ CSN 7 ────────────┤── registered ─────────────────────────▶│
//	│◀─ CSN 4 ────────────────────────────────┤── registered ─────▶│ fixes CSN 9: the instant
//	│◀─ CSN 9 ────────────────────────────────────────────────────┤
//	├─ deregister: complete ─▶ all shards retain their CSNs; held updates seal
type Round struct {
	Call
	round   *round.Round
	reading *readreq.Reading
	// waiters are the flows that receive the snapshot, or the failure.
	waiters []round.Waiter
}

// NewRound makes the flow of a round. Its id leads to the machine of its first waiter.
func NewRound(gw *Gateway, p *round.Round) *Round {
	id := gw.NewReader(p.Waiter().(Flow).Base().Ref.TxnID.Affinity()).TxnID
	return &Round{Call: newInternalCall(gw, RoundKind, nil, id, env.Never), round: p}
}

// Start registers the round on all shards but the last. The last one, which is the hot shard or
// else the hottest, fixes its CSN when the others have.
func (x *Round) Start(gw *Gateway) Outcome {
	// startRounds has checked this, but a node may have begun to drain since, between two attempts.
	f := gw.Shards.WhyNoRound()
	if f != nil {
		return Failed(f)
	}
	x.reading = gw.newReading(x, env.PlanSnapshot)
	x.Phase = Reading
	x.reading.Fix(gw.Env, gw.Rounds.ShardOrder(x.round), x.LastRequestRetry())
	return Continue
}

// Reading returns the current reading.
func (x *Round) Reading() *readreq.Reading { return x.reading }

// OnRead: a shard has fixed its CSN; the reading has the response.
func (x *Round) OnRead(gw *Gateway, _ *msg.ReadResponse, _ []msg.Op, _ int64) {
	x.reading.OnFixResponse(gw.Env)
}

// OnAllRead: each shard of the round has fixed its CSN. If all registrations are valid, no CSN has
// changed between a shard's fixing and the last one's, whose instant is that of the snapshot. Without leases the shards
// confirm that they are: then this is called again.
func (x *Round) OnAllRead(gw *Gateway) Outcome {
	s, lapsed := x.reading.ExpiredLease(gw.Env)
	// A registration has expired: an update may have been decided between the CSNs of two shards.
	if lapsed {
		return Aborted(readreq.ExpiredLeaseFailure(s))
	}
	if !x.reading.IsConfirmed(gw.Env) {
		return Continue
	}
	x.reading.RetainAtEnd()
	x.waiters = gw.Rounds.OnFixed(x.round, x.reading.Name, x.reading.Responses())
	x.round.Receipt = x.txnReceipt
	return Finished(Done{Committed: true})
}

// Result returns the round, and the flows that receive its snapshot or failure.
func (x *Round) Result() (*round.Round, []round.Waiter) { return x.round, x.waiters }

// A round reads no keys, so it is never redirected, and it is exempt from closed queues: refused
// readers wait for rounds.

func (x *Round) OnRedirect(*Gateway, kv.ShardID, []msg.Op) Outcome { return Continue }
func (x *Round) OnClosed(*Gateway) Outcome                         { return Continue }

// OnFailure: a shard cannot fix its CSN.
func (x *Round) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// PendingShards lists the shards that have not responded, and so does Shards.
func (x *Round) PendingShards() []kv.ShardID {
	if x.Phase == Reading {
		return x.reading.PendingShards()
	}
	return nil
}

func (x *Round) Shards() []kv.ShardID { return x.PendingShards() }

// Retry retries requests, and continues without shards that are late or down.
//
//   - An expired lease aborts the attempt before any shard counts as late: if this machine has
//     stalled, the responses may be in its queue.
//   - A round for slow shards registers those first. If some of them have responded in time and others
//     have not, the next attempt registers only the others first: the shards that have responded are
//     not registered meanwhile, and their updates are not blocked.
//   - If shards that are registered first have not responded for a lease, and a node is down, their
//     sealed updates may wait for a decision of that node. The round ends: it would block the updates
//     of these shards until the node is back.
func (x *Round) Retry(gw *Gateway) Outcome {
	if x.Phase != Reading {
		return Continue
	}
	s, lapsed := x.reading.ExpiredLease(gw.Env)
	if lapsed { // perhaps because this machine stood still: then no shard is late
		return Aborted(readreq.ExpiredLeaseFailure(s))
	}
	slow := x.reading.SlowShards(gw.Env)
	if len(slow) > 0 {
		x.round.First = slow
		return Aborted(readreq.LateFailure(slow[0]))
	}
	stuck := x.reading.StuckShards(gw.Env)
	if len(stuck) > 0 && gw.Shards.IsAnyDown() {
		return Failed(gw.Shards.OnUndecided(stuck))
	}
	out := x.reading.LateShards(gw.Env)
	for _, s := range out {
		if !gw.Shards.IsDown(s) {
			gw.LeaveOut(s)
		}
	}
	for _, s := range x.reading.PendingShards() {
		if gw.Shards.IsDown(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return gw.tickReading(&x.Call, x.reading)
	}
	return x.continueWithout(gw, out)
}

// continueWithout continues without some shards, if the partial snapshot serves any waiter. A round
// for slow shards begins again with those. Waiters that need a missing shard join later
// rounds.
func (x *Round) continueWithout(gw *Gateway, out []kv.ShardID) Outcome {
	switch {
	case x.round.AddFirst(out):
		return Aborted(readreq.LateFailure(out[0]))
	// No waiter can use a snapshot without these shards.
	case !x.round.AcceptsPartial():
		gw.Rounds.Requeue(x.round)
		return Finished(Done{})
	}
	x.reading.LeaveOut(gw.Env, out, x.LastRequestRetry())
	switch {
	case x.reading.HasPending() || x.reading.SendNext(gw.Env, x.LastRequestRetry()):
		return Continue
	// No shard has responded, so there is no snapshot.
	case len(x.reading.Responses()) == 0:
		gw.Rounds.Requeue(x.round)
		return Finished(Done{})
	}
	return x.OnAllRead(gw)
}

// Release deregisters the round on all shards. Those discard their CSNs if it is not complete.
func (x *Round) Release(gw *Gateway) { gw.endReading(x.reading) }

// Reset forgets the attempt.
func (x *Round) Reset() { x.reading = nil }

// End ends the round; the next one may begin.
func (x *Round) End(gw *Gateway, f *msg.Failure) {
	x.Release(gw)
	waiters := gw.Rounds.OnEnd(x.round)
	// Waiters that have joined in the meantime receive the failure, too.
	if f != nil {
		x.waiters = waiters
	}
}

// Loan is a snapshot that another state machine of the node borrows. One machine makes the rounds
// of a node, so that writers are blocked by few of them.
type Loan struct{ Call }

// NewLoan makes a loan. Its id leads to the first machine of the node.
func NewLoan(gw *Gateway, handle CallHandle) *Loan {
	return &Loan{newInternalCall(gw, LoanKind, handle, gw.NewID(), env.Never)}
}

// Start waits for a snapshot.
func (l *Loan) Start(*Gateway) Outcome { return l.awaitSnapshot() }

// OnSnapshot reports the snapshot, which is retained until the borrower returns it.
func (l *Loan) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	l.roundWait.Drop()
	s := gw.Rounds.Lend(p)
	s.Receipt = l.txnReceipt
	return Finished(Done{Committed: true, Snapshot: s})
}

// OnNoSnapshot: there will be no snapshot.
func (l *Loan) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }
