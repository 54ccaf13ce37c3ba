package consensus

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// ErrNotLeader is the error of a proposal at a replica that does not lead, that has not begun, or that
// transfers leadership. The entry is in no log.
var ErrNotLeader = errors.New("this replica does not lead the shard")

// Replica is one replica of a group. Its methods are called by one goroutine at a time, with times of the
// node's clock in nanoseconds, which must not decrease. After each call, Ready returns what is to be done.
type Replica struct {
	applier
	// Causes is for reading, between calls.
	Causes Causes
	// Disk is what the replica knows of the disk of its node. The caller calls Set before other methods.
	Disk Disk
	// Declines: other replicas are to be preferred as leaders, as this node drains. Responses report it. It is set
	// between calls.
	Declines bool
	cfg      Config
	now      int64
	term     Term
	role     raft.StateType
	// last is the last position of a leader's log, commit the last one that is known to be committed.
	last, commit Position
	promise      promise
	// accepted is the last accepted message of a leader.
	accepted acceptance
	// lease, transfer and reported are those of a leader.
	lease    lease
	transfer transfer
	reported reported
	// begun is the term in which the replica has begun to lead, zero before that and after it. wait is
	// Begin.Wait.
	begun    Term
	wait     int64
	campaign campaign
	beatAt   int64
	// hard is the last term and vote, with what is known to be committed: Ready has returned term and vote.
	hard  raftpb.HardState
	ready Ready
	steps steps
	// needed is the last position of the log that all replicas have that need it.
	needed Position
	// audit is the last check of this replica, and what it knows of others as a leader.
	audit audit
	// clockOff: the rate of this node's clock is off (Leadership.SetClockOff).
	clockOff bool
}

// acceptance is the leader that a replica follows, and the time at which it sent the latest message that the
// replica has accepted.
type acceptance struct {
	term Term
	from ReplicaID
	sent int64
}

// New returns a replica that has started at a time. It grants no vote for MaxHold.
//
// The errors ErrLogBehind and ErrLogGap say that the log does not fit the rows.
func New(cfg Config, now int64) (*Replica, error) {
	r := &Replica{cfg: cfg, now: now, applier: applier{rules: rules{cfg.Mutants}, group: cfg.Group, handed: cfg.State,
		applied: cfg.State.Position}}
	err := r.rules.checkLog(cfg.Storage, &cfg.State)
	if err != nil {
		return nil, fmt.Errorf("replica %d of shard %d: %w", cfg.ID, cfg.Group, err)
	}
	r.raw, err = raft.NewRawNode(&raft.Config{
		ID: uint64(cfg.ID), ElectionTick: never, HeartbeatTick: 1,
		Storage: stored{cfg.Storage, &r.handed, r.rules}, Applied: uint64(cfg.State.Position), AsyncStorageWrites: true,
		MaxSizePerMsg: maxAppend, MaxCommittedSizePerReady: maxApply, MaxInflightMsgs: maxInflight,
		MaxInflightBytes: maxInflightBytes, CheckQuorum: true, PreVote: true, DisableProposalForwarding: true,
		DisableConfChangeValidation: r.rules.skipsValidation(), Logger: silent{},
	})
	if err != nil {
		return nil, fmt.Errorf("replica %d of shard %d: %w", cfg.ID, cfg.Group, err)
	}
	if r.rules.remembersStart() {
		r.promise.start = now + int64(max(cfg.Hold, cfg.MaxHold))
	}
	r.observe()
	r.Damage().onState()
	return r, nil
}

const (
	// never is a number of ticks that is not reached: all timing is this package's.
	never = 1 << 40

	maxAppend        = 1 << 20
	maxApply         = 4 << 20
	maxInflight      = 256
	maxInflightBytes = 16 << 20
)

// stored is a log with the state that is handed to be applied.
type stored struct {
	raft.Storage
	state *State
	rules rules
}

// InitialState is part of raft.Storage. What is applied was committed, although the commit index on the disk may
// be older.
func (s stored) InitialState() (raftpb.HardState, raftpb.ConfState, error) {
	hs, _, err := s.Storage.InitialState()
	hs.Commit = max(hs.Commit, uint64(s.state.Position))
	return hs, s.rules.startConf(s.state.Conf), err
}

// Snapshot is part of raft.Storage. Raft asks for a Raft snapshot to know its position; the rows are read when
// they are sent, and may be further.
func (s stored) Snapshot() (raftpb.Snapshot, error) {
	return raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: s.state.Conf, Index: uint64(s.state.Position),
		Term: uint64(s.state.Term)}}, nil
}

