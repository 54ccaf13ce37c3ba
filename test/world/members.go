package world

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// The replicas of a shard change: a new one on a node without a replica takes the place of one whose disk is lost, or
// of any. The steps are a leader's (consensus.Changes); their times are the user's.

// place names a disk of a node.
func (d *Disk) place() string { return fmt.Sprintf("%v/%d", d.Node.ID, d.stamp) }

// home returns where the replica is, or is to be, that a message is for; nil if there is no such place any more.
func (w *World) home(m *consensus.Message) *Shard {
	if s := w.groups[m.Group].homes[m.To]; s != nil {
		return s
	}
	for _, n := range w.Nodes {
		if s := n.shard(m.Group); s.Disk.place() == m.Place {
			return s
		}
	}
	return nil
}

// receive passes a message to the replica, with the rows of a Raft snapshot. The first message of a leader to a new
// replica makes it (R7.17).
func (s *Shard) receive(m *consensus.Message, chunks [][]byte) {
	if !s.Disk.Up {
		return
	}
	if s.replica == nil && consensus.MayCreate(m, s.Disk.place(), s.greatest, s.w.Mutants) {
		s.w.Trace("%v makes replica %d of %v", s.Node.ID, m.To, s.ID)
		newReplica(s, m.To).start()
	}
	r := s.replica
	if r == nil {
		return
	}
	if chunks != nil {
		r.staged[consensus.Position(m.Raft.Snapshot.Metadata.Index)] = chunks
	}
	r.act(func(g *consensus.Replica) { g.Step(r.node.Local(), m) })
}

// noRows are the chunks of a shard without a replica.
func noRows() [][]byte {
	var c engine.ChunkEncoder
	c.Add(&engine.ShardRow{Table: entry.TableReplica})
	return [][]byte{c.Chunk(), c.Chunk()}
}

// destroy ends the replica, as it was removed. The node keeps its number.
func (r *Replica) destroy() {
	r.w.Trace("%v destroys replica %d of %v", r.node.ID, r.id, r.shard.ID)
	if !r.group.released[r.id] {
		r.w.Fail("%v destroys replica %d of %v, which is not released", r.node.ID, r.id, r.shard.ID)
	}
	r.stop()
	r.swapRows(noRows())
	r.isDestroyed, r.shard.replica = true, nil
}

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
	if home.replica != nil || !home.Disk.Up {
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
	return fmt.Sprintf("swaps replica %d for %d", in, out), c.Swap(now, in, out)
}
