package consensus

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rules are those that tests break on purpose, to show that they find it.
type rules struct{ broken mutant.Set }

// endsLeaseAtTransfer: a leader that transfers leadership has no lease any more (R5.1).
func (u rules) endsLeaseAtTransfer() bool { return !u.broken.Has(mutant.ServesAfterTransfer) }

// lessMargin is what a promise of another clock counts by this one (R3.5).
func (u rules) lessMargin(t time.Duration) int64 {
	if u.broken.Has(mutant.LeaderLeaseWithoutMargin) {
		return int64(t)
	}
	return int64(t) * 9 / 10
}

// countedFrom: a lease counts from the time of sending, not from that of the response (R3.5).
func (u rules) countedFrom(sent, now int64) int64 {
	if u.broken.Has(mutant.LeaderLeaseFromResponse) {
		return now
	}
	return sent
}

// remembersStart: after a restart, promises that are forgotten are kept (R3.2).
func (u rules) remembersStart() bool { return !u.broken.Has(mutant.PromiseLostAtRestart) }

// acknowledgesEarly: what depends on a write waits for it (R2.3).
func (u rules) acknowledgesEarly(w *Write) bool {
	return u.broken.Has(mutant.AcknowledgedBeforeDisk) ||
		w.Snapshot != nil && u.broken.Has(mutant.SnapshotAcknowledgedEarly)
}

// bindsLeader: a leader's lease binds it as a voter (R3.3).
func (u rules) bindsLeader() bool { return !u.broken.Has(mutant.OwnLeaseForgotten) }

// needsLease: only a lease shows that no other replica leads (R3.6).
func (u rules) needsLease() bool { return !u.broken.Has(mutant.LeaderLeaseIgnored) }

// comparesLogs: a vote is for a log that is at least as complete (Raft, section 5.4).
func (u rules) comparesLogs() bool { return !u.broken.Has(mutant.VotesForShorterLog) }

// beginsWithTermEntry: a leader begins when its term entry is applied (R4.1).
func (u rules) beginsWithTermEntry() bool { return !u.broken.Has(mutant.BeginsEarly) }

// termEntryEndsWindow: the window of a transfer entry stays when a leader is elected (R5.5).
func (u rules) termEntryEndsWindow() bool { return u.broken.Has(mutant.WindowEndsWithTermEntry) }

// isBound reports whether promises forbid a vote for a replica (R3.1).
func (r *Replica) isBound(candidate ReplicaID) bool {
	broken := r.rules.broken
	if broken.Has(mutant.VotesDespitePromise) ||
		broken.Has(mutant.VotesForLeadersNode) && (candidate == r.accepted.from || r.promise.ownTerm != 0) {
		return false
	}
	return r.now < r.promise.ends()
}

// windowOfReaders is how long registrations may be valid that this leader has granted (R5.2).
func (u rules) windowOfReaders(until, now int64) int64 {
	if u.broken.Has(mutant.TransferWithoutWindow) {
		return 0
	}
	return max(until-now, 0)
}

// windowLeft is what is left of the time in which registrations by the leader before may be valid (R5.2).
func (r *Replica) windowLeft() int64 {
	if r.rules.broken.Has(mutant.PreviousWindowForgotten) {
		return 0
	}
	return max(r.wait-r.now, 0)
}

// counted is the configuration whose promises a lease needs: both sets of voters, and learners never (R3.5 b). The
// leader counts only if it is a voter.
func (u rules) counted(c *raftpb.ConfState, self ReplicaID) *raftpb.ConfState {
	switch {
	case u.broken.Has(mutant.JointLeaseByOldVoters) && len(c.VotersOutgoing) > 0:
		return &raftpb.ConfState{Voters: c.VotersOutgoing}
	case u.broken.Has(mutant.JointLeaseByNewVoters):
		return &raftpb.ConfState{Voters: c.Voters}
	case u.broken.Has(mutant.LearnersCount): // instead of a voter
		voters := slices.Concat(c.Learners, c.Voters)[:len(c.Voters)]
		return &raftpb.ConfState{Voters: voters, VotersOutgoing: c.VotersOutgoing}
	case u.broken.Has(mutant.RemovedLeaderCounts) && !slices.Contains(c.Voters, uint64(self)):
		voters := append(slices.Clone(c.Voters[1:]), uint64(self))
		return &raftpb.ConfState{Voters: voters, VotersOutgoing: c.VotersOutgoing}
	}
	return c
}

// longest is the latest end of a lease in a term, not that of the present one (R3.3 a).
func (u rules) longest(before, now int64) int64 {
	if u.broken.Has(mutant.OwnLeaseShrinks) {
		return now
	}
	return max(before, now)
}

// promises: learners promise too (R3.1 b).
func (u rules) promises(isLearner bool) bool {
	return !isLearner || !u.broken.Has(mutant.LearnersPromiseNothing)
}