// Step takes a message from another replica.
func (r *Replica) Step(now int64, m *Message) {
	r.now = now
	switch t := m.Raft.Type; {
	case m.To != r.cfg.ID || !m.isDecodable() || !m.isWhole() && r.rules.verifiesAppends():
		return
	case m.Gone:
		r.ready.Gone = true
		return
	case r.isRemoved(m.From):
		r.ready.Send = append(r.ready.Send, goneMessage(m))
		return
	case isLeaders(t):
		r.accept(m)
	case isFollowers(t):
		r.acknowledge(m)
		if r.isLeader() && m.isNotice(r.term) {
			return
		}
	case t == raftpb.MsgTimeoutNow:
		if !r.mayTakeOver(Term(m.Raft.Term)) {
			return
		}
		r.campaign.attempts = 2 // promises do not bind the voters, so it need not hurry
	case isVoteRequest(t):
		if !r.mayVote(m) {
			return
		}
		r.forgetLeader()
		r.adopt(m)
	case isVoteResponse(t):
		r.adopt(m)
	}
	_ = r.raw.Step(m.Raft) // an error says that a response is of no member, or the proposal was dropped
	r.observe()
	r.askToCampaign()
	if t := m.Raft.Type; t == raftpb.MsgTimeoutNow || t == raftpb.MsgVote && r.raw.BasicStatus().Vote == uint64(m.From) {
		// It may win; a candidate that cannot must not keep others from trying.
		r.campaign.at = r.now + r.campaign.pause(&r.cfg)
	}
}

// accept makes the promise to the leader that has sent a message (R3.1).
func (r *Replica) accept(m *Message) {
	term := Term(m.Raft.Term)
	if term < r.term {
		return
	}
	if r.rules.promises(r.handed.IsLearner(r.cfg.ID)) {
		r.promise.bind(term, r.now+m.Hold)
	}
	if term > r.accepted.term {
		r.accepted = acceptance{term: term, from: m.From}
	}
	r.accepted.sent, r.Causes.followed = max(r.accepted.sent, m.Sent), r.now
	r.campaign.at, r.campaign.attempts, r.needed = 0, 0, m.Needed
}

// acknowledge counts the promise that a response reports.
func (r *Replica) acknowledge(m *Message) {
	if r.isLeader() && Term(m.Raft.Term) == r.term && m.Echo > 0 {
		r.lease.echoes[m.From] = max(r.lease.echoes[m.From], r.rules.countedFrom(m.Echo, r.now))
		r.lease.reports[m.From] = report{m.Sent, m.Declines, m.Starting}
		r.leaseEnd(r.now)
	}
	r.Damage().onReport(m)
}

// mayVote reports whether the replica's promises allow it to consider a vote request.
func (r *Replica) mayVote(m *Message) bool {
	if m.Transfer != 0 {
		r.promise.end(m.Transfer)
	}
	if !r.rules.comparesLogs() {
		m.Raft.LogTerm, m.Raft.Index = math.MaxUint64, math.MaxUint64
	}
	return r.rules.mayGrant(&r.handed, r.cfg.ID) && !r.isBound(m.From)
}

// forgetLeader makes Raft forget the leader, as no promise binds the replica any more: while Raft knows a leader,
// it grants no votes (R3.12).
func (r *Replica) forgetLeader() {
	if r.role == raft.StateFollower {
		_ = r.raw.ForgetLeader() // it never fails
	}
}

// Tick lets time pass. It is called at Next, or at least every 50 ms.
func (r *Replica) Tick(now int64) {
	r.now = now
	r.Disk.observe(now)
	if r.isLeader() {
		r.tickLeader()
	} else {
		r.tickFollower()
	}
	r.observe()
}

func (r *Replica) tickLeader() {
	r.leaseEnd(r.now)
	if r.Damage().isBarred() {
		r.Damage().resign()
	}
	if r.rules.hasNoLease(r.clockOff) && r.transfer.entry == 0 {
		r.Leadership().resign()
		return
	}
	switch {
	case r.now >= r.lease.since+int64(r.cfg.Hold):
		r.StepDown(r.now, r.term+1)
		r.Causes.Lost = LostLease
	case r.transfer.hasFailed(r.now, r.cfg.Hold):
		r.StepDown(r.now, r.term+1)
		r.Causes.Lost = FailedTransfer
	case r.now >= r.beatAt:
		r.beatAt = r.now + int64(r.cfg.Heartbeat)
		r.steps.past.observe(r.now, r.last)
		r.Snapshots().updateNeeded()
		r.Damage().beginCheck()
		r.raw.Tick()
	}
	r.Damage().leaveDisk()
}

