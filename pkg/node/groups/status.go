package groups

import (
	"slices"
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
	// HasLeader: this node leads, with the lease if there are leases, or its replica follows a leader, or it has none and
	// knows Leader.
	HasLeader bool
	// Committed and Applied are the last entries that this replica knows to be committed, and that are in its rows.
	Committed, Applied consensus.Position
	// Leads: this node leads, and has begun. A transfer ends that.
	Leads bool
	// Lease is for how long the leader's lease lasts, if this node leads; 0 without one.
	Lease time.Duration
	// Changing: a change of the group's replicas is not complete.
	Changing bool
	// Members are the replicas of the group, as this one knows them.
	Members []Member
	// Missing is how many voters the shard has less than it should have, not counting those that are silent or unfit, or
	// have not responded to this leader yet, as that of an emptied disk never does. Only the leader knows it.
	Missing int
	// Elections counts the elections that replicas of this node have begun, Leaderships those that made it the leader.
	Elections, Leaderships uint64
	// Failed is why this node's replica has ended, "" if it has not.
	Failed string
}

// Member is a replica of a group.
type Member struct {
	Replica consensus.ReplicaID
	Node    kv.NodeID
	Learner bool
	// Lag is how many committed entries are not on its disk, and Silent for how long it has not responded to the leader,
	// at most since that leads. Only the leader knows them of other replicas.
	Lag    uint64
	Silent time.Duration
	// IsSilent: it is silent for longer than a few heartbeats, or has never responded to this leader. IsUnfit: its log or
	// its rows are damaged (R6.13, R6.15).
	IsSilent, IsUnfit bool
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
	st := Status{Shard: r.shard, Replica: r.id, Failed: r.failed, Elections: r.past.elections,
		Leaderships: r.past.leaderships}
	st.Leader, st.Term = r.set.Leader(r.shard)
	if r.rep == nil {
		st.HasLeader = st.Leader != 0 && st.Leader != r.set.opt.ID
		return st
	}
	g := r.rep.Group()
	state := g.State()
	st.Changing = isChanging(&state)
	st.Committed, st.Applied = g.Committed(), r.appliedTo
	lead, _ := g.Leader()
	st.HasLeader = lead != 0 && lead != r.id
	if r.Machine() != nil {
		end := r.rep.LeaseEnd(now)
		st.Leads, st.HasLeader = true, end > now
		if !r.set.opt.NoLeases {
			st.Lease = time.Duration(max(end-now, 0))
		}
	}
	st.Members = membersOf(r, now, &state)
	if st.Leads {
		st.Missing = r.set.opt.Placement.Replicas
		for i := range st.Members {
			if m := &st.Members[i]; !m.Learner && !m.IsSilent && !m.IsUnfit {
				st.Missing = max(st.Missing-1, 0)
			}
		}
	}
	return st
}

// isChanging reports whether a change of the group's replicas is not complete.
func isChanging(state *consensus.State) bool {
	return state.IsJoint() || state.Unreleased || len(state.Conf.Learners) > 0
}

// membersOf returns the replicas of the group: the voters, then the learners.
func membersOf(r *replica, now int64, state *consensus.State) (all []Member) {
	g := r.rep.Group()
	committed := g.Committed()
	has := map[consensus.ReplicaID]consensus.Follower{}
	for _, f := range g.Followers() {
		has[f.ID] = f
	}
	for i, ids := range [][]uint64{state.Conf.Voters, state.Conf.Learners} {
		for _, id := range ids {
			m := Member{Replica: consensus.ReplicaID(id), Node: r.home(consensus.ReplicaID(id)), Learner: i == 1,
				IsUnfit: slices.Contains(state.Unfit, consensus.ReplicaID(id))}
			if m.Replica == r.id {
				m.Node = r.set.opt.ID
			} else if f, ok := has[m.Replica]; ok {
				m.Lag = uint64(committed - min(committed, f.Has))
				m.Silent = time.Duration(now - max(f.Responded, r.past.ledSince))
				m.IsSilent = f.Responded == 0 || m.Silent > r.set.opt.Hold
			}
			all = append(all, m)
		}
	}
	return all
}
