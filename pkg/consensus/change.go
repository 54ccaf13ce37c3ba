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
//
// Changes are these steps, for a replica that leads.
type Changes struct{ r *Replica }

// Changes returns the steps of a change of the configuration.
func (r *Replica) Changes() Changes { return Changes{r} }

// AddLearner appends the entry that adds a replica which only follows, and returns its number. Place is the node and
// the store stamp of its disk. The number is the replica's only when the entry is applied, and no replica may be
// made before: another leader may give the same number (R7.8).
func (c Changes) AddLearner(now int64, place string) (ReplicaID, error) {
	err := c.mayBegin(now)
	if err != nil {
		return 0, err
	}
	id := c.r.handed.next()
	add := raftpb.ConfChangeSingle{Type: raftpb.ConfChangeAddLearnerNode, NodeID: uint64(id)}
	return id, c.proposeConf(raftpb.ConfChangeV2{Changes: []raftpb.ConfChangeSingle{add}}, place)
}

// HasCaughtUp reports whether a learner has acknowledged to this leader what the log was at most about a second ago
// (R7.9). In the first second of a term it is false, and it stays false if the learner is unfit.
func (c Changes) HasCaughtUp(id ReplicaID) bool {
	caughtUp := false
	c.r.raw.WithProgress(func(other uint64, _ raft.ProgressType, pr tracker.Progress) {
		if ReplicaID(other) == id {
			caughtUp = c.r.steps.past.has(Position(pr.Match))
		}
	})
	return caughtUp && c.r.isLeader() && c.r.handed.IsLearner(id) && c.r.Damage().isFit(id)
}

// Swap appends the entry that makes a learner a voter and removes another replica, by joint consensus (R7.10). Either
// may be zero: then only the other one changes. The leader may be the one that is removed; then it must transfer
// leadership before EndJoint.
func (c Changes) Swap(now int64, in, out ReplicaID) error {
	err := c.mayBegin(now)
	switch {
	case err != nil:
		return err
	case in == out || in != 0 && !c.r.handed.IsLearner(in) || out != 0 && !c.r.handed.IsMember(out):
		return ErrNotMember
	case in == 0 && c.r.handed.IsVoter(out) && len(c.r.handed.Conf.Voters) == 1:
		return fmt.Errorf("the only voter: %w", ErrNotMember)
	case in != 0 && !c.HasCaughtUp(in):
		return ErrNotCaughtUp
	}
	cc := raftpb.ConfChangeV2{Transition: raftpb.ConfChangeTransitionJointExplicit}
	if in != 0 {
		cc.Changes = append(cc.Changes, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeAddNode, NodeID: uint64(in)})
	}
	if out != 0 {
		cc.Changes = append(cc.Changes, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeRemoveNode, NodeID: uint64(out)})
	}
	return c.proposeConf(cc, "")
}

// EndJoint appends the end of the joint configuration. There is no automatic end: a leader that has given up its
// lease would append it behind its transfer entry (R7.11).
func (c Changes) EndJoint(now int64) error {
	err := c.mayStep(now)
	switch {
	case err != nil:
		return err
	case !c.r.handed.IsJoint():
		return ErrNotMember
	case !c.r.handed.IsVoter(c.r.cfg.ID):
		return ErrRemoved
	}
	return c.proposeConf(raftpb.ConfChangeV2{}, "")
}

// Release appends the entry that completes a change (R7.12). It is proposed after the end of the joint configuration
// was applied, so when it is committed, a majority of the new voters knows the end, and needs the removed replicas no
// more.
func (c Changes) Release(now int64) error {
	err := c.mayStep(now)
	switch {
	case err != nil:
		return err
	case !c.r.handed.Unreleased:
		return ErrNotMember
	}
	_, err = c.r.propose(released, nil)
	c.r.steps.at = c.r.last
	return err
}

// Successor returns the fit voter of the new configuration, other than this leader, that has the most of the log, zero
// if there is none. Those that have responded lately go before others, which may be stopped. A leader that is to be
// removed transfers leadership to it (R7.16).
func (c Changes) Successor() ReplicaID {
	if to := c.successor(0, c.r.now-int64(c.r.cfg.Hold)/2); to != 0 {
		return to
	}
	return c.successor(0, 0)
}

// successor is Successor of those that have the log up to a position, and have responded to a heartbeat that was sent
// at a time or later.
func (c Changes) successor(has Position, since int64) ReplicaID {
	var best Follower
	for _, f := range c.r.Followers() {
		if c.r.handed.IsVoter(f.ID) && c.r.Damage().isFit(f.ID) && c.r.rules.hasWritten(f.Has, has) && f.Responded >= since &&
			!f.Declines && !f.Starting && (best.ID == 0 || f.Has > best.Has) {
			best = f
		}
	}
	return best.ID
}

// State returns the state after all entries that Ready has returned.
func (r *Replica) State() State { return r.handed }

// mayStep reports why a step of a change cannot be taken now.
func (c Changes) mayStep(now int64) error {
	c.r.now = now
	switch {
	case c.r.Leads() == 0 || c.r.transfer.entry != 0 && !c.r.rules.changesAfterTransfer():
		return ErrNotLeader
	case c.r.applied < c.r.steps.at:
		return ErrChanging
	}
	return nil
}

// mayBegin reports why no change, or none beyond adding a learner, may begin now (R7.15).
func (c Changes) mayBegin(now int64) error {
	err := c.mayStep(now)
	if err == nil && (c.r.handed.IsJoint() || c.r.handed.Unreleased && !c.r.rules.changesUnreleased()) {
		err = ErrChanging
	}
	return err
}

// proposeConf appends a change of the configuration. Raft refuses a change while another one may be unapplied, by
// appending an empty entry in its place; mayStep is stricter, so this does not happen.
func (c Changes) proposeConf(cc raftpb.ConfChangeV2, place string) error {
	cc.Context = []byte(place)
	err := sumConf(c.r.last+1, c.r.term, &cc)
	if err == nil {
		err = c.r.raw.ProposeConfChange(cc)
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", c.r.cfg.Group, ErrNotLeader, err)
	}
	c.r.observe()
	c.r.last++
	c.r.steps.at = c.r.last
	return nil
}

// steps is what a leader knows of the steps of a change in its term.
type steps struct {
	// at is the last step that it has proposed. past is what its log was.
	at   Position
	past past
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

// has reports whether a replica that has the log up to a position has what it was at the earlier of these times.
func (p *past) has(match Position) bool { return p.older.at != 0 && match >= p.older.last }

// goneMessage says that its receiver was removed (R7.13).
func goneMessage(m *Message) Message {
	return Message{Group: m.Group, From: m.To, To: m.From, Gone: true}
}

// inquiries ask the other replicas whether this one is gone. It is no voter and gets no heartbeats any more: it was
// removed, or its group has no leader at present. The requests are for votes that no log grants.
func inquiries(cfg *Config, s *State, term Term, leader ReplicaID) []Message {
	var out []Message
	for id := ReplicaID(1); id < max(s.next(), leader+1); id++ {
		if id != cfg.ID && (id == leader || s.IsMember(id)) {
			out = append(out, Message{Group: cfg.Group, From: cfg.ID, To: id, Raft: raftpb.Message{Type: raftpb.MsgPreVote,
				From: uint64(cfg.ID), To: uint64(id), Term: uint64(term)}})
		}
	}
	return out
}
