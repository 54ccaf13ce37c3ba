package consensus_test

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// members is what the simulation knows of a group that changes among five nodes.
type members struct {
	// state is that of the last applied entry, on any node. old are the voters before the present change.
	state consensus.State
	old   []uint64
	// homes are the nodes of replicas. lost are replicas whose disk is lost, released those that are removed.
	homes          map[consensus.ReplicaID]*node
	lost, released map[consensus.ReplicaID]bool
	// staged are the counts of Raft snapshots by their positions.
	staged map[consensus.Position]uint64
	// pace is the greatest time between steps of a change.
	pace int64
	// changes and snapshots count.
	changes, snapshots int
}

func newMembersSim(seed uint64, mutants mutant.Set) *sim {
	s := makeSim(seed, mutants, 5)
	s.members = &members{homes: map[consensus.ReplicaID]*node{}, lost: map[consensus.ReplicaID]bool{},
		released: map[consensus.ReplicaID]bool{}, staged: map[consensus.Position]uint64{}}
	s.members.state = s.nodes[0].rows[0].state
	s.members.pace = 200 * ms << (2 * s.rand.IntN(3))
	for _, n := range s.nodes[:3] {
		s.members.homes[n.id] = n
	}
	s.after(0, nil, s.allocate)
	return s
}

func (n *node) place() string { return fmt.Sprintf("%d/%d", n.index, n.disk) }

// home is the node of the replica that a message is for.
func (s *sim) home(m *consensus.Message) *node {
	if s.members == nil {
		return s.nodes[m.To-1]
	} else if n := s.members.homes[m.To]; n != nil {
		return n
	}
	for _, n := range s.nodes {
		if n.place() == m.Place {
			return n
		}
	}
	return nil
}

// receive gives a message to the node's replica, or makes one for it.
func (n *node) receive(m *consensus.Message) {
	if n.id == 0 && n.sim.members != nil && consensus.MayCreate(m, n.place(), n.greatest, n.sim.mutants) {
		n.id, n.greatest = m.To, max(n.greatest, m.To)
		n.log, n.rows = raft.NewMemoryStorage(), []row{{}}
		n.sim.members.homes[n.id] = n
		n.start()
	}
	if n.replica != nil {
		n.act(func() { n.replica.Step(n.clock(), m) })
	}
}

// destroy ends the node's replica, as it was removed.
func (n *node) destroy() {
	n.sim.check.note("node %d destroys replica %d", n.index, n.id)
	if !n.sim.members.released[n.id] {
		n.sim.check.fail("node %d destroys replica %d, which is not released", n.index, n.id)
	}
	n.drop()
}

func (n *node) drop() {
	n.boot++
	n.id, n.replica, n.machine, n.writing, n.applying, n.log, n.rows = 0, nil, nil, nil, nil, nil, nil
}

// memberFault makes a fault that matters when the group changes.
func (s *sim) memberFault(n *node) {
	if s.rand.IntN(2) == 0 {
		s.loseDisk(n)
		return
	}
	var side [5]bool
	for i := range side {
		side[i] = s.rand.IntN(2) == 0
	}
	s.check.note("sides %v", side)
	for i := range side {
		for j := range side {
			s.cut[[2]int{i, j}] = side[i] != side[j]
		}
	}
}

// loseDisk replaces the disk of a node, if no other replica of the group has lost its disk.
func (s *sim) loseDisk(n *node) {
	ids := slices.Concat(s.members.state.Conf.Voters, s.members.state.Conf.VotersOutgoing,
		s.members.state.Conf.Learners, s.members.old)
	for _, id := range ids {
		if s.members.lost[consensus.ReplicaID(id)] {
			return
		}
	}
	s.check.note("node %d loses its disk, with replica %d", n.index, n.id)
	s.members.lost[n.id] = n.id != 0
	n.drop()
	n.disk, n.greatest = n.disk+1, 0
}

// reached records the last applied state.
func (s *sim) reached(state *consensus.State) {
	m := s.members
	if m == nil || state.Position <= m.state.Position {
		return
	}
	before := m.state
	m.state = *state
	if state.IsJoint() {
		m.old = state.Conf.VotersOutgoing
	}
	if before.IsJoint() && !state.IsJoint() {
		s.check.note("joint configuration ends: %v", state.Conf)
	}
	if !state.Unreleased && !state.IsJoint() {
		if before.Unreleased {
			m.changes++
		}
		m.old = nil
		for id := consensus.ReplicaID(1); id < max(state.Next, 4); id++ {
			m.released[id] = m.released[id] || !state.IsMember(id)
		}
	}
}

// beginLog is a log that begins at a state, with the term and the vote of another.
func beginLog(old *raft.MemoryStorage, s *consensus.State) *raft.MemoryStorage {
	log := raft.NewMemoryStorage()
	_ = log.ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: s.Conf, Index: uint64(s.Position),
		Term: uint64(s.Term)}})
	hs, _, _ := old.InitialState()
	hs.Commit = uint64(s.Position)
	_ = log.SetHardState(hs)
	return log
}

