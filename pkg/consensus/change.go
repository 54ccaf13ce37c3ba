package consensus

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// Errors of the steps of a change. They say why a step cannot be taken yet.
var (
	// ErrChanging: another step is not applied, or another change is not released (R7.15).
	ErrChanging = errors.New("another change of the configuration is not complete")
	// ErrNotCaughtUp: the learner is more than about a second of log behind (R7.9).
	ErrNotCaughtUp = errors.New("the learner has not caught up")
	// ErrNotMember: the replica has not the role in the configuration that the step requires.
	ErrNotMember = errors.New("the replica does not have this role in the configuration")
	// ErrRemoved: this leader is not a voter of the new configuration, and must transfer leadership (R7.16).
	ErrRemoved = errors.New("this leader is being removed: it must transfer leadership")
)

// A change of the configuration has five steps. Each is one entry, which the leader proposes after it has applied
// the one before, and any leader continues where its predecessor stopped:
//
//	AddLearner     the new replica gets a number, and the log from the leader
//	HasCaughtUp    asked until it is true
//	Swap           joint: elections, commits and leases need majorities of the old and of the new voters
//	EndJoint       the new voters alone
//	Release        the removed replica may be destroyed, and the next change may begin

// AddLearner appends the entry that adds a replica which only follows, and returns its number. Place is the node and
// the store stamp of its disk. The number is the replica's only when the entry is applied, and no replica may be
// made before: another leader may give the same number (R7.8).
func (r *Replica) AddLearner(now int64, place string) (ReplicaID, error) {
	err := r.mayBegin(now)
	if err != nil {
		return 0, err
	}
	id := r.handed.next()
	cc := raftpb.ConfChangeV2{Changes: []raftpb.ConfChangeSingle{{Type: raftpb.ConfChangeAddLearnerNode, NodeID: uint64(id)}}}
	return id, r.proposeConf(cc, place)
}

// HasCaughtUp reports whether a learner has acknowledged to this leader what the log was at most about a second ago
// (R7.9). In the first second of a term it is false.
func (r *Replica) HasCaughtUp(id ReplicaID) bool {
	caughtUp := false
	r.raw.WithProgress(func(other uint64, _ raft.ProgressType, pr tracker.Progress) {
		if ReplicaID(other) == id {
			caughtUp = r.past.older.at != 0 && Position(pr.Match) >= r.past.older.last
		}
	})
	return caughtUp && r.isLeader() && r.handed.IsLearner(id)
}

// Swap appends the entry that makes a learner a voter and removes another replica, by joint consensus (R7.10). Either
// may be zero: then only the other one changes. The leader may be the one that is removed; then it must transfer
// leadership before EndJoint.
func (r *Replica) Swap(now int64, in, out ReplicaID) error {
	err := r.mayBegin(now)
	switch {
	case err != nil:
		return err
	case in == out || in != 0 && !r.handed.IsLearner(in) || out != 0 && !r.handed.IsMember(out):
		return ErrNotMember
	case in == 0 && r.handed.IsVoter(out) && len(r.handed.Conf.Voters) == 1:
		return fmt.Errorf("the only voter: %w", ErrNotMember)
	case in != 0 && !r.HasCaughtUp(in):
		return ErrNotCaughtUp
	}
	cc := raftpb.ConfChangeV2{Transition: raftpb.ConfChangeTransitionJointExplicit}
	if in != 0 {
		cc.Changes = append(cc.Changes, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeAddNode, NodeID: uint64(in)})
	}
	if out != 0 {
		cc.Changes = append(cc.Changes, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeRemoveNode, NodeID: uint64(out)})
	}
	return r.proposeConf(cc, "")
}

// EndJoint appends the end of the joint configuration. There is no automatic end: a leader that has given up its
// lease would append it behind its transfer entry (R7.11).
func (r *Replica) EndJoint(now int64) error {
	err := r.mayStep(now)
	switch {
	case err != nil:
		return err
	case !r.handed.IsJoint():
		return ErrNotMember
	case !r.handed.IsVoter(r.cfg.ID):
		return ErrRemoved
	}
	return r.proposeConf(raftpb.ConfChangeV2{}, "")
}

