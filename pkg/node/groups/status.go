package groups

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Status is a shard's replica on this node, and what it knows of the group.
type Status struct {
	Shard kv.ShardID
	// Replica is the number of this node's replica, 0 if it has none.
	Replica consensus.ReplicaID
	// Leader is the node that leads the shard in Term, 0 if none is known.
	Leader kv.NodeID
	Term   consensus.Term
	// Committed and Applied are the last entries that this replica knows to be committed, and that are in its rows.
	Committed, Applied consensus.Position
	// Lease is for how long the leader's lease lasts, if this node leads; 0 without one.
	Lease time.Duration
	// Changing: a change of the group's replicas is not complete.
	Changing bool
	// Members are the replicas of the group, as this one knows them.
	Members []Member
	// Failed is why this node's replica has ended, "" if it has not.
	Failed string
}

// Member is a replica of a group.
type Member struct {
	Replica consensus.ReplicaID
	Node    kv.NodeID
	Learner bool
	// Has is the position up to which it has the log, and Silent for how long it has not responded to the leader. Only
	// the leader knows them of other replicas.
	Has    consensus.Position
	Silent time.Duration
}

// Status returns the replicas of this node, in the order of shards.
func (s *Set) Status() []Status {
	out := make([]Status, 0, len(s.replicas))
	for _, r := range s.replicas {
		r.Lock()
		out = append(out, r.status(s.opt.Clock.Now()))
		r.Unlock()
	}
	return out
}

func (r *replica) status(now int64) Status {
	st := Status{Shard: r.shard, Replica: r.id, Failed: r.failed}
	st.Leader, st.Term = r.set.Leader(r.shard)
	if r.rep == nil {
		return st
	}
	g := r.rep.Group()
	state := g.State()
	st.Changing = state.IsJoint() || state.Unreleased || len(state.Conf.Learners) > 0
	st.Committed, st.Applied = g.Committed(), r.appliedTo
	if r.Machine() != nil {
		st.Lease = time.Duration(max(r.rep.LeaseEnd(now)-now, 0))
	}
	has := map[consensus.ReplicaID]consensus.Follower{}
	for _, f := range g.Followers() {
		has[f.ID] = f
	}
	for i, ids := range [][]uint64{state.Conf.Voters, state.Conf.Learners} {
		for _, id := range ids {
			m := Member{Replica: consensus.ReplicaID(id), Node: r.home(consensus.ReplicaID(id)), Learner: i == 1}
			if f, ok := has[m.Replica]; ok {
				m.Has, m.Silent = f.Has, time.Duration(now-f.Responded)
			}
			if m.Replica == r.id {
				m.Node, m.Has = r.set.opt.ID, st.Committed
			}
			st.Members = append(st.Members, m)
		}
	}
	return st
}
