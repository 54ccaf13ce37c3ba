package world

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
)

// The replicas of a shard change: a new one on a node without a replica takes the place of one whose disk is lost, or
// of any. The steps are a leader's (consensus.Changes); their times are the user's.

// Lose has the disk come back empty. It does nothing if a group with a replica there has lost another disk, whose
// replica is not replaced yet (R10.4).
func (d *Disk) Lose() {
	w := d.w
	for _, s := range d.Shards {
		if s.replica != nil && !w.groups[s.ID].areWhole() {
			return
		}
	}
	w.Trace("%v loses the disk %s", d.Node.ID, d.place())
	w.Counts.LostDisks++
	d.Crash()
	d.Store, d.stamp = memstore.New(), d.stamp+1
	for _, s := range d.Shards {
		if s.replica != nil {
			w.groups[s.ID].lost[s.replica.id] = true
			s.replica.isDestroyed = true
		}
		s.replica, s.greatest = nil, 0
	}
}

// StepMembers takes the next step of a change of the shard's replicas, or begins one.
func (s *Shard) StepMembers() {
	if s.M == nil || s.Node.StoppedUntil > s.w.now {
		return
	}
	r := s.replica
	r.act(func(g *consensus.Replica) {
		state := g.State()
		what, err := r.stepMembers(g.Changes(), &state)
		if what != "" {
			s.w.Trace("%v %s of %v: %v", s.Node.ID, what, s.ID, err)
		}
	})
}

func (r *Replica) stepMembers(c consensus.Changes, state *consensus.State) (what string, err error) {
	now := r.node.Local()
	switch {
	case state.IsJoint() && !state.IsVoter(r.id):
		if home := r.group.homes[c.Successor()]; home != nil {
			r.shard.Transfer(home.Node)
		}
		return "", nil
	case state.IsJoint():
		return "ends the joint configuration", c.EndJoint(now)
	case state.Unreleased && !r.w.OneIn(4): // at times, the next change is tried before that
		return "releases the change", c.Release(now)
	case len(state.Conf.Learners) > 0:
		return r.swapMember(c, state)
	}
	n := r.w.Nodes[r.w.Rng.IntN(len(r.w.Nodes))]
	home := n.shard(r.shard.ID)
	isFree := home.replica == nil || home != r.shard && slices.Contains(state.Unfit, home.replica.id)
	if !isFree || !home.Disk.Up {
		return "", nil
	}
	id, err := c.AddLearner(now, home.Disk.place())
	return fmt.Sprintf("adds replica %d at %s", id, home.Disk.place()), err
}

// swapMember swaps the learner in, for a replica whose disk is lost or for any other, or gives the learner up.
func (r *Replica) swapMember(c consensus.Changes, state *consensus.State) (what string, err error) {
	now, in := r.node.Local(), consensus.ReplicaID(state.Conf.Learners[0])
	if r.group.lost[in] || r.w.OneIn(20) {
		return fmt.Sprintf("gives replica %d up", in), c.Swap(now, 0, in)
	}
	if !c.HasCaughtUp(in) {
		return "", nil
	}
	out := consensus.ReplicaID(state.Conf.Voters[r.w.Rng.IntN(len(state.Conf.Voters))])
	for _, id := range state.Conf.Voters {
		if r.group.lost[consensus.ReplicaID(id)] {
			out = consensus.ReplicaID(id)
		}
	}
	if len(state.Unfit) > 0 {
		out = state.Unfit[0]
	}
	return fmt.Sprintf("swaps replica %d for %d", in, out), c.Swap(now, in, out)
}

// CheckReplicas checks that replicas which have applied the same entries have the same rows (R2.4).
func (w *World) CheckReplicas() {
	for _, s := range w.Shards {
		rows := map[consensus.Position][][]byte{}
		for _, n := range w.Nodes {
			r := n.replica(s.ID)
			if r == nil || r.rep == nil || r.isUnfit || w.groups[s.ID].lost[r.id] && w.groups[s.ID].state.IsJoint() {
				continue // joint: no check comes
			}
			chunks, _, err := readShard(r.disk.Store, r.shard)
			if err != nil {
				w.Fail("%v on %v: %v", s.ID, n.ID, err)
			}
			before, ok := rows[r.applied]
			if ok {
				w.Counts.Compared++
			}
			if ok && !slices.EqualFunc(before, chunks, bytes.Equal) {
				w.Fail("%v: the replica on %v has other rows than another one that has applied as much", s.ID, n.ID)
			}
			rows[r.applied] = chunks
		}
	}
}
