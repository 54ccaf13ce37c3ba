package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// send commits the pieces of a flow. q has what is special about it.
func (gw *Gateway) sendCommit(f Committer, ps piece.Pieces, q commitreq.Request) Outcome {
	c := f.Base()
	q.Last = gw.Hot() // it knows of every move
	if c.Kind != MoveKind {
		q.Last = gw.lastAgent(ps)
		q.Parallel = gw.Order == env.Parallel && len(ps) > 1
	}
	for i := range ps {
		if ps[i].Incarnation == 0 {
			ps[i].Incarnation = gw.Shards.Incarnation(ps[i].Shard)
		}
	}
	gw.Heat.NoteTogether(ps)
	c.Phase = Committing
	q.Txn, q.Begun, q.User, q.NoWait = c.Ref, c.Begun, c.How.User, c.Wound.Is
	q.Known = gw.Shards.Known(q.Last, ps.At(q.Last).Incarnation)
	q.LastRepeat, q.CancelAt = c.LastCommitRetry(), c.CancelAt()
	f.Commit().Send(gw.Env, q, ps)
	return Continue
}

// lastAgent is the shard that decides: the hottest of those that answer in time, if there is one.
// What is decided on a slow disk stays sealed on the other shards until it is durable, and rounds
// would have to wait for it there. In the baseline it is the coldest in the
// router's order: the decision is not where the contention is, as it is not with a coordinator
// apart.
func (gw *Gateway) lastAgent(ps piece.Pieces) kv.ShardID {
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

// answering are the pieces on shards that are not slow, or all if there is none.
func (gw *Gateway) fastShards(ps piece.Pieces) piece.Pieces {
	may := func(p piece.Piece) bool { return gw.Shards.MayDecide(p.Shard) }
	slow := func(p piece.Piece) bool { return !may(p) }
	if !slices.ContainsFunc(ps, slow) || !slices.ContainsFunc(ps, may) || gw.Mutants.Has(mutant.LeftOutDecides) {
		return ps
	}
	return slices.DeleteFunc(slices.Clone(ps), slow)
}
