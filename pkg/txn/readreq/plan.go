package readreq

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Start sends the reads of a transaction that is known as a whole, by the reading's plan.
// last is the shard that reads last, if the plan has one. gather: the gateway waits for the
// others in that shard's place, which is busy.
func (r *Reading) Start(e *env.Env, ps piece.Pieces, last kv.ShardID, gather bool, lastRepeat int64) {
	for _, p := range ps {
		q := &msg.Read{Ops: p.Ops, LeaseNanos: int64(e.Lease)}
		switch {
		case r.Plan == env.PlanHotLast && gather && p.Shard == last:
			q.LeaseNanos = 0
			r.then, r.lastShard = q, last
			if !e.Mutants.Has(mutant.GatheredTooEarly) {
				continue
			}
			r.last, r.then = q, nil
		case r.Plan == env.PlanHotLast && !gather:
			r.order(q, p.Shard, last, ps.Shards())
		}
		r.Ask(e, p.Shard, q, lastRepeat)
	}
}

// order has one shard read last, when the others have notified it that they have read; the
// reader is not registered there.
func (r *Reading) order(q *msg.Read, shard, last kv.ShardID, all []kv.ShardID) {
	if shard != last {
		q.Notify, q.Last = true, last
		return
	}
	q.LeaseNanos = 0
	for _, s := range all {
		if s != last {
			q.Await = append(q.Await, s)
		}
	}
	r.last, r.lastShard = q, last
}
