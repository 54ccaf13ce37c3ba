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
type Fixing struct {
	Call
	round   *round.Round
	reading *readreq.Reading
	// waiters get the state, once it is fixed.
	waiters []round.Waiter
}

// NewFixing makes one for a round. Its id leads to the same machine as the transactions'.
func NewFixing(h *Host, p *round.Round) *Fixing {
	id := h.NewReader(p.Waiter().(Flow).Base().Ref.TxnID.Affinity()).TxnID
	return &Fixing{Call: newQuestion(h, FixingKind, nil, id, env.Never), round: p}
}

// Start has the shards fix their states, the hot one last.
func (x *Fixing) Start(h *Host) Outcome {
	f := h.Shards.NoRound()
	if f != nil {
		return Failed(f)
	}
	x.reading = h.newReading(x, env.PlanSnapshot)
	x.Phase = Reading
	x.reading.Fix(h.Env, h.Rounds.Plan(x.round), x.LastAsk())
	return GoesOn
}

// Reading is the reading under way.
func (x *Fixing) Reading() *readreq.Reading { return x.reading }

// Took takes a shard's answer, which the reading has.
func (x *Fixing) Took(h *Host, _ *msg.ReadResponse, _ []msg.Op, _ int64) { x.reading.FixTook(h.Env) }

// ReadAll: each shard of the round has fixed its state, and all registrations have stood since.
func (x *Fixing) ReadAll(h *Host) Outcome {
	s, lapsed := x.reading.Lapsed(h.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	x.reading.Complete()
	x.waiters = h.Rounds.Fixed(x.round, x.reading.Name, x.reading.Replies())
	x.round.Receipt = x.receipt
	return Over(Done{Committed: true})
}

// Round is the round, and those that wait for it: for its state, or to be told that there is none.
func (x *Fixing) Round() (*round.Round, []round.Waiter) { return x.round, x.waiters }

// A round has no keys, so that no shard sends it elsewhere; nor is it turned away, since it is
// what readers are turned to.

func (x *Fixing) Elsewhere(*Host, kv.ShardID, []msg.Op) Outcome { return GoesOn }
func (x *Fixing) TurnedAway(*Host) Outcome                      { return GoesOn }

// Refused: a shard cannot fix its state.
func (x *Fixing) Refused(_ *Host, f *msg.Failure) Outcome { return Aborted(f) }

// Awaits lists the shards that have not answered, and so does Shards.
func (x *Fixing) Awaits() []kv.ShardID {
	if x.Phase == Reading {
		return x.reading.Awaits()
	}
	return nil
}

func (x *Fixing) Shards() []kv.ShardID { return x.Awaits() }

// Repeat sends again what has no answer, and goes on without the shards that are late or down.
func (x *Fixing) Repeat(h *Host) Outcome {
	if x.Phase != Reading {
		return GoesOn
	}
	s, lapsed := x.reading.Lapsed(h.Env)
	if lapsed { // perhaps because this machine stood still: then no shard is late
		return Aborted(readreq.Lapse(s))
	}
	slow := x.reading.Slow(h.Env)
	if len(slow) > 0 {
		x.round.First = slow
		return Aborted(readreq.Late(slow[0]))
	}
	stuck := x.reading.Stuck(h.Env)
	if len(stuck) > 0 && h.Shards.AnyDown() {
		return Failed(h.Shards.Undecided(stuck))
	}
	out := x.reading.Late(h.Env)
	for _, s := range out {
		if !h.Shards.IsDown(s) {
			h.LeaveOut(s)
		}
	}
	for _, s := range x.reading.Awaits() {
		if h.Shards.IsDown(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return h.tickReading(&x.Call, x.reading)
	}
	return x.leaveOut(h, out)
}

// leaveOut goes on without some shards, if any of those that wait for the state has a use for it.
// A round that waits for slow shards begins anew, and asks them first. Where it was begun for others
// those that wait have further rounds.
func (x *Fixing) leaveOut(h *Host, out []kv.ShardID) Outcome {
	switch {
	case x.round.AskFirst(out):
		return Aborted(readreq.Late(out[0]))
	case !x.round.WorthWithout():
		h.Rounds.GiveUp(x.round)
		return Over(Done{})
	}
	x.reading.LeaveOut(h.Env, out, x.LastAsk())
	switch {
	case x.reading.Open() || x.reading.Next(h.Env, x.LastAsk()):
		return GoesOn
	case len(x.reading.Replies()) == 0:
		h.Rounds.GiveUp(x.round)
		return Over(Done{})
	}
	return x.ReadAll(h)
}

// Release leaves the shards. If the round has come to nothing they discard what they have fixed.
func (x *Fixing) Release(h *Host) { h.endReading(x.reading) }

// Reset forgets the attempt.
func (x *Fixing) Reset() { x.reading = nil }

// End ends the round. The next may begin.
func (x *Fixing) End(h *Host, f *msg.Failure) {
	x.Release(h)
	waiters := h.Rounds.Ended(x.round)
	if f != nil {
		x.waiters = waiters
	}
}

// Lending is a state for another machine of the node.
type Lending struct{ Call }

// NewLending makes one. Its id leads to the first machine.
func NewLending(h *Host, token Token) *Lending {
	return &Lending{newQuestion(h, LendingKind, token, h.NewID(), env.Never)}
}

// Start waits for a state.
func (l *Lending) Start(*Host) Outcome { return l.waits() }

// Pinned hands the state out.
func (l *Lending) Pinned(h *Host, p *round.Round) Outcome {
	l.seat.Drop()
	s := h.Rounds.Lend(p)
	s.Receipt = l.receipt
	return Over(Done{Committed: true, State: s})
}

// Unpinned: there is no such state.
func (l *Lending) Unpinned(_ *Host, f *msg.Failure) Outcome { return Aborted(f) }