// tickFollower campaigns when the promises have ended, the first time within an eighth of Hold. A replica that may not
// lead asks instead whether it is gone.
func (r *Replica) tickFollower() {
	if r.campaign.at == 0 {
		r.campaign.at = r.promise.ends() + r.cfg.Rand(int64(r.cfg.Hold)/8)
	}
	if r.now < r.campaign.at || r.isBound(r.cfg.ID) {
		return
	}
	r.campaign.at, r.campaign.of = r.now+r.campaign.pause(&r.cfg), 0
	if r.rules.isSilent(&r.Disk, r.now, r.cfg.Hold) || r.rules.hasNoLease(r.clockOff) {
		return
	}
	r.forgetLeader()
	isVoter := r.handed.IsVoter(r.cfg.ID) || slices.Contains(r.handed.Conf.VotersOutgoing, uint64(r.cfg.ID))
	if !isVoter || r.Damage().isBarred() {
		r.ready.Send = append(r.ready.Send, inquiries(&r.cfg, &r.handed, r.term, r.accepted.from)...)
		return
	}
	r.Causes.Campaigns++
	_ = r.raw.Campaign() // a replica that may not campaign ignores it
}

// Next returns when Tick has something to do, in nanoseconds by the node's clock.
func (r *Replica) Next() int64 {
	switch {
	case r.isLeader() && (r.Damage().isBarred() || r.rules.hasNoLease(r.clockOff)) && r.transfer.entry == 0:
		return r.now
	case r.isLeader():
		return min(r.beatAt, r.lease.since+int64(r.cfg.Hold))
	case r.campaign.at == 0:
		return r.now
	}
	return max(r.campaign.at, r.promise.ends())
}

// Propose appends an entry and returns its position. If it returns an error, or the replica's leadership ends,
// the caller must drop its machine: the entry may be lost, and it must not be proposed again (R2.2).
func (r *Replica) Propose(data []byte) (Position, error) {
	if !r.isLeader() || r.begun == 0 || r.hasGivenUp() {
		return 0, ErrNotLeader
	}
	kind := command
	if r.windowLeft() > 0 {
		kind = early
	}
	at, err := r.propose(kind, data)
	if err != nil {
		r.StepDown(r.now, r.term+1) // the machine has ended, and would leave the shard without one
	}
	return at, err
}

func (r *Replica) propose(kind byte, data []byte) (Position, error) {
	if err := r.raw.Propose(encodeEntry(r.last+1, r.term, kind, data)); err != nil {
		return 0, fmt.Errorf("shard %d: %w: %w", r.cfg.Group, ErrNotLeader, err)
	}
	r.observe()
	r.last++
	return r.last, nil
}

// StepDown ends the leadership of this replica. It is called with the term of a later leader when a message
// names one (R3.7), and then the replica leads no more before it has been elected in a later term.
func (r *Replica) StepDown(now int64, later Term) {
	r.now = now
	if r.isLeader() && later > r.term {
		// Raft has no call for it: a message of a later term, without content, makes a leader a follower.
		_ = r.raw.Step(raftpb.Message{Type: raftpb.MsgTransferLeader, From: uint64(r.cfg.ID), Term: uint64(later)})
		r.observe()
	}
}

// Leads returns the term in which the replica leads and has begun, zero if it does not. A machine ends when
// Leads is not its incarnation any more: it sends nothing that waits (R2.5).
func (r *Replica) Leads() Term {
	if !r.isLeader() {
		return 0
	}
	return r.begun
}

// Leader returns the leader that the replica knows, and the greatest term that it has seen. The leader is zero
// if none is known.
func (r *Replica) Leader() (ReplicaID, Term) { return ReplicaID(r.raw.BasicStatus().Lead), r.term }

func (r *Replica) isLeader() bool { return r.role == raft.StateLeader }

// observe takes over what a call has changed in Raft.
func (r *Replica) observe() {
	st := r.raw.BasicStatus()
	r.commit = Position(st.Commit)
	if term := Term(st.Term); term == r.term && st.RaftState == r.role {
		return
	} else if r.role == raft.StateLeader || st.RaftState == raft.StateLeader {
		r.begun, r.wait, r.transfer, r.campaign.at = 0, 0, transfer{}, 0
		r.lease = lease{echoes: map[ReplicaID]int64{}, reports: map[ReplicaID]report{}, since: r.now, began: r.now}
		r.steps, r.reported = steps{}, reported{}
		r.Damage().beginTerm()
		r.beatAt = r.now + int64(r.cfg.Heartbeat)
	}
	led := r.isLeader()
	r.term, r.role = Term(st.Term), st.RaftState
	switch leads := r.isLeader(); {
	case leads && !led:
		r.Causes.onElected(r.now, r.campaign.of != 0 && r.campaign.of+1 == r.term)
		if r.Causes.Elected.Transferred {
			r.Disk.pause(r.now)
		}
	case led && !leads:
		r.Causes.followed = r.now
	}
	if r.isLeader() && !r.rules.beginsWithTermEntry() {
		r.begin()
	}
}

// Committed returns the position up to which the replica knows entries to be committed.
func (r *Replica) Committed() Position { return r.commit }
