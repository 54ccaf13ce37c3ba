package txn

import (
	"cmp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// lastAgentTimeout is for how long a commit waits for its last agent once the agent's node is known
// to be down, before the outcome is reported as unknown. Somewhat arbitrary: a node that has
// stalled for some seconds may still respond.
const lastAgentTimeout = 2 * time.Second

// endIfNodeDown handles a commit that needs a shard of a node that is down, and reports whether
// that has ended the call:
//
//   - A commit that changes nothing ends with that failure.
//   - If a participant is down, the commit cannot succeed unless the participant has voted. The
//     gateway cancels it at the last agent, which responds with the outcome.
//   - If the last agent is down, no other shard knows the outcome. After lastAgentTimeout it is
//     reported as unknown.
//
// Example. A writes on shard 1 of node 1, the last agent, and on shard 2 of node 2. Node 2 fails before shard 2 has
// voted. The last agent would wait for the vote until the deadline, with A's locks held; the cancellation ends A at
// once.
func (t *flowTable) endIfNodeDown(f flow.Committer) (over bool) {
	commit := f.Commit()
	// f.Shards has the shards on which the attempt holds locks, commit.Shards those of the commit.
	down := t.gw.Shards.WhyDown(f.Shards()...)
	if down == nil {
		down = t.gw.Shards.WhyDown(commit.Shards()...)
	}
	if down == nil {
		return false
	}
	since, is := t.gw.Shards.DownSince(commit.Last())
	switch {
	// There is nothing to apply, so nothing can be unknown.
	case f.IsReadOnly():
		t.Finish(f, Done{Failure: down})
		return true
	case is && t.gw.Now >= since+int64(lastAgentTimeout):
		what, state := t.gw.Shards.Outage(commit.Last())
		node := t.gw.Shards.WhyDown(commit.Last()).Down
		back := "the node is back"
		if node == kv.NoLeader {
			back = "it has one"
		}
		text := "the commit of transaction " + f.Base().Ref.TxnID.String() + " has no response, and " + what +
			", which decides it, " + state + "; query its outcome by that id when " + back
		unknown := env.Failure(msg.ReasonCancelled, kv.KindOutcomeUnknown, text)
		unknown.Down = node
		t.Finish(f, Done{Failure: unknown})
		return true
	// The last agent may have decided before its node went down, or may yet respond.
	case is:
		t.gw.WakeAt(since + int64(lastAgentTimeout))
	// Once only: the cancellation is retried by the commit itself.
	case commit.DownFailure == nil:
		commit.DownFailure = down
		commit.Cancel(t.gw.Env)
	}
	return false
}

// endIfDeciderDown handles a call that waits for a lock of a prepared transaction W which a shard
// of a down node decides. The wait lasts until that node is back, since the locks of a prepared
// transaction cannot be broken. So the call ends, or is cancelled at its last agent if it has sent
// its commit. It reports whether that has happened. Rounds continue: they exclude the shard
// instead.
func (t *flowTable) endIfDeciderDown(f flow.Flow, w *msg.WaitReport) bool {
	// A round is not affected: it has a bound of its own (flow.Round.Retry).
	down := t.gw.Shards.WhyDown(w.Last)
	_, fixes := f.(*flow.Round)
	if down == nil || fixes {
		return false
	}
	down.Key = w.Receipt.Key
	what, state := t.gw.Shards.Outage(w.Last)
	by := "shard " + w.Last.String()
	if what != by {
		by += " on " + what
	}
	down.Text = "transaction " + w.Receipt.Holder.TxnID.String() + " holds a lock on the key and is decided by " + by +
		", which " + state
	// Before the commit is sent, the gateway itself can abort the attempt.
	c, commits := f.(flow.Committer)
	if !commits || f.Base().Phase != flow.Committing {
		t.Abort(f, down)
		return true
	}
	// The last agent may have decided in the meantime, and its response counts.
	c.Commit().DownFailure = cmp.Or(c.Commit().DownFailure, down)
	c.Commit().Cancel(t.gw.Env)
	t.gw.WakeAt(t.gw.Now)
	return true
}
