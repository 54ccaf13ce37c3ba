package embed

import (
	"fmt"
	"math"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// groupStatus is what is known of the replicas of each shard, in the order of shards; nil without replicas.
type groupStatus []groups.Status

// groups returns what the node knows of the replicas of all shards; of those that another node of this process leads,
// what that knows.
func (b *backend) groups() groupStatus {
	own := b.node.Groups()
	if own == nil {
		return nil
	}
	all := own.Status()
	for _, n := range b.all() {
		if n == b.node {
			continue
		}
		for i, st := range n.Groups().Status() {
			if st.Leads && st.HasLeader && st.Term >= all[i].Term {
				st.Failed = all[i].Failed
				all[i] = st
			}
		}
	}
	return all
}

// led returns the shards that a node leads, as far as this one knows.
func (g groupStatus) led(n kv.NodeID) (shards []kv.ShardID) {
	for i := range g {
		if g[i].HasLeader && g[i].Leader == n {
			shards = append(shards, g[i].Shard)
		}
	}
	return shards
}

func (g groupStatus) replicasOn(n kv.NodeID) (count uint32) {
	for i := range g {
		for k := range g[i].Members {
			if g[i].Members[k].Node == n {
				count++
			}
		}
	}
	return count
}

// fill sets what concerns replicas in the status of the shards. up reports whether a node is reached.
func (g groupStatus) fill(out []pb.ShardStatus, up func(kv.NodeID) bool) {
	for i := range g {
		st, to := &g[i], &out[g[i].Shard]
		to.NodeId, to.Up = 0, st.HasLeader && up(st.Leader)
		if st.HasLeader {
			to.NodeId = uint32(st.Leader)
		}
		to.Term, to.LeaseMs, to.Changing = uint64(st.Term), uint64(st.Lease.Milliseconds()), st.Changing
		to.Failure, to.Missing = st.Failed, uint32(st.Missing)
		if st.Missing > 0 {
			to.MissingReason = missingReason(st, up)
		}
		for k := range st.Members {
			m := &st.Members[k]
			r := pb.ReplicaStatus{Replica: uint32(m.Replica), NodeId: uint32(m.Node),
				Leader: st.HasLeader && m.Node == st.Leader, Learner: m.Learner, Lag: m.Lag, Damaged: m.IsUnfit}
			if m.IsSilent {
				r.SilentMs = max(uint64(m.Silent.Milliseconds()), 1)
			}
			to.Replicas = append(to.Replicas, r)
		}
	}
}

// clockRates are those of the other nodes that are off.
func clockRates(s *groups.Set) (off []pb.ClockRate) {
	for _, r := range s.ClockRates() {
		if r.IsOff {
			off = append(off, pb.ClockRate{NodeId: uint32(r.Node), Ppm: int64(math.Round(r.Faster * 1e6))})
		}
	}
	return off
}

// missingReason says why a shard has fewer replicas than it should have.
func missingReason(st *groups.Status, up func(kv.NodeID) bool) string {
	var why []string
	filling := false
	for i := range st.Members {
		m := &st.Members[i]
		switch {
		case m.Learner:
			filling = true
			why = append(why, fmt.Sprintf("a new replica on %v receives the data", m.Node))
		case m.IsUnfit:
			why = append(why, fmt.Sprintf("the replica on %v is damaged", m.Node))
		case m.IsSilent && !up(m.Node):
			why = append(why, fmt.Sprintf("%v is down", m.Node))
		case m.IsSilent:
			why = append(why, fmt.Sprintf("the replica on %v does not respond", m.Node))
		}
	}
	if st.Changing && !filling {
		why = append(why, "a change of the replicas is in progress")
	}
	if len(why) == 0 {
		return "the group has too few members"
	}
	return strings.Join(why, "; ")
}
