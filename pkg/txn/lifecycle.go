package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// start begins the first attempt of a call.
func (t *flowTable) start(f flow.Flow) {
	t.add(f)
	t.gw.WakeAt(f.Base().Deadline())
	t.apply(f, f.Start(t.gw))
}

// apply executes the outcome of a flow.
func (t *flowTable) apply(f flow.Flow, o flow.Outcome) {
	if !o.Continues() {
		o.Handle(t, f)
	}
}

// Finish ends a call for good. The order matters: the flow leaves the table first, since what
// follows may start other flows (those that have waited for its result or for its round), which
// must not find it.
func (t *flowTable) Finish(f flow.Flow, d flow.Done) {
	c := f.Base()
	t.remove(f)
	t.gw.Admitter.ReleaseSlot(f, d.Failure)
	f.End(t.gw, d.Failure)
	d.Failure = c.ClientFailure(d.Failure)
	// A commit is described by the CSN of its last agent. A transaction that has only read is
	// described by the CSNs of its reads.
	if d.Committed && d.LastAgentCSN.CSN == 0 {
		d.ReadCSNs = f.ReadCSNs()
	}
	c.Stamp(&d)
	// A call that waits for a round, or reads at its snapshot, no longer does. The shards release the
	// snapshot with its last user.
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

// endOneShot responds to a one-shot, and to the identical reads that share its result. Those that
// do not share a failure start on their own.
func (t *flowTable) endOneShot(one *flow.OneShot, d flow.Done) {
	// The followers finish first: they refer to results of the one-shot, which is reused after Put.
	followers, shared := t.gw.SharedReads.End(one, &d)
	for _, f := range followers {
		if shared {
			t.Finish(f, f.SharedDone(one, &d))
			continue
		}
		t.apply(f, f.Start(t.gw))
	}
	t.gw.Respond(&one.Call, d)
	t.pool.Put(one)
}

// Abort ends an attempt that has not sent a commit. The next one may follow.
func (t *flowTable) Abort(f flow.Flow, why *msg.Failure) {
	f.Release(t.gw)
	t.OnAborted(f, why)
}

// isRetryable reports whether another attempt may succeed.
// Each of these depends on other transactions, or on a restart, and not on the operations: the next attempt may find
// the conflict gone. A failure of the request itself would be repeated.
func isRetryable(f *msg.Failure) bool {
	switch f.Reason {
	case msg.ReasonWounded, msg.ReasonStaleGrant, msg.ReasonStaleRead, msg.ReasonIncarnation, msg.ReasonTombstone,
		msg.ReasonRefused, msg.ReasonLapsed, msg.ReasonLate, msg.ReasonMoved, msg.ReasonConcurrentCommit:
		return true
	}
	return false
}

// OnAborted ends an attempt that is known to be aborted, and starts the next one if that may
// succeed in time. The next attempt never begins earlier: then two attempts could commit. An
// interactive transaction ends; its client begins the next attempt.
func (t *flowTable) OnAborted(f flow.Flow, why *msg.Failure) {
	c := f.Base()
	// The next attempt of a redirected call looks for the key on its new shard, and the heat
	// statistics learn of keys over which attempts are lost.
	why, moved := c.RecordAbort(t.gw, why)
	o, open := f.(flow.InteractiveTxn)
	switch {
	case open:
		o.Txn().RecordConflict(t.gw, why)
		t.Finish(f, flow.Done{Failure: t.clientFailure(f, why)})
	// Sequence: the planner requests the move of k from s0 to the hot shard, and another move of k
	// commits first. A retry would not find k on s0 either.
	case moved && c.Kind == flow.MoveKind:
		t.Finish(f, flow.Done{Failure: why})
	// After CancelAt a further attempt could not end in time.
	case !isRetryable(why) || t.gw.Now >= c.CancelAt():
		t.Finish(f, flow.Done{Failure: t.clientFailure(f, why)})
	default:
		t.retry(f, why.Reason)
	}
}

// retry starts the next attempt. From the fifth on it waits: the conflict lasts, and attempts cost
// the shards time.
func (t *flowTable) retry(f flow.Flow, why msg.Reason) {
	c := f.Base()
	// The table finds the new attempt only. A late response to the earlier one, such as a grant, finds
	// no flow, and its lock is released (onLockResponse).
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

// retryPause is the pause before attempt n, in nanoseconds: 2 ms, doubling to 64 ms, and up to half
// as much again. The added part depends on the gateway. If a client has sent the same id to two
// gateways, each refuses the other's commits while its own is undecided; with equal pauses they
// would collide at every attempt.
func retryPause(n uint32, id kv.TxnID, node kv.NodeID) int64 {
	pause := int64(1_000_000) << min(n-4, 6)
	mix := (id.Rand ^ uint64(node)<<32 ^ uint64(n)) * 0x9e3779b97f4a7c15
	return pause + int64(mix>>54)*pause/2048
}

// clientFailure is the failure to report for an attempt. For a cancelled one it is the cause: a
// node is down, or the deadline has passed.
//
// The last agent reports "cancelled" to a gateway that has cancelled; the client wants to know why that happened.
func (t *flowTable) clientFailure(f flow.Flow, why *msg.Failure) *msg.Failure {
	if why.Reason != msg.ReasonCancelled {
		return why
	}
	c, commits := f.(flow.Committer)
	// The gateway has cancelled the commit because a participant's node is down.
	if commits && c.Commit().DownFailure != nil {
		return c.Commit().DownFailure
	}
	if t.gw.Now >= f.Base().CancelAt() {
		return t.deadlineFailure(f)
	}
	return why
}

// deadlineFailure is the failure of a call that was not applied before its deadline. If a node is
// down that it needs, that is the cause.
func (t *flowTable) deadlineFailure(f flow.Flow) *msg.Failure {
	down := t.gw.Shards.WhyDown(f.Shards()...)
	switch {
	case down != nil:
		return down
	// The update may have been applied, although its response is late.
	case f.Base().Kind == flow.HotPolicyKind:
		return flow.HotPolicyUnknown()
	case f.Base().EndsByMaxAge():
		return t.gw.MaxAgeFailure(f.Base())
	}
	text := "the deadline passed before the commit; nothing was applied"
	return env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, text)
}

// AwaitSnapshot makes a flow wait for a snapshot that is fixed from now on, never one of a round in
// progress: that may have fixed CSNs before a response that the client has received.
func (t *flowTable) AwaitSnapshot(f flow.SnapshotWaiter) {
	t.gw.WakeAt(f.Base().AbortAt())
	why := t.roundRefusal(f.Membership())
	if why != nil {
		t.apply(f, f.OnNoSnapshot(t.gw, why))
		return
	}
	t.gw.Rounds.Join(f)
	t.startRounds()
}

// roundRefusal returns why no round can serve a flow now, nil if one can.
//
// A view needs what is up; a scan and a retained snapshot need every shard; a flow that has missed a shard needs that
// one.
func (t *flowTable) roundRefusal(seat *round.Membership) *msg.Failure {
	why := t.gw.Shards.WhyNoRound()
	switch {
	case why != nil:
		return why
	case seat.Need == round.All:
		return t.gw.Shards.WhyNoFullRound()
	case seat.Need == round.Some:
		return t.gw.Shards.WhyNoRoundOf(seat.Shards)
	}
	return nil
}

// startRounds starts the next rounds, if flows wait for them and the gap since the last one is
// over. It first reports failure to the flows that no round can serve.
func (t *flowTable) startRounds() {
	if !t.gw.Shards.AllAvailable() {
		for _, w := range t.gw.Rounds.RemoveUnfixable(func(s *round.Membership) bool { return t.roundRefusal(s) != nil }) {
			why := t.roundRefusal(w.Membership())
			// A flow that receives the failure may finish, and with it flows that share its result; so each waiter is
			// checked again.
			if w.Membership().Waiting() && why != nil {
				t.gw.Rounds.Leave(w)
				t.apply(w.(flow.Flow), w.(flow.SnapshotWaiter).OnNoSnapshot(t.gw, why))
			}
		}
	}
	for p := t.gw.Rounds.Begin(); p != nil; p = t.gw.Rounds.Begin() {
		t.start(flow.NewRound(t.gw, p))
	}
}

// endRound starts the next round, and delivers the result of this one.
func (t *flowTable) endRound(x *flow.Round, why *msg.Failure) {
	// The next round may start before the snapshot is delivered: its waiters have arrived after this
	// one began.
	t.startRounds()
	p, waiters := x.Result()
	t.deliverSnapshot(p, waiters, why)
}

// deliverSnapshot delivers the snapshot of a round, or why there is none, to the flows that still
// wait for it.
func (t *flowTable) deliverSnapshot(p *round.Round, waiters []round.Waiter, why *msg.Failure) {
	for _, w := range waiters {
		f := w.(flow.SnapshotWaiter)
		switch {
		// The flow has ended since, or an earlier delivery of this loop has ended it.
		case !t.gw.Rounds.EndWait(w, p, why == nil):
		case why != nil:
			t.apply(f, f.OnNoSnapshot(t.gw, why))
		default:
			f.Base().AddReceipt(&p.Receipt)
			t.apply(f, f.OnSnapshot(t.gw, p))
		}
	}
	// The round itself has been a user of its snapshot until now, so that the shards did not release
	// it before its first reader.
	if why == nil && !p.Name.IsZero() {
		t.gw.Rounds.Release(p)
	}
}