// mayGrant: learners vote too, and a replica that has received nothing yet does not (R3.1 c, d).
func (u rules) mayGrant(s *State, self ReplicaID) bool {
	if s.isEmpty() {
		return u.broken.Has(mutant.EmptyReplicaVotes)
	}
	return !(s.IsLearner(self) && u.broken.Has(mutant.LearnersDoNotVote))
}

// changesAfterTransfer: no step of a change follows a transfer entry (R7.11).
func (u rules) changesAfterTransfer() bool { return u.broken.Has(mutant.ConfigurationHidesWindow) }

// confEndsWindow: the window stays when the configuration changes (R5.5).
func (u rules) confEndsWindow() bool { return u.broken.Has(mutant.ConfigurationHidesWindow) }

// applyConf: joint consensus has majorities of the old and of the new voters (R7.10).
func (u rules) applyConf(raw *raft.RawNode, cc raftpb.ConfChangeV2, before *raftpb.ConfState) *raftpb.ConfState {
	joint := cc.Transition == raftpb.ConfChangeTransitionJointExplicit
	switch {
	case joint && u.broken.Has(mutant.JointByNewVoters):
		applyEach(raw, cc.Changes)
		return raw.ApplyConfChange(raftpb.ConfChangeV2{Transition: raftpb.ConfChangeTransitionJointExplicit})
	case joint && u.broken.Has(mutant.JointByOldVoters): // Raft does not learn of it
		return jointOf(before, &cc)
	case cc.LeaveJoint() && u.broken.Has(mutant.JointByOldVoters) && len(raw.Status().Config.Voters[1]) == 0:
		applyEach(raw, differenceOf(before))
		return &raftpb.ConfState{Voters: before.Voters, Learners: before.Learners}
	}
	return raw.ApplyConfChange(cc)
}

func applyEach(raw *raft.RawNode, changes []raftpb.ConfChangeSingle) {
	for _, c := range changes {
		raw.ApplyConfChange(raftpb.ConfChangeV2{Changes: []raftpb.ConfChangeSingle{c}})
	}
}

// jointOf is the joint configuration into which a change leads.
func jointOf(before *raftpb.ConfState, cc *raftpb.ConfChangeV2) *raftpb.ConfState {
	out := &raftpb.ConfState{Voters: slices.Clone(before.Voters), VotersOutgoing: before.Voters}
	gone := map[uint64]bool{}
	for _, c := range cc.Changes {
		if c.Type == raftpb.ConfChangeAddNode {
			out.Voters = append(out.Voters, c.NodeID)
		}
		gone[c.NodeID] = true
	}
	isGone := func(id uint64) bool { return gone[id] && slices.Contains(before.Voters, id) }
	out.Voters = slices.DeleteFunc(out.Voters, isGone)
	out.Learners = slices.DeleteFunc(slices.Clone(before.Learners), func(id uint64) bool { return gone[id] })
	return out
}

// differenceOf is how the old voters of a joint configuration become the new ones.
func differenceOf(c *raftpb.ConfState) (out []raftpb.ConfChangeSingle) {
	for _, id := range c.Voters {
		if !slices.Contains(c.VotersOutgoing, id) {
			out = append(out, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeAddNode, NodeID: id})
		}
	}
	for _, id := range c.VotersOutgoing {
		if !slices.Contains(c.Voters, id) {
			out = append(out, raftpb.ConfChangeSingle{Type: raftpb.ConfChangeRemoveNode, NodeID: id})
		}
	}
	return out
}

// startConf is the configuration with which Raft starts.
func (u rules) startConf(c raftpb.ConfState) raftpb.ConfState {
	if len(c.VotersOutgoing) == 0 || !u.broken.Has(mutant.JointByOldVoters) {
		return c
	}
	out := raftpb.ConfState{Voters: c.VotersOutgoing, Learners: slices.Clone(c.Learners)}
	for _, id := range c.Voters {
		if !slices.Contains(c.VotersOutgoing, id) {
			out.Learners = append(out.Learners, id)
		}
	}
	return out
}

// skipsValidation: Raft would refuse the end of a joint configuration of which it does not know.
func (u rules) skipsValidation() bool { return u.broken.Has(mutant.JointByOldVoters) }

// isGiven: a removed replica's number is below the next one (R7.13).
func (u rules) isGiven(id ReplicaID, s *State) bool {
	return id < s.next() || u.broken.Has(mutant.GoneByReplicaBehind)
}

// destroysUnreleased: a replica is destroyed only after the release (R7.13).
func (u rules) destroysUnreleased() bool { return u.broken.Has(mutant.DestroyedUnreleased) }

// changesUnreleased: a change begins only after the release of the one before (R7.13).
func (u rules) changesUnreleased() bool { return u.broken.Has(mutant.ChangesUnreleased) }

// installed: a Raft snapshot has the configuration and the window (R6.8).
func (u rules) installed(s State, before *State) State {
	if u.broken.Has(mutant.SnapshotWithoutConfiguration) && !before.isEmpty() {
		s.Conf, s.Members, s.Next, s.Unreleased = before.Conf, before.Members, before.Next, before.Unreleased
		s.Unfit, s.Stopped = before.Unfit, before.Stopped
	}
	if u.broken.Has(mutant.SnapshotWithoutWindow) {
		s.Window = 0
	}
	return s
}

