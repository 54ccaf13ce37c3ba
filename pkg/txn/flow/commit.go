package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// sendCommit sends the pieces of a flow: prepare requests to the participants, and the commit
// request to the last agent. q has the fields that depend on the kind of flow.
//
// From now on only the last agent can end the attempt: the gateway cannot know whether the commit request has arrived.
func (gw *Gateway) sendCommit(f Committer, ps piece.Pieces, q commitreq.Request) Outcome {
	c := f.Base()
	// The last agent of a move is always the hot shard, which so knows all of its keys
	// (docs/protocol.md, section 9).
	q.Last = gw.Hot()
	if c.Kind != MoveKind {
		q.Last = gw.lastAgent(ps)
		q.Parallel = gw.Order == env.Parallel && len(ps) > 1
	}
	// Reads and grants name the incarnation that produced them. The other pieces name the last one
	// that is known: if the shard has restarted since, it refuses the piece, and its response has the
	// current one.
	for i := range ps {
		if ps[i].Incarnation == 0 {
			ps[i].Incarnation = gw.Shards.Incarnation(ps[i].Shard)
		}
	}
	// The planner moves keys to the hot shard that are hot and are written together.
	gw.Heat.CountPairs(ps)
	c.Phase = Committing
	q.Txn, q.BeginTime, q.User, q.NoWait = c.Ref, c.Begun, c.How.User, c.Wound.Is
	q.Known = gw.Shards.Known(q.Last, ps.At(q.Last).Incarnation)
	q.LastRepeat, q.CancelAt = c.LastCommitRetry(), c.CancelAt()
	f.Commit().Send(gw.Env, q, ps)
	return Continue
}

// lastAgent chooses the shard that decides: the hottest, so that no hot key is locked across a
// network round trip. Shards with a slow log are avoided if there is another: updates stay sealed
// on all participants until the decision is durable, and snapshot rounds wait for sealed updates.
//
// With --commit-order parallel it is the coldest shard in the router's order. That models a
// coordinator apart from the contention, as in ordinary two-phase commit.
//
// Gateways may have different heat maps, and choose different last agents for the same keys. Each attempt has one,
// which is named in all of its messages.
func (gw *Gateway) lastAgent(ps piece.Pieces) kv.ShardID {
	// A single shard decides alone.
	if len(ps) == 1 {
		return ps[0].Shard
	}
	if gw.Order != env.Parallel {
		last, _ := gw.Heat.Hottest(gw.fastShards(ps))
		return last
	}
	last := ps[0].Shard
	for i := range ps {
		if i > 0 && !gw.Router.Hotter(ps[i].Shard, last) {
			last = ps[i].Shard
		}
	}
	return last
}

// fastShards returns the pieces on shards whose log is not slow, or all pieces if there is none.
func (gw *Gateway) fastShards(ps piece.Pieces) piece.Pieces {
	may := func(p piece.Piece) bool { return canDecide(gw, p.Shard) }
	slow := func(p piece.Piece) bool { return !may(p) }
	if !slices.ContainsFunc(ps, slow) || !slices.ContainsFunc(ps, may) {
		return ps
	}
	return slices.DeleteFunc(slices.Clone(ps), slow)
}
