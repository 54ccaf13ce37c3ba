package world

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// group is what the simulation knows of the replicas of a shard.
type group struct {
	// notes are those of steps whose entries no replica has applied, and terms are of the entries that one has applied.
	notes map[consensus.Position][]fate
	terms map[consensus.Position]consensus.Term
	// began is the greatest term that has begun.
	began kv.Incarnation
	// homes are the places of replicas, by number.
	homes map[consensus.ReplicaID]*Shard
	// state is the last one that a replica has reached, and old are the voters before the present change. lost are the
	// replicas whose disk is lost or damaged, released those that were removed.
	state          consensus.State
	old            []uint64
	lost, released map[consensus.ReplicaID]bool
	// sums are the checksums of the rows of replicas at the positions of checks.
	sums map[consensus.Position]map[consensus.ReplicaID]uint64
}

func newGroup() *group {
	return &group{notes: map[consensus.Position][]fate{}, terms: map[consensus.Position]consensus.Term{},
		homes: map[consensus.ReplicaID]*Shard{}, lost: map[consensus.ReplicaID]bool{},
		released: map[consensus.ReplicaID]bool{}, sums: map[consensus.Position]map[consensus.ReplicaID]uint64{}}
}

type fate struct {
	term  consensus.Term
	notes []*Note
}

// attach attaches notes to an entry of the group: they are Lost if another entry is committed at its position, or none.
func (g *group) attach(e entryName, notes []*Note) {
	if len(notes) == 0 || e.position == 0 {
		return
	}
	g.notes[e.position] = append(g.notes[e.position], fate{e.term, notes})
	if _, ok := g.terms[e.position]; ok {
		g.settle(e.position)
	}
}

// onApplied is called when a replica has applied entries. All replicas must apply the same.
func (g *group) onApplied(entries []consensus.Entry) (err error) {
	for _, e := range entries {
		if t, ok := g.terms[e.Position]; ok && t != e.Term {
			err = fmt.Errorf("the entry at %d is of term %d on one replica, and of %d on another", e.Position, t, e.Term)
		}
		g.terms[e.Position] = e.Term
		g.settle(e.Position)
	}
	return err
}

func (g *group) settle(at consensus.Position) {
	for _, x := range g.notes[at] {
		for _, n := range x.notes {
			n.Lost = x.term != g.terms[at]
		}
	}
	delete(g.notes, at)
}

// SettleNotes makes the notes Lost whose entries no replica has applied. It is called when the cluster is idle.
func (w *World) SettleNotes() {
	for _, f := range w.groups {
		for _, all := range f.notes {
			for _, x := range all {
				for _, n := range x.notes {
					n.Lost = true
				}
			}
		}
	}
}

// reached takes over the state of the last entry that a replica has applied, or is about to.
func (g *group) reached(s consensus.State) (released bool) {
	if s.Position <= g.state.Position {
		return false
	}
	released = g.state.Unreleased && !s.Unreleased && !s.IsJoint()
	switch {
	case s.IsJoint():
		g.old = s.Conf.VotersOutgoing
	case !s.Unreleased:
		g.old = nil
		for id := consensus.ReplicaID(1); id < s.Next; id++ {
			g.released[id] = g.released[id] || !s.IsMember(id)
		}
	}
	g.state = s
	return released
}

// areWhole reports whether all members have their disks, and no damage.
func (g *group) areWhole() bool {
	c := &g.state.Conf
	for _, id := range slices.Concat(c.Voters, c.VotersOutgoing, c.Learners, g.old) {
		if g.lost[consensus.ReplicaID(id)] {
			return false
		}
	}
	return true
}

// addSum records the checksum of the rows of a replica at the position of a check.
func (g *group) addSum(at consensus.Position, id consensus.ReplicaID, sum uint64) {
	if g.sums[at] == nil {
		g.sums[at] = map[consensus.ReplicaID]uint64{}
	}
	g.sums[at][id] = sum
}

// differs reports whether the rows of a replica have differed from those of another one at the same position.
func (g *group) differs(id consensus.ReplicaID) bool {
	for _, sums := range g.sums {
		mine, ok := sums[id]
		for _, other := range sums {
			if ok && other != mine {
				return true
			}
		}
	}
	return false
}
