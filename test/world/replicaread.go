package world

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// replicaFor returns the node to which a message for a shard is sent: the leader, as far as the sender knows, or a
// random replica, if any can serve the message (R8.1).
func (n *Node) replicaFor(env *msg.Envelope) kv.NodeID {
	w := n.w
	if w.Replicas == 0 || w.Rng == nil || !isReadOfPast(env) || !w.OneIn(2) {
		return n.leader(env.Shard)
	}
	if o := w.Nodes[w.Rng.IntN(len(w.Nodes))]; o.replica(env.Shard) != nil {
		return o.ID
	}
	return n.leader(env.Shard)
}

// isReadOfPast reports whether any replica can serve a message: a read at a state that a round has fixed, or a page of
// a retained snapshot. The pages of a scan at a round are read at the leader, which retains the state for it.
func isReadOfPast(env *msg.Envelope) bool {
	if q := msg.As[msg.Read](env); q != nil {
		return shard.IsPast(q)
	}
	q := msg.As[msg.ReadPage](env)
	return q != nil && q.SnapshotNumber != 0 && q.Number != 0 && !q.Done
}

// maxClosedWait is for how long a replica waits until it has applied what is read.
const maxClosedWait = 10 * time.Millisecond

// serveRead serves a message from the rows of a replica, if it can. Otherwise the message goes to the leader.
func (r *Replica) serveRead(env *msg.Envelope, until int64) {
	w, s, starts := r.w, r.shard, r.starts
	res := msg.ToGateway(0)
	reader := shard.ReplicaReader{Shard: s.ID, Home: w.user.ShardConfig(s).Home, Mutants: w.Mutants,
		Read:  func(q entry.Read) entry.ReadResult { return r.disk.Store.Read(s.ID, q) },
		Clock: func() int64 { return (r.node.WallClock() + int64(time.Millisecond) - 1) / int64(time.Millisecond) }}
	var refused shard.Refusal
	if q := msg.As[msg.Read](env); q != nil {
		res.Gateway = q.Gateway
		res.Body, refused = reader.OnRead(q)
	} else {
		q := msg.As[msg.ReadPage](env)
		res.Gateway = q.Gateway
		res.Body, refused = reader.OnScan(q)
	}
	switch {
	case refused == shard.Served:
		w.Counts.ReplicaReads++
		w.Send(Source{r.node, true}, res)
	case refused == shard.NotClosed && w.now < until:
		w.After(maxClosedWait/4, func() {
			r.node.WhenAwake(func() {
				if r.starts == starts {
					r.serveRead(env, until)
				}
			})
		})
	default:
		w.Counts.ReplicaRefusals++
		r.node.forward(env)
	}
}