// flushed: the log is not cut beyond what the store has flushed (R6.5).
func (u rules) flushed(flushed, applied Position) Position {
	if u.broken.Has(mutant.CutBeyondFlushed) {
		return applied
	}
	return flushed
}

// recordedCommit: the commit index is recorded with the entries that it came with (R6.7).
func (u rules) recordedCommit(commit uint64) uint64 {
	if u.broken.Has(mutant.CommitNotRecorded) {
		return 0
	}
	return commit
}

// checkLog: the log begins at the rows if they are further (R6.11).
func (u rules) checkLog(log raft.Storage, s *State) error {
	if u.broken.Has(mutant.LogKeptBehindRows) {
		return nil
	}
	return checkLog(log, s)
}

// reportedCommit: a heartbeat reports no commit index above what its receiver has acknowledged (R3.9).
func (u rules) reportedCommit(t raftpb.MessageType, commit uint64, known Position) uint64 {
	if t == raftpb.MsgHeartbeat && u.broken.Has(mutant.HeartbeatBeyondAcknowledged) {
		return uint64(known)
	}
	return commit
}

// reportsCommitted: vote requests and responses report what is committed (R3.10).
func (u rules) reportsCommitted() bool { return !u.broken.Has(mutant.VotesHideCommitted) }

// knownCommitted: the term of what is committed is that of the entry that is committed (R3.10).
func (u rules) knownCommitted(handed *State, commit Position, log raft.Storage) (Position, Term) {
	if u.broken.Has(mutant.CommittedTermOfDisk) {
		t, err := log.Term(uint64(commit))
		if err == nil {
			return commit, Term(t)
		}
	}
	return handed.Position, handed.Term
}

// isAfter: a read is confirmed by heartbeats that were sent after its step (R3.14).
func (u rules) isAfter(promised, point int64) bool {
	if u.broken.Has(mutant.ConfirmedByEarlierHeartbeat) {
		return promised > 0
	}
	return promised > point
}

// hasNoLease: a replica on a node whose clock's rate is off does not lead (R10.8).
func (u rules) hasNoLease(clockOff bool) bool {
	return clockOff && !u.broken.Has(mutant.ClockRateIgnored)
}

// verifiesAppends: an entry is verified before it is acknowledged (R6.13).
func (u rules) verifiesAppends() bool { return !u.broken.Has(mutant.DamagedEntryAcknowledged) }

// verifiesApplied: an entry is verified before it is applied (R6.13).
func (u rules) verifiesApplied() bool { return !u.broken.Has(mutant.DamagedEntryApplied) }

// ignoresPlace: a replica is made for a message that names the node's disk (R7.17).
func (u rules) ignoresPlace() bool { return u.broken.Has(mutant.MessagesOfAnotherDisk) }

// usesNumberAgain: a replica is made only with a greater number than all before (R7.17).
func (u rules) usesNumberAgain() bool { return u.broken.Has(mutant.NumberUsedAgain) }

// leaves: a leader whose disk is slow, or nearly full, transfers leadership (R10.9).
func (u rules) leaves(d *Disk) bool {
	return (d.late >= int64(lateFor) || d.low) && !u.broken.Has(mutant.SlowLeaderKept)
}

// hasWritten: leadership does not go to a disk that is as slow (R10.9).
func (u rules) hasWritten(has, late Position) bool {
	return has >= late || u.broken.Has(mutant.SlowSuccessorTaken)
}

// pause: slow disks do not pass leadership to and fro (R10.9).
func (u rules) pause(until int64) int64 {
	if u.broken.Has(mutant.SlowTransfersRepeated) {
		return 0
	}
	return until
}

// isSilent reports whether a replica sends nothing, as the node's disk has ended no write for a time (R10.10).
func (u rules) isSilent(d *Disk, now int64, limit time.Duration) bool {
	return d.isStuck(now, limit) && !u.broken.Has(mutant.StuckDiskIgnored)
}

// isBarred reports whether the replica must not lead: it is unfit (R6.13, R6.15).
func (d Damage) isBarred() bool { return d.r.unfit && !d.r.rules.broken.Has(mutant.UnfitLeads) }

// isComparable reports whether a checksum is compared with those at a position: only if it is of that position (R6.14).
func (u rules) isComparable(s rowSum, at Position) bool {
	return s.at == at || s.at != 0 && u.broken.Has(mutant.CheckAtAnyPosition)
}

// declaresDiffering: a replica that differs from a majority is replaced (R6.14).
func (u rules) declaresDiffering() bool { return !u.broken.Has(mutant.DifferingNotDeclared) }

// stopsUndecided: the shard stops if no majority agrees (R6.14).
func (u rules) stopsUndecided() bool { return !u.broken.Has(mutant.UndecidedGoesOn) }

// declaresUnfit: a leader declares replicas unfit that report it, for later leaders (R6.15).
func (u rules) declaresUnfit() bool { return !u.broken.Has(mutant.UnfitNotDeclared) }
