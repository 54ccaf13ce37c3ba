package consensus

import (
	"cmp"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// Follower is what a leader knows of another replica of its group.
type Follower struct {
	ID ReplicaID
	// Has is the position up to which the replica has the leader's log on its disk.
	Has Position
	// Responded is when the last heartbeat was sent that the replica has acknowledged in this term, in nanoseconds by the
	// leader's clock; 0 if there is none.
	Responded int64
	// IsCurrent: it has what the log was at most about a second ago. In the first second of a term it is false.
	IsCurrent bool
	// Declines: it wants no leadership, as its node drains or its disk is slow or nearly full.
	Declines bool
	// Starting: it has started less than Config.MaxHold ago, and cannot take over (R3.2).
	Starting bool
}

// Followers returns the other replicas in the order of their numbers, learners included. Only a leader has some.
func (r *Replica) Followers() (all []Follower) {
	if !r.isLeader() {
		return nil
	}
	r.raw.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		if other := ReplicaID(id); other != r.cfg.ID {
			last := r.lease.reports[other]
			all = append(all, Follower{ID: other, Has: Position(pr.Match), Responded: r.lease.echoes[other],
				IsCurrent: r.steps.past.has(Position(pr.Match)), Declines: last.declines, Starting: last.starting})
		}
	})
	slices.SortFunc(all, func(a, b Follower) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
