package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Fixing fixes a state of the store, for all that wait for a round: a call of its own, without a
// client. It waits for a shard for RoundTimes.Wait; then the state has no entry for that shard.
type Round struct {
	Call
	round   *round.Round
	reading *readreq.Reading
	// waiters get the state, once it is fixed.
	waiters []round.Waiter
}

// NewFixing makes one for a round. Its id leads to the same machine as the transactions'.
func NewRound(gw *Gateway, p *round.Round) *Round {
	id := gw.NewReader(p.Waiter().(Flow).Base().Ref.TxnID.Affinity()).TxnID
	return &Round{Call: newInternalCall(gw, RoundKind, nil, id, env.Never), round: p}
}

// Start has the shards fix their states, the hot one last.
func (x *Round) Start(gw *Gateway) Outcome {
	f := gw.Shards.NoRound()
	if f != nil {
		return Failed(f)
	}
	x.reading = gw.newReading(x, env.PlanSnapshot)
	x.Phase = Reading
	x.reading.Fix(gw.Env, gw.Rounds.Plan(x.round), x.LastRequestRetry())
	return Continue
}

// Reading is the reading under way.
func (x *Round) Reading() *readreq.Reading { return x.reading }

// Took takes a shard's answer, which the reading has.
func (x *Round) OnRead(gw *Gateway, _ *msg.ReadResponse, _ []msg.Op, _ int64) {
	x.reading.FixTook(gw.Env)
}

// ReadAll: each shard of the round has fixed its state, and all registrations have stood since.
func (x *Round) OnAllRead(gw *Gateway) Outcome {
	s, lapsed := x.reading.Lapsed(gw.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	x.reading.Complete()
	x.waiters = gw.Rounds.Fixed(x.round, x.reading.Name, x.reading.Replies())
	x.round.Receipt = x.txnReceipt
	return Finished(Done{Committed: true})
}

// Round is the round, and those that wait for it: for its state, or to be told that there is none.
func (x *Round) Result() (*round.Round, []round.Waiter) { return x.round, x.waiters }

// A round has no keys, so that no shard sends it elsewhere; nor is it turned away, since it is
// what readers are turned to.

func (x *Round) OnRedirect(*Gateway, kv.ShardID, []msg.Op) Outcome { return Continue }
func (x *Round) OnClosed(*Gateway) Outcome                         { return Continue }

// Refused: a shard cannot fix its state.
func (x *Round) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// Awaits lists the shards that have not answered, and so does Shards.
func (x *Round) PendingShards() []kv.ShardID {
	if x.Phase == Reading {
		return x.reading.Awaits()
	}
	return nil
}

func (x *Round) Shards() []kv.ShardID { return x.PendingShards() }

// Repeat sends again what has no answer, and goes on without the shards that are late or down.
func (x *Round) Retry(gw *Gateway) Outcome {
	if x.Phase != Reading {
		return Continue
	}
	s, lapsed := x.reading.Lapsed(gw.Env)
	if lapsed { // perhaps because this machine stood still: then no shard is late
		return Aborted(readreq.Lapse(s))
	}
	slow := x.reading.Slow(gw.Env)
	if len(slow) > 0 {
		x.round.First = slow
		return Aborted(readreq.Late(slow[0]))
	}
	stuck := x.reading.Stuck(gw.Env)
	if len(stuck) > 0 && gw.Shards.AnyDown() {
		return Failed(gw.Shards.Undecided(stuck))
	}
	out := x.reading.Late(gw.Env)
	for _, s := range out {
		if !gw.Shards.IsDown(s) {
			gw.LeaveOut(s)
		}
	}
	for _, s := range x.reading.Awaits() {
		if gw.Shards.IsDown(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return gw.tickReading(&x.Call, x.reading)
	}
	return x.continueWithout(gw, out)
}

// leaveOut goes on without some shards, if any of those that wait for the state has a use for it.
// A round that waits for slow shards begins anew, and asks them first. Where it was begun for others
// those that wait have further rounds.
func (x *Round) continueWithout(gw *Gateway, out []kv.ShardID) Outcome {
	switch {
	case x.round.AskFirst(out):
		return Aborted(readreq.Late(out[0]))
	case !x.round.WorthWithout():
		gw.Rounds.GiveUp(x.round)
		return Finished(Done{})
	}
	x.reading.LeaveOut(gw.Env, out, x.LastRequestRetry())
	switch {
	case x.reading.Open() || x.reading.Next(gw.Env, x.LastRequestRetry()):
		return Continue
	case len(x.reading.Replies()) == 0:
		gw.Rounds.GiveUp(x.round)
		return Finished(Done{})
	}
	return x.OnAllRead(gw)
}

// Release leaves the shards. If the round has come to nothing they discard what they have fixed.
func (x *Round) Release(gw *Gateway) { gw.endReading(x.reading) }

// Reset forgets the attempt.
func (x *Round) Reset() { x.reading = nil }

// End ends the round. The next may begin.
func (x *Round) End(gw *Gateway, f *msg.Failure) {
	x.Release(gw)
	waiters := gw.Rounds.Ended(x.round)
	if f != nil {
		x.waiters = waiters
	}
}

// Lending is a state for another machine of the node.
type Loan struct{ Call }

// NewLending makes one. Its id leads to the first machine.
func NewLoan(gw *Gateway, token Token) *Loan {
	return &Loan{newInternalCall(gw, LoanKind, token, gw.NewID(), env.Never)}
}

// Start waits for a state.
func (l *Loan) Start(*Gateway) Outcome { return l.awaitSnapshot() }

// Pinned hands the state out.
func (l *Loan) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	l.roundWait.Drop()
	s := gw.Rounds.Lend(p)
	s.Receipt = l.txnReceipt
	return Finished(Done{Committed: true, State: s})
}

// Unpinned: there is no such state.
func (l *Loan) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }
