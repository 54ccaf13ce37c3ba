package txn

import (
	"cmp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// lastWait is for how long a commit that is under way waits for its last agent, once the node
// of that is known to be down, before the outcome is reported as unknown. Somewhat arbitrary: a
// node that stood still for some seconds still answers.
const lastAgentTimeout = 2 * time.Second

// meetDown is for a commit under way that needs a shard whose node is down, and reports
// whether that has ended it. One that only reads ends. Without a participant there is no
// commit: its last agent is asked to end it, and reports its outcome. If it is the last agent's
// node, no other shard knows that.
func (g *Gateway) endIfNodeDown(f flow.Committer) (over bool) {
	commit := f.Commit()
	down := g.gw.Shards.Unreachable(f.Shards()...)
	if down == nil {
		down = g.gw.Shards.Unreachable(commit.Shards()...)
	}
	if down == nil {
		return false
	}
	node := g.gw.Router.Node(commit.Last())
	since, is := g.gw.Shards.DownSince(node)
	switch {
	case f.IsReadOnly():
		g.flows.Finish(f, Done{Failure: down})
		return true
	case is && g.gw.Now >= since+int64(lastAgentTimeout):
		text := "the commit of transaction " + f.Base().Ref.TxnID.String() + " has no response, and node " +
			node.String() + ", which decides it, is down; query its outcome by that id when the node is back"
		unknown := env.Failure(msg.ReasonCancelled, kv.KindOutcomeUnknown, text)
		unknown.Down = node
		g.flows.Finish(f, Done{Failure: unknown})
		return true
	case is:
		g.gw.Timed(since + int64(lastAgentTimeout))
	case commit.Without == nil:
		commit.Without = down
		commit.Cancel(g.gw.Env)
	}
	return false
}

// waitsForDown is for a call that waits for a transaction that has promised to commit, if the
// node is down that decides that: it would wait until that is back. It ends, or is asked to, if
// it has asked to commit.
func (g *Gateway) endIfDeciderDown(f flow.Flow, w *msg.WaitReport) bool {
	down := g.gw.Shards.Unreachable(w.Last)
	_, fixes := f.(*flow.Round)
	if down == nil || fixes {
		return false
	}
	down.Key = w.Receipt.Key
	down.Text = "transaction " + w.Receipt.Holder.TxnID.String() + " holds a lock on the key and is decided by shard " +
		w.Last.String() + " on node " + down.Down.String() + ", which is down"
	c, commits := f.(flow.Committer)
	if !commits || f.Base().Phase != flow.Committing {
		g.flows.Abort(f, down)
		return true
	}
	c.Commit().Without = cmp.Or(c.Commit().Without, down)
	c.Commit().Cancel(g.gw.Env)
	g.gw.Timed(g.gw.Now)
	return true
}
