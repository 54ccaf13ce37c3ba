package readreq

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Start sends the reads of a one-shot by the reading's plan. last is the shard that reads last, if the plan has one.
// gatewayWaits: that shard is busy, so the gateway waits for the other responses itself before it sends the last
// request.
func (r *Reading) Start(e *env.Env, ps piece.Pieces, last kv.ShardID, gatewayWaits bool, lastRepeat int64) {
	for _, p := range ps {
		q := &msg.Read{Ops: p.Ops, LeaseNanos: int64(e.Lease)}
		switch {
		case r.Plan == env.PlanHotLast && gatewayWaits && p.Shard == last:
			r.deferLast(e, q, last, lastRepeat)
			continue
		case r.Plan == env.PlanHotLast && !gatewayWaits:
			r.setReadOrder(q, p.Shard, last, ps.Shards())
		}
		r.Send(e, p.Shard, q, lastRepeat)
	}
}

// setReadOrder makes one shard read last, after the notices of the others. The reader is not registered there.
//
// Updates of the hot keys on the last shard are held for one step only, not for the network round trips of the reader.
func (r *Reading) setReadOrder(q *msg.Read, shard, last kv.ShardID, all []kv.ShardID) {
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
