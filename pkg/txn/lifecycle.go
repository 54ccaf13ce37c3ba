package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// launch starts the first attempt of a call.
func (t *flowTable) start(f flow.Flow) {
	t.add(f)
	t.gw.Timed(f.Base().Deadline())
	t.apply(f, f.Start(t.gw))
}

// handle does what the outcome of a flow asks for.
func (t *flowTable) apply(f flow.Flow, o flow.Outcome) {
	if !o.Continues() {
		o.Handle(t, f)
	}
}

// Finish ends a call for good.
func (t *flowTable) Finish(f flow.Flow, d flow.Done) {
	c := f.Base()
	t.remove(f)
	t.gw.Admitter.ReleaseSlot(f, d.Failure)
	f.End(t.gw, d.Failure)
	d.Failure = c.ClientFailure(d.Failure)
	if d.Committed && d.Index.Index == 0 {
		d.At = f.ReadCSNs()
	}
	c.Stamp(&d)
	t.gw.Rounds.Leave(f)
	d.Closed = true
	t.failures.add(c, d.Failure)
	switch c.Kind {
	case flow.OneShotKind:
		t.endOneShot(f.(*flow.OneShot), d)
	case flow.RoundKind:
		t.endRound(f.(*flow.Round), d.Failure)
	default:
		t.gw.Respond(c, d)
	}
}

// endOneShot answers a one-shot, and those that have waited for its answer.
func (t *flowTable) endOneShot(one *flow.OneShot, d flow.Done) {
	followers, answered := t.gw.SharedReads.End(one, &d)
	for _, f := range followers {
		if answered {
			t.Finish(f, f.SharedDone(one, &d))
			continue
		}
		t.apply(f, f.Start(t.gw))
	}
	t.gw.Respond(&one.Call, d)
	t.pool.Put(one)
}

// Abort ends an attempt that has not asked to commit. The next may follow.
func (t *flowTable) Abort(f flow.Flow, why *msg.Failure) {
	f.Release(t.gw)
	t.OnAborted(f, why)
}

// again reports whether another attempt may fare better.
func isRetryable(f *msg.Failure) bool {
	switch f.Reason {
	case msg.ReasonWounded, msg.ReasonStaleGrant, msg.ReasonStaleRead, msg.ReasonIncarnation, msg.ReasonTombstone,
		msg.ReasonRefused, msg.ReasonLapsed, msg.ReasonMoved, msg.ReasonRival:
		return true
	}
	return false
}

// Lose ends an attempt that is known to be aborted. Never before that is another begun, so that at
// most one commits. An open transaction is over; its client begins the next attempt.
func (t *flowTable) OnAborted(f flow.Flow, why *msg.Failure) {
	c := f.Base()
	why, moved := c.RecordAbort(t.gw, why)
	o, open := f.(flow.InteractiveTxn)
	switch {
	case open:
		o.Txn().RecordConflict(t.gw, why)
		t.Finish(f, flow.Done{Failure: t.clientFailure(f, why)})
	case moved && c.Kind == flow.MoveKind: // the key is not where it was said to be
		t.Finish(f, flow.Done{Failure: why})
	case !isRetryable(why) || t.gw.Now >= c.CancelAt():
		t.Finish(f, flow.Done{Failure: t.clientFailure(f, why)})
	default:
		t.retry(f, why.Reason)
	}
}

// retry starts the next attempt, or has it wait if there have been many.
func (t *flowTable) retry(f flow.Flow, why msg.Reason) {
	c := f.Base()
	t.remove(f)
	c.BeginNextAttempt(why)
	t.add(f)
	f.Reset()
	t.gw.Rounds.Leave(f)
	n := c.Ref.Attempt
	if n > 4 {
		c.BackOff(t.gw.Env, retryPause(n, c.Ref.TxnID, t.gw.Node))
		return
	}
	t.apply(f, f.Start(t.gw))
}

