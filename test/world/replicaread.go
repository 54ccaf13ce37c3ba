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

// isReadOfPast reports whether any replica can serve a message: a read at a state that a round has fixed, a page of a
// retained snapshot, or the search for one by its number or its time. The pages of a scan at a round are read at the
// leader, which retains the state for it.
func isReadOfPast(env *msg.Envelope) bool {
	if q := msg.As[msg.Read](env); q != nil {
		return shard.IsPast(q)
	}
	if q := msg.As[msg.FindSnapshot](env); q != nil {
		return q.Name == "" && !q.List
	}
	q := msg.As[msg.ReadPage](env)
	return q != nil && q.SnapshotNumber != 0 && q.Number != 0 && !q.Done
}

// maxClosedWait is for how long a replica waits until it has applied what is read.
const maxClosedWait = 10 * time.Millisecond

// serveRead serves a message from the rows of a replica, if it can. Otherwise the message goes to the leader.
func (r *Replica) serveRead(env *msg.Envelope, until int64) {
	w, s, starts := r.w, r.shard, r.starts
	reader := shard.ReplicaReader{Shard: s.ID, Home: w.user.ShardConfig(s).Home, Mutants: w.Mutants,
		Read:  r.read,
		Clock: func() int64 { return (r.node.WallClock() + int64(time.Millisecond) - 1) / int64(time.Millisecond) }}
	res, refused := reader.Serve(env)
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
		if refused == shard.Unreadable {
			r.onUnreadable()
		}
		w.Counts.ReplicaRefusals++
		r.node.forward(env)
	}
}

// read reads the rows of the replica.
func (r *Replica) read(q entry.Read) entry.ReadResult {
	if r.shard.failsRead() {
		return entry.ReadResult{ID: q.ID, Kind: q.Kind, Err: ErrUnreadable}
	}
	return r.disk.Store.Read(r.shard.ID, q)
}

// A read from disk that fails makes the replica unfit. It is replaced: by one on another node, or by an empty one on
// its own, which then has lost its disk. Only one replica of a group is damaged or lost at a time (R10.4).

// failsRead reports whether a read fails that is about to end.
func (s *Shard) failsRead() bool {
	w := s.w
	switch {
	case w.Calm || w.ReadErrors == 0:
		return false
	case s.replica == nil:
		return w.Chance(w.ReadErrors)
	case len(s.replica.rep.Group().State().Conf.Voters) == 0: // it has no rows yet
		return false
	case w.groups[s.ID].lost[s.replica.id]:
		return true
	}
	fails := w.groups[s.ID].areWhole() && w.Chance(w.ReadErrors)
	if fails {
		w.groups[s.ID].lost[s.replica.id] = true
	}
	return fails
}

// onUnreadable is called when a read of the replica's rows fails. The reader gets no result.
func (r *Replica) onUnreadable() {
	if !r.rep.SetUnfit(r.node.Local()) {
		r.w.Fail("replica %d of %v on %v knows no fit voter besides itself", r.id, r.shard.ID, r.node.ID)
	}
	r.perform()
}

func (r *Replica) onUnfit() {
	r.isUnfit = true
	r.w.Counts.Unfit++
	r.w.Trace("%v has an unfit replica %d of %v", r.node.ID, r.id, r.shard.ID)
	if !r.group.lost[r.id] && !r.group.differs(r.id) {
		r.w.Fail("replica %d of %v on %v is unfit without damage", r.id, r.shard.ID, r.node.ID)
	}
}

// abandon destroys an unfit replica that has not been removed, as a new one is to take its place on the disk.
func (r *Replica) abandon() {
	r.w.Trace("%v abandons replica %d of %v", r.node.ID, r.id, r.shard.ID)
	r.stop()
	r.swapRows(noRows())
	r.isDestroyed, r.shard.replica = true, nil
	r.w.Counts.Abandoned++
}
