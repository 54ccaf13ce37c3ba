package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// launch starts the first attempt of a call.
func (t *table) launch(f flow.Flow) {
	t.enter(f)
	t.host.Timed(f.Base().Deadline())
	t.handle(f, f.Start(t.host))
}

// handle does what the outcome of a flow asks for.
func (t *table) handle(f flow.Flow, o flow.Outcome) {
	if !o.Goes() {
		o.Handle(t, f)
	}
}

// Finish ends a call for good.
func (t *table) Finish(f flow.Flow, d flow.Done) {
	c := f.Base()
	t.leave(f)
	t.host.Door.GiveBack(f, d.Failure)
	f.End(t.host, d.Failure)
	d.Failure = c.Certain(d.Failure)
	if d.Committed && d.Index.Index == 0 {
		d.At = f.Seen()
	}
	c.Stamp(&d)
	t.host.Rounds.Leave(f)
	d.Closed = true
	t.failed.note(c, d.Failure)
	switch c.Kind {
	case flow.OneShotKind:
		t.endOneShot(f.(*flow.OneShot), d)
	case flow.FixingKind:
		t.endRound(f.(*flow.Fixing), d.Failure)
	default:
		t.host.Answer(c, d)
	}
}

// endOneShot answers a one-shot, and those that have waited for its answer.
func (t *table) endOneShot(one *flow.OneShot, d flow.Done) {
	followers, answered := t.host.Shared.End(one, &d)
	for _, f := range followers {
		if answered {
			t.Finish(f, f.Share(one, &d))
			continue
		}
		t.handle(f, f.Start(t.host))
	}
	t.host.Answer(&one.Call, d)
	t.pool.Put(one)
}

// Abort ends an attempt that has not asked to commit. The next may follow.
func (t *table) Abort(f flow.Flow, why *msg.Failure) {
	f.Release(t.host)
	t.Lose(f, why)
}

// again reports whether another attempt may fare better.
func again(f *msg.Failure) bool {
	switch f.Reason {
	case msg.ReasonWounded, msg.ReasonStaleGrant, msg.ReasonStaleRead, msg.ReasonIncarnation, msg.ReasonTombstone,
		msg.ReasonRefused, msg.ReasonLapsed, msg.ReasonMoved, msg.ReasonRival:
		return true
	}
	return false
}

// Lose ends an attempt that is known to be aborted. Never before that is another begun, so that at
// most one commits. An open transaction is over; its client begins the next attempt.
func (t *table) Lose(f flow.Flow, why *msg.Failure) {
	c := f.Base()
	why, moved := c.Lost(t.host, why)
	o, open := f.(flow.Open)
	switch {
	case open:
		o.Opened().LostOver(t.host, why)
		t.Finish(f, flow.Done{Failure: t.inTime(f, why)})
	case moved && c.Kind == flow.MoveKind: // the key is not where it was said to be
		t.Finish(f, flow.Done{Failure: why})
	case !again(why) || t.host.Now >= c.CancelAt():
		t.Finish(f, flow.Done{Failure: t.inTime(f, why)})
	default:
		t.retry(f, why.Reason)
	}
}

// retry starts the next attempt, or has it wait if there have been many.
func (t *table) retry(f flow.Flow, why msg.Reason) {
	c := f.Base()
	t.leave(f)
	c.NextAttempt(why)
	t.enter(f)
	f.Reset()
	t.host.Rounds.Leave(f)
	n := c.Ref.Attempt
	if n > 4 {
		c.BackOff(t.host.Env, pauseBefore(n, c.Ref.TxnID, t.host.Node))
		return
	}
	t.handle(f, f.Start(t.host))
}

// pauseBefore is how long attempt n waits, in nanoseconds: 2 to 64 ms, and up to half as much
// again, which differs from gateway to gateway. Two that were sent the same id would otherwise
// get in each other's way at each attempt.
func pauseBefore(n uint32, id kv.TxnID, node kv.NodeID) int64 {
	pause := int64(1_000_000) << min(n-4, 6)
	mix := (id.Rand ^ uint64(node)<<32 ^ uint64(n)) * 0x9e3779b97f4a7c15
	return pause + int64(mix>>54)*pause/2048
}

// inTime is the failure of an attempt that was cancelled: why it was.
func (t *table) inTime(f flow.Flow, why *msg.Failure) *msg.Failure {
	if why.Reason != msg.ReasonCancelled {
		return why
	}
	c, commits := f.(flow.Committer)
	if commits && c.Commit().Without != nil {
		return c.Commit().Without
	}
	if t.host.Now >= f.Base().CancelAt() {
		return t.late(f)
	}
	return why
}

// late is the failure of a call that did not end before its deadline, and was not applied.
func (t *table) late(f flow.Flow) *msg.Failure {
	down := t.host.Shards.Unreachable(f.Shards()...)
	switch {
	case down != nil:
		return down
	case f.Base().Kind == flow.RuleKind:
		return flow.Unruled()
	case f.Base().AgeEnds():
		return t.host.TooOld(f.Base())
	}
	return env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, "the deadline passed before the commit; nothing was applied")
}

// Join has a flow wait for a state that is fixed from now on.
func (t *table) Join(f flow.Pinner) {
	t.host.Timed(f.Base().EndAt())
	why := t.noRound(f.Seat())
	if why != nil {
		t.handle(f, f.Unpinned(t.host, why))
		return
	}
	p := t.host.Rounds.Join(f)
	if p != nil {
		t.handle(f, f.Pinned(t.host, p))
		return
	}
	t.beginRound()
}

// noRound says why there can be no state for a transaction now, nil if there can.
func (t *table) noRound(seat *round.Seat) *msg.Failure {
	why := t.host.Shards.NoRound()
	switch {
	case why != nil:
		return why
	case seat.Need == round.All:
		return t.host.Shards.NoFullRound()
	case seat.Need == round.Some:
		return t.host.Shards.NoRoundOf(seat.Shards)
	}
	return nil
}

// beginRound begins the next rounds, if flows wait for them and it is time. Those for which there
// can be none are told so.
func (t *table) beginRound() {
	if !t.host.Shards.AllThere() {
		for _, w := range t.host.Rounds.Unfixable(func(s *round.Seat) bool { return t.noRound(s) != nil }) {
			why := t.noRound(w.Seat())
			if w.Seat().Waiting() && why != nil { // not ended since
				t.host.Rounds.Leave(w)
				t.handle(w.(flow.Flow), w.(flow.Pinner).Unpinned(t.host, why))
			}
		}
	}
	for p := t.host.Rounds.Begin(); p != nil; p = t.host.Rounds.Begin() {
		t.launch(flow.NewFixing(t.host, p))
	}
}

// endRound has the next round begin, and gives the state to those that wait for this one, or
// tells them why there is none.
func (t *table) endRound(x *flow.Fixing, why *msg.Failure) {
	t.beginRound()
	p, waiters := x.Round()
	t.seat(p, waiters, why)
}

// seat gives a round's state to those that still wait for it, or tells them why there is none.
func (t *table) seat(p *round.Round, waiters []round.Waiter, why *msg.Failure) {
	for _, w := range waiters {
		f := w.(flow.Pinner)
		switch {
		case !t.host.Rounds.Take(w, p, why == nil):
		case why != nil:
			t.handle(f, f.Unpinned(t.host, why))
		default:
			f.Base().Longest(&p.Receipt)
			t.handle(f, f.Pinned(t.host, p))
		}
	}
	if why == nil && !p.Name.IsZero() {
		t.host.Rounds.Unuse(p)
	}
}
