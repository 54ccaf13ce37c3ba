package txn

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// Tick retries requests, and ends calls that are late. Before Output.Next it does nothing.
//
//	phase                repeated                    end
//	Idle                 lease renewals              after the idle timeout, if it blocks others
//	Locking, Reading,
//	Paging, Checking,
//	Querying             requests without response   aborted at AbortAt
//	AwaitingSnapshot     lease renewals              aborted at AbortAt
//	Sharing              nothing                     aborted at AbortAt
//	Committing           the commit                  cancelled before the deadline, unknown at it
//	Backoff              nothing                     the next attempt starts at RetryAt
//
// A call that waits for a shard whose node is down ends at once, unless its commit was sent.
func (g *Gateway) Tick(now int64) {
	g.gw.AdvanceTo(now)
	if g.gw.Now < g.gw.Env.Next {
		return
	}
	g.gw.Env.Next = env.Never
	// A flow may end while an earlier one is handled, so each is looked up again.
	for _, f := range g.flows.byAge() {
		if g.flows.find(f.Base().Ref) == f {
			g.flows.tickCall(f)
		}
	}
	g.gw.Shards.TickProbes()
	g.flows.startRounds()
	g.status.Tick()
	g.finishQueries()
	g.gw.Rounds.Tick()
}

// tickCall handles the time of one flow. Abort precedes retry: a request that cannot be answered in
// time is not sent.
func (t *flowTable) tickCall(f flow.Flow) {
	c := f.Base()
	switch c.Phase {
	// An idle transaction has no deadline of a request. Retry checks its idle time and its leases.
	case flow.Idle:
		t.apply(f, f.Retry(t.gw))
		return
	case flow.Committing:
		t.tickCommit(f.(flow.Committer))
		return
	case flow.Backoff:
		if t.gw.Now >= c.RetryAt {
			t.apply(f, f.Start(t.gw))
			return
		}
		t.gw.WakeAt(c.RetryAt)
	}
	why := t.overdue(f)
	if why != nil {
		t.Abort(f, why)
		return
	}
	t.gw.WakeAt(c.AbortAt())
	if c.Phase == flow.Querying {
		c.RetryQuery(t.gw.Env)
		return
	}
	t.apply(f, f.Retry(t.gw))
}

// pendingShards lists the shards that have not responded to a call which can be aborted.
func (t *flowTable) pendingShards(f flow.Flow) []kv.ShardID {
	if f.Base().Phase == flow.Querying {
		return []kv.ShardID{t.gw.Hot()}
	}
	return f.PendingShards()
}

// replicaTimeout is for how long a read of a retained snapshot waits for replicas of shards without a leader. Somewhat
// arbitrary: they answer in milliseconds, or seconds on a slow disk, unless the response is lost, or the node that has
// one knows a leader and has passed the request on.
const replicaTimeout = 10 * time.Second

// overdue returns why a call that has not sent a commit has to be aborted now, because it is late,
// or waits for a node that is down; nil if it need not be. The text of a deadline is added when the
// call ends (clientFailure).
func (t *flowTable) overdue(f flow.Flow) *msg.Failure {
	c := f.Base()
	if t.gw.Now >= c.AbortAt() {
		// The deadline of the request is near, and not yet that of the transaction: the client is
		// waiting, and gets the cause now.
		if c.IsRequestTimeout(t.gw.Now) {
			return t.deadlineFailure(f)
		}
		return env.Failure(msg.ReasonCancelled, kv.KindAborted, "")
	}
	if c.Kind == flow.RoundKind {
		return nil // it continues without the shards of that node
	}
	down := t.gw.Shards.WhyDown(t.pendingShards(f)...)
	if t.gw.Now < c.RequestedAt()+int64(replicaTimeout) {
		down = c.HeldUpBy(down)
	}
	// The hot shard may have received the request before its node went down.
	if down != nil && c.Phase == flow.Querying && c.QueryChanges() {
		down.Hint = "the change may be applied; send it again when the node is back"
	}
	return down
}

// tickCommit retries the commit. Near the deadline it cancels it, so that the outcome is known in
// time. At the deadline the outcome is unknown, unless there is nothing to apply.
func (t *flowTable) tickCommit(f flow.Committer) {
	c := f.Base()
	if t.gw.Shards.IsAnyDown() && t.endIfNodeDown(f) {
		return
	}
	if t.gw.Now < c.Deadline() {
		t.gw.WakeAt(c.Deadline())
		// The last agent is late. It is probed: if its log is slow, later commits avoid it as last agent.
		if f.Commit().Tick(t.gw.Env, c.LastCommitRetry(), c.CancelAt()) {
			t.gw.Shards.Suspect(f.Commit().Last())
		}
		return
	}
	// Nothing was to be applied, so the call has failed, and its outcome is known.
	if f.IsReadOnly() {
		t.Finish(f, Done{Failure: t.deadlineFailure(f)})
		return
	}
	text := "the commit of transaction " + c.Ref.TxnID.String() +
		" had no response in time; query its outcome by that id"
	t.Finish(f, Done{Failure: env.Failure(msg.ReasonCancelled, kv.KindOutcomeUnknown, text)})
}

// finishQueries responds to the outcome queries that have ended.
func (g *Gateway) finishQueries() {
	for _, e := range g.status.TakeEnded() {
		d := Done{
			Txn:         kv.TxnRef{TxnID: e.ID},
			Committed:   e.Committed,
			Results:     e.Results,
			ResultsLost: e.ResultsLost,
			Failure:     e.Failure,
		}
		for _, t := range e.Handles {
			d.Handle = t
			g.gw.Done = append(g.gw.Done, d)
		}
	}
}