// Release appends the entry that completes a change (R7.12). It is proposed after the end of the joint configuration
// was applied, so when it is committed, a majority of the new voters knows the end, and needs the removed replicas no
// more.
func (r *Replica) Release(now int64) error {
	err := r.mayStep(now)
	switch {
	case err != nil:
		return err
	case !r.handed.Unreleased:
		return ErrNotMember
	}
	_, err = r.propose(released, nil)
	r.changedAt = r.last
	return err
}

// State returns the state after all entries that Ready has returned.
func (r *Replica) State() State { return r.handed }

// mayStep reports why a step of a change cannot be taken now.
func (r *Replica) mayStep(now int64) error {
	r.now = now
	switch {
	case r.Leads() == 0 || r.transfer.entry != 0 && !r.rules.changesAfterTransfer():
		return ErrNotLeader
	case r.applied < r.changedAt:
		return ErrChanging
	}
	return nil
}

// mayBegin reports why no change, or none beyond adding a learner, may begin now (R7.15).
func (r *Replica) mayBegin(now int64) error {
	err := r.mayStep(now)
	if err == nil && (r.handed.IsJoint() || r.handed.Unreleased && !r.rules.changesUnreleased()) {
		err = ErrChanging
	}
	return err
}

// proposeConf appends a change of the configuration. Raft refuses a change while another one may be unapplied, by
// appending an empty entry in its place; mayStep is stricter, so this does not happen.
func (r *Replica) proposeConf(cc raftpb.ConfChangeV2, place string) error {
	cc.Context = []byte(place)
	err := sumConf(r.last+1, r.term, &cc)
	if err == nil {
		err = r.raw.ProposeConfChange(cc)
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", r.cfg.Group, ErrNotLeader, err)
	}
	r.observe()
	r.last++
	r.changedAt = r.last
	return nil
}

// applyConf applies a change of the configuration.
func (r *Replica) applyConf(e *raftpb.Entry) {
	cc, err := decodeConf(e)
	if err != nil {
		panic(fmt.Sprintf("shard %d, position %d: %v", r.cfg.Group, e.Index, err)) // its checksum was right
	}
	for _, c := range cc.Changes {
		if c.Type == raftpb.ConfChangeAddLearnerNode {
			r.handed.addLearner(ReplicaID(c.NodeID), string(cc.Context))
		}
	}
	cc.Context = nil
	r.handed.Unreleased = r.handed.Unreleased || cc.LeaveJoint()
	r.handed.Conf = *r.rules.applyConf(r.raw, cc)
	if r.rules.confEndsWindow() {
		r.handed.Window = 0
	}
}

// past is the last position of a leader's log at two earlier times of its term, half a second or more apart.
type past struct{ older, newer sample }

type sample struct {
	at   int64
	last Position
}

// observe samples the log, twice a second.
func (p *past) observe(now int64, last Position) {
	if now >= p.newer.at+5e8 {
		p.older, p.newer = p.newer, sample{at: now, last: last}
	}
}

// isRemoved reports whether the sender of a message was removed, so that it may be destroyed: its number was given,
// and is not a member's. A replica that has not applied the release reports nothing: if the one that has applied it is
// lost, the others need the removed replica. A replica that is behind does not know newer numbers (R7.13).
func (r *Replica) isRemoved(id ReplicaID) bool {
	return !r.handed.isEmpty() && !r.handed.IsMember(id) && r.rules.isGiven(id, &r.handed) &&
		(!r.handed.IsJoint() && !r.handed.Unreleased || r.rules.destroysUnreleased())
}

// reportGone tells a removed replica that it may be destroyed.
func (r *Replica) reportGone(to ReplicaID) {
	r.ready.Send = append(r.ready.Send, Message{Group: r.cfg.Group, From: r.cfg.ID, To: to, Gone: true})
}

// inquire asks the others whether this replica is gone. It is no voter and gets no heartbeats any more: it was removed,
// or its group has no leader at present. The request is a vote request that no log grants.
func (r *Replica) inquire() {
	ids := []ReplicaID{r.accepted.from}
	for id := ReplicaID(1); id < r.handed.next(); id++ {
		if r.handed.IsMember(id) && id != r.accepted.from {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if id != 0 && id != r.cfg.ID {
			r.ready.Send = append(r.ready.Send, Message{Group: r.cfg.Group, From: r.cfg.ID, To: id, Raft: raftpb.Message{
				Type: raftpb.MsgPreVote, From: uint64(r.cfg.ID), To: uint64(id), Term: uint64(r.term)}})
		}
	}
}