// pauseBefore is how long attempt n waits, in nanoseconds: 2 to 64 ms, and up to half as much
// again, which differs from gateway to gateway. Two that were sent the same id would otherwise
// get in each other's way at each attempt.
func retryPause(n uint32, id kv.TxnID, node kv.NodeID) int64 {
	pause := int64(1_000_000) << min(n-4, 6)
	mix := (id.Rand ^ uint64(node)<<32 ^ uint64(n)) * 0x9e3779b97f4a7c15
	return pause + int64(mix>>54)*pause/2048
}

// inTime is the failure of an attempt that was cancelled: why it was.
func (t *flowTable) clientFailure(f flow.Flow, why *msg.Failure) *msg.Failure {
	if why.Reason != msg.ReasonCancelled {
		return why
	}
	c, commits := f.(flow.Committer)
	if commits && c.Commit().Without != nil {
		return c.Commit().Without
	}
	if t.gw.Now >= f.Base().CancelAt() {
		return t.deadlineFailure(f)
	}
	return why
}

// late is the failure of a call that did not end before its deadline, and was not applied.
func (t *flowTable) deadlineFailure(f flow.Flow) *msg.Failure {
	down := t.gw.Shards.Unreachable(f.Shards()...)
	switch {
	case down != nil:
		return down
	case f.Base().Kind == flow.HotPolicyKind:
		return flow.HotPolicyUnknown()
	case f.Base().EndsByMaxAge():
		return t.gw.MaxAgeFailure(f.Base())
	}
	return env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, "the deadline passed before the commit; nothing was applied")
}

// Join has a flow wait for a state that is fixed from now on.
func (t *flowTable) AwaitSnapshot(f flow.SnapshotWaiter) {
	t.gw.Timed(f.Base().AbortAt())
	why := t.roundRefusal(f.Seat())
	if why != nil {
		t.apply(f, f.OnNoSnapshot(t.gw, why))
		return
	}
	p := t.gw.Rounds.Join(f)
	if p != nil {
		t.apply(f, f.OnSnapshot(t.gw, p))
		return
	}
	t.startRounds()
}

// noRound says why there can be no state for a transaction now, nil if there can.
func (t *flowTable) roundRefusal(seat *round.Seat) *msg.Failure {
	why := t.gw.Shards.NoRound()
	switch {
	case why != nil:
		return why
	case seat.Need == round.All:
		return t.gw.Shards.NoFullRound()
	case seat.Need == round.Some:
		return t.gw.Shards.NoRoundOf(seat.Shards)
	}
	return nil
}

// beginRound begins the next rounds, if flows wait for them and it is time. Those for which there
// can be none are told so.
func (t *flowTable) startRounds() {
	if !t.gw.Shards.AllThere() {
		for _, w := range t.gw.Rounds.Unfixable(func(s *round.Seat) bool { return t.roundRefusal(s) != nil }) {
			why := t.roundRefusal(w.Seat())
			if w.Seat().Waiting() && why != nil { // not ended since
				t.gw.Rounds.Leave(w)
				t.apply(w.(flow.Flow), w.(flow.SnapshotWaiter).OnNoSnapshot(t.gw, why))
			}
		}
	}
	for p := t.gw.Rounds.Begin(); p != nil; p = t.gw.Rounds.Begin() {
		t.start(flow.NewRound(t.gw, p))
	}
}

// endRound has the next round begin, and gives the state to those that wait for this one, or
// tells them why there is none.
func (t *flowTable) endRound(x *flow.Round, why *msg.Failure) {
	t.startRounds()
	p, waiters := x.Result()
	t.deliverSnapshot(p, waiters, why)
}

// seat gives a round's state to those that still wait for it, or tells them why there is none.
func (t *flowTable) deliverSnapshot(p *round.Round, waiters []round.Waiter, why *msg.Failure) {
	for _, w := range waiters {
		f := w.(flow.SnapshotWaiter)
		switch {
		case !t.gw.Rounds.Take(w, p, why == nil):
		case why != nil:
			t.apply(f, f.OnNoSnapshot(t.gw, why))
		default:
			f.Base().AddReceipt(&p.Receipt)
			t.apply(f, f.OnSnapshot(t.gw, p))
		}
	}
	if why == nil && !p.Name.IsZero() {
		t.gw.Rounds.Unuse(p)
	}
}
