package txn

import (
	"cmp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// lastWait is for how long a commit that is under way waits for its last agent, once
// the node of that is known to be down, before the outcome is told as unknown.
// Somewhat arbitrary: a node that stood still for some seconds still answers.
const lastWait = 2 * time.Second

// leaving is an incarnation of a shard that is about to stop, the so many'th that was
// heard of.
type leaving struct {
	inc    kv.Incarnation
	number uint64
}

// avoids reports whether there is a shard that refusing might tell of.
func (g *Gateway) avoids() bool { return len(g.down)+len(g.leaving) > 0 }

// refusing says why something new should not be begun on these shards, nil if it
// can be: because their nodes are down, or about to stop.
func (g *Gateway) refusing(shards []kv.ShardID) *msg.Failure {
	f := g.unreachable(shards)
	if f != nil {
		return f
	}
	return g.leavingBefore(shards, g.leavings)
}

// roundless says why no state of the whole store can be fixed now, which needs every
// shard, nil if one can.
func (g *Gateway) roundless() *msg.Failure {
	if !g.avoids() {
		return nil
	}
	return g.refusing(g.everyShard())
}

// isRoundless reports whether a round has failed because it needs a shard that is not
// there, or is about to go.
func isRoundless(f *msg.Failure) bool {
	return f.Reason == msg.ReasonExhausted && kv.Kind(f.Kind) == kv.KindUnavailable
}

// unreachable says which of these shards is on a node that is known to be down.
func (g *Gateway) unreachable(shards []kv.ShardID) *msg.Failure {
	if len(g.down) == 0 {
		return nil
	}
	for _, s := range shards {
		n := g.cfg.Router.Node(s)
		if _, is := g.down[n]; is {
			f := failure(msg.ReasonExhausted, kv.KindUnavailable, "shard "+s.String()+" is on node "+n.String()+", which is down")
			f.Down = n
			return f
		}
	}
	return nil
}

// leavingBefore says why something that began when so many leavings had been heard of
// should not be begun on these shards.
func (g *Gateway) leavingBefore(shards []kv.ShardID, heard uint64) *msg.Failure {
	for _, s := range shards {
		l, ok := g.leaving[s]
		switch {
		case !ok || l.number > heard:
		case l.inc < g.incs[s]:
			delete(g.leaving, s) // it is back
		default:
			f := failure(msg.ReasonExhausted, kv.KindUnavailable, "shard "+s.String()+" is on node "+g.cfg.Router.Node(s).String()+", which is draining")
			f.Hint = "nothing was applied; try again when the node is back"
			return f
		}
	}
	return nil
}

// meetDown is for a commit under way that needs a shard whose node is down, and
// reports whether that has ended it. What only reads ends. Without a participant there
// is no commit: its last agent is asked to end it, and tells what has become of it. If
// it is the last agent's node, nobody else can tell.
func (g *Gateway) meetDown(c *call, reads bool) (over bool) {
	f := g.unreachable(g.shardsOf(c))
	if f == nil {
		f = g.unreachable(c.commit.shards())
	}
	if f == nil {
		return false
	}
	since, is := g.down[g.cfg.Router.Node(c.commit.last)]
	switch {
	case reads:
		g.finish(c, Done{Failure: f})
		return true
	case is && g.now >= since+int64(lastWait):
		f = failure(msg.ReasonCancelled, kv.KindUnknown, "the answer to the commit of transaction "+c.ref.TxnID.String()+" did not come, and node "+
			g.cfg.Router.Node(c.commit.last).String()+", which decides it, is down; ask for its outcome by that id when the node is back")
		f.Down = g.cfg.Router.Node(c.commit.last)
		g.finish(c, Done{Failure: f})
		return true
	case is:
		g.timed(since + int64(lastWait))
	case c.commit.without == nil:
		c.commit.without = f
		c.commit.cancel(g)
	}
	return false
}

// waitsForDown is for a call that waits for a transaction that has promised to commit,
// if the node is down that decides that: it would wait until that is back. It ends, or
// is asked to, if it has asked to commit.
func (g *Gateway) waitsForDown(c *call, w *msg.Waits) bool {
	f := g.unreachable([]kv.ShardID{w.Last})
	if f == nil || c.kind == pinning {
		return false
	}
	f.Key = w.Receipt.Key
	f.Text = "transaction " + w.Receipt.Holder.TxnID.String() + " has the key, and is to be decided by shard " + w.Last.String() + " on node " + f.Down.String() + ", which is down"
	if c.phase != phaseCommitting {
		g.abort(c, f)
		return true
	}
	c.commit.without = cmp.Or(c.commit.without, f)
	c.commit.cancel(g)
	g.timed(g.now)
	return true
}

// shards are those that the commit was sent to.
func (c *commit) shards() []kv.ShardID {
	out := make([]kv.ShardID, len(c.sends))
	for i, env := range c.sends {
		out[i] = env.Shard
	}
	return out
}

// cancel has the last agent asked for an end from now on.
func (c *commit) cancel(g *Gateway) {
	if c.cancelling {
		return
	}
	c.cancelling = true
	c.next = g.now
	c.wait = int64(g.cfg.Repeat) / 2
}