// truncate flushes rows, and cuts the log.
func (n *node) truncate() {
	n.rows = n.rows[n.sim.rand.IntN(len(n.rows)):]
	size := int64(n.sim.rand.IntN(2)) << 27
	if to := n.replica.Snapshots().TruncationLimit(n.rows[0].state.Position, size); to > 0 {
		_ = n.log.Compact(uint64(to)) // fails if it is already cut
	}
}

// swapRows sets the rows of a Raft snapshot.
func (n *node) swapRows(w *consensus.Write) {
	n.sim.members.snapshots++
	n.sim.check.note("node %d installs a Raft snapshot at %d", n.index, w.State.Position)
	count, ok := n.sim.members.staged[w.State.Position]
	if !ok {
		n.sim.check.fail("node %d installs rows at %d that were not sent", n.index, w.State.Position)
	}
	n.rows = []row{{state: w.State, count: count}}
}

// sendSnapshot sends rows, which takes a time. The stream may fail, and may arrive again later.
func (n *node) sendSnapshot(to consensus.ReplicaID) {
	s := n.sim
	if s.members == nil {
		s.check.fail("node %d has replica %d sent rows, and no log is cut", n.index, to)
		return
	}
	s.after(s.rand.Int64N(5*ms), n, func() {
		last := n.rows[len(n.rows)-1]
		m, err := n.replica.Snapshots().Message(n.clock(), to, &last.state)
		if err != nil {
			return
		}
		s.members.staged[last.state.Position] = last.count
		delivered := s.rand.IntN(5) > 0
		if home := s.home(&m); delivered && home != nil {
			s.after(s.rand.Int64N(50*ms), n, func() { s.post(n, home, m) })
			if s.faulty && s.rand.IntN(3) == 0 {
				s.after(s.rand.Int64N(3000*ms), nil, func() { s.post(n, home, m) })
			}
		}
		s.after(50*ms+s.rand.Int64N(100*ms), n, func() {
			n.act(func() { n.replica.Snapshots().Ended(n.clock(), to, delivered) })
		})
	})
}

// damage flips a bit of an entry in some appends.
func (s *sim) damage(m *consensus.Message) {
	if s.members == nil || !s.faulty || len(m.Raft.Entries) == 0 || s.rand.IntN(100) > 0 {
		return
	}
	if e := &m.Raft.Entries[s.rand.IntN(len(m.Raft.Entries))]; len(e.Data) > 0 {
		e.Data[s.rand.IntN(len(e.Data))] ^= 1 << s.rand.IntN(8)
	}
}

// allocate takes the next step of a change, or begins one.
func (s *sim) allocate() {
	s.after(20*ms+s.rand.Int64N(s.members.pace), nil, s.allocate)
	for _, n := range s.nodes {
		if n.machine != nil && n.stopped <= s.now {
			n.act(func() { s.allocateAt(n) })
		}
	}
}

func (s *sim) allocateAt(n *node) {
	r, now, state := n.replica, n.clock(), n.replica.State()
	var err error
	what := ""
	switch {
	case state.IsJoint() && !state.IsVoter(n.id):
		what = fmt.Sprintf("transfers to %d", r.Changes().Successor())
		err = r.Transfer(now, r.Changes().Successor(), consensus.RegisteredUnknown)
		if err == nil {
			n.machine = nil
		}
	case state.IsJoint():
		what, err = "ends the joint configuration", r.Changes().EndJoint(now)
	case state.Unreleased && !n.sim.impatient():
		what, err = "releases", r.Changes().Release(now)
	case len(state.Conf.Learners) > 0:
		what, err = s.swap(n, &state)
	default:
		what, err = s.addLearner(n, &state)
	}
	if what != "" {
		s.check.note("node %d %s: %v", n.index, what, err)
	}
}

// impatient reports whether the next change is tried before the release of the one before.
func (s *sim) impatient() bool { return s.faulty && s.rand.IntN(3) == 0 }

// swap swaps the learner in, for a replica whose disk is lost or any other, or gives it up.
func (s *sim) swap(n *node, state *consensus.State) (string, error) {
	in := consensus.ReplicaID(state.Conf.Learners[0])
	if s.members.lost[in] || s.rand.IntN(20) == 0 {
		return fmt.Sprintf("gives %d up", in), n.replica.Changes().Swap(n.clock(), 0, in)
	} else if !n.replica.Changes().HasCaughtUp(in) {
		return "", nil
	}
	out := consensus.ReplicaID(state.Conf.Voters[s.rand.IntN(len(state.Conf.Voters))])
	for _, id := range state.Conf.Voters {
		if s.members.lost[consensus.ReplicaID(id)] {
			out = consensus.ReplicaID(id)
		}
	}
	return fmt.Sprintf("swaps %d for %d", in, out), n.replica.Changes().Swap(n.clock(), in, out)
}

// addLearner adds a learner on a node without a replica.
func (s *sim) addLearner(n *node, _ *consensus.State) (string, error) {
	spare := s.nodes[s.rand.IntN(len(s.nodes))]
	if spare.id != 0 || spare.down {
		return "", nil
	}
	id, err := n.replica.Changes().AddLearner(n.clock(), spare.place())
	return fmt.Sprintf("adds learner %d at %s", id, spare.place()), err
}
