package world

import (
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
	// replicas whose disk is lost, released those that were removed.
	state          consensus.State
	old            []uint64
	lost, released map[consensus.ReplicaID]bool
}

func newGroup() *group {
	return &group{notes: map[consensus.Position][]fate{}, terms: map[consensus.Position]consensus.Term{},
		homes: map[consensus.ReplicaID]*Shard{}, lost: map[consensus.ReplicaID]bool{},
		released: map[consensus.ReplicaID]bool{}}
}

type fate struct {
	term  consensus.Term
	notes []*Note
}

// attach attaches notes to an entry of a group: they are Lost if another entry, or none, is committed at its position.
func (w *World) attach(s kv.ShardID, e entryName, notes []*Note) {
	f := w.groups[s]
	if len(notes) == 0 || e.position == 0 {
		return
	}
	f.notes[e.position] = append(f.notes[e.position], fate{e.term, notes})
	if _, ok := f.terms[e.position]; ok {
		f.settle(e.position)
	}
}

// settle is called when a replica has applied entries. All replicas must apply the same.
func (w *World) settle(s kv.ShardID, entries []consensus.Entry) {
	f := w.groups[s]
	for _, e := range entries {
		if t, ok := f.terms[e.Position]; ok && t != e.Term {
			w.Fail("%v: the entry at %d is of term %d on one replica, and of %d on another", s, e.Position, t, e.Term)
		}
		f.terms[e.Position] = e.Term
		f.settle(e.Position)
	}
}

func (f *group) settle(at consensus.Position) {
	for _, x := range f.notes[at] {
		for _, n := range x.notes {
			n.Lost = x.term != f.terms[at]
		}
	}
	delete(f.notes, at)
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
