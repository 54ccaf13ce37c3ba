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
func (h *Host) send(f Committer, ps piece.Pieces, q commitreq.Request) Outcome {
	c := f.Base()
	q.Last = h.Hot() // it knows of every move
	if c.Kind != MoveKind {
		q.Last = h.lastAgent(ps)
		q.Parallel = h.Order == env.Parallel && len(ps) > 1
	}
	for i := range ps {
		if ps[i].Incarnation == 0 {
			ps[i].Incarnation = h.Shards.Incarnation(ps[i].Shard)
		}
	}
	h.Heat.NoteTogether(ps)
	c.Phase = Committing
	q.Txn, q.Begun, q.User, q.NoWait = c.Ref, c.Begun, c.How.User, c.Wound.Is
	q.Known = h.Shards.Known(q.Last, ps.At(q.Last).Incarnation)
	q.LastRepeat, q.CancelAt = c.LastRepeat(), c.CancelAt()
	f.Commit().Send(h.Env, q, ps)
	return GoesOn
}

// lastAgent is the shard that decides: the hottest of those that answer in time, if there is one.
// What is decided on a slow disk stays sealed on the other shards until it is durable, and rounds
// would have to wait for it there. In the baseline it is the coldest in the
// router's order: the decision is not where the contention is, as it is not with a coordinator
// apart.
func (h *Host) lastAgent(ps piece.Pieces) kv.ShardID {
	if len(ps) == 1 {
		return ps[0].Shard
	}
	if h.Order != env.Parallel {
		last, _ := h.Heat.Hottest(h.answering(ps))
		return last
	}
	last := ps[0].Shard
	for i := range ps {
		if i > 0 && !h.Router.Hotter(ps[i].Shard, last) {
			last = ps[i].Shard
		}
	}
	return last
}

// answering are the pieces on shards that are not slow, or all if there is none.
func (h *Host) answering(ps piece.Pieces) piece.Pieces {
	may := func(p piece.Piece) bool { return h.Shards.MayDecide(p.Shard) }
	slow := func(p piece.Piece) bool { return !may(p) }
	if !slices.ContainsFunc(ps, slow) || !slices.ContainsFunc(ps, may) || h.Mutants.Has(mutant.LeftOutDecides) {
		return ps
	}
	return slices.DeleteFunc(slices.Clone(ps), slow)
}
