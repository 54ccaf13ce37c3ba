package consensus_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// directed are histories that random schedules meet too seldom. Each returns what is wrong, empty if nothing is, so
// that it can also show that a broken rule is found. The numbers of the replicas are 1 to 3, 1 leads, and 4 is added.
var directed = map[string]func(t *testing.T, m mutant.Set) string{
	"JointLeaseNeedsOldVoters":    jointLeaseNeedsOldVoters,
	"JointLeaseNeedsNewVoters":    jointLeaseNeedsNewVoters,
	"JointCommitNeedsOldVoters":   jointCommitNeedsOldVoters,
	"LearnerGivesNoLease":         learnerGivesNoLease,
	"RemovedLeaderDoesNotCount":   removedLeaderDoesNotCount,
	"LongestLeaseCounts":          longestLeaseCounts,
	"LearnerPromises":             learnerPromises,
	"OneChangeAtATime":            oneChangeAtATime,
	"NoChangeAfterTransfer":       noChangeAfterTransfer,
	"SnapshotHasWindow":           snapshotHasWindow,
	"SnapshotWrittenFirst":        snapshotWrittenFirst,
	"LogBeginsAtRows":             logBeginsAtRows,
	"VotesReportCommitted":        votesReportCommitted,
	"CommittedTermIsTheEntrys":    committedTermIsTheEntrys,
	"ReadConfirmedAfterStep":      readConfirmedAfterStep,
	"ClockOffDoesNotLead":         clockOffDoesNotLead,
	"DamagedEntryIsNotApplied":    damagedEntryIsNotApplied,
	"StaleSnapshotChangesNothing": staleSnapshotChangesNothing,
	"CommitIsRecorded":            commitIsRecorded,
	"TwoTransfersWithinALease":    twoTransfersWithinALease,
	"EmptyReplicaDoesNotVote":     emptyReplicaDoesNotVote,
	"NoCampaignBeforeApplied":     noCampaignBeforeApplied,
	"GoneAfterRelease":            goneAfterRelease,
	"UnfitLeaderIsReplaced":       unfitLeaderIsReplaced,
	"UnfitFollowerIsDeclared":     unfitFollowerIsDeclared,
	"DifferingReplicaIsUnfit":     differingReplicaIsUnfit,
	"ChecksOfOnePositionCompared": checksOfOnePositionCompared,
	"UndecidedShardStops":         undecidedShardStops,
	"SlowLeaderTransfers":         slowLeaderTransfers,
	"FullLeaderTransfers":         fullLeaderTransfers,
	"SlowSuccessorIsSpared":       slowSuccessorIsSpared,
	"SlowDisksTakeTurns":          slowDisksTakeTurns,
	"StuckDiskIsSilent":           stuckDiskIsSilent,
}

func TestDirected(t *testing.T) {
	for name, run := range directed {
		t.Run(name, func(t *testing.T) { require.Empty(t, run(t, none)) })
	}
}

// joint makes a group whose configuration is joint: 4 replaces a voter.
func joint(t *testing.T, m mutant.Set, out consensus.ReplicaID) *net {
	n := newNet(m)
	l := n.lead()
	l.addLearner(t)
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 4, out) })
	require.True(t, l.state.IsJoint())
	return n
}

// leaseAfter is whether replica 1 has a lease after D without messages from some replicas.
func leaseAfter(n *net, silent ...consensus.ReplicaID) bool {
	n.isolate(silent...)
	n.run(hold - 50*ms)
	return n.peers[1].replica.LeaseEnd(n.now) != 0
}

func jointLeaseNeedsOldVoters(t *testing.T, m mutant.Set) string {
	// 1, 2 and 3 are replaced by 1, 2 and 4. With 2 and 3 cut off, 1 and 4 are a majority of the new voters only.
	if leaseAfter(joint(t, m, 3), 2, 3) {
		return "a lease by the new voters alone"
	}
	return ""
}

func jointLeaseNeedsNewVoters(t *testing.T, m mutant.Set) string {
	if leaseAfter(joint(t, m, 3), 2, 4) {
		return "a lease by the old voters alone"
	}
	return ""
}

func jointCommitNeedsOldVoters(t *testing.T, m mutant.Set) string {
	n := joint(t, m, 3)
	n.isolate(2, 3)
	n.peers[1].propose(t, "x")
	n.run(50 * ms)
	if len(n.peers[1].applied) > 0 {
		return "an entry is committed by the new voters alone"
	}
	n.heal()
	n.run(200 * ms)
	require.Equal(t, []string{"x"}, n.peers[1].applied)
	return ""
}

func learnerGivesNoLease(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	n.lead().addLearner(t)
	if leaseAfter(n, 2, 3) {
		return "a lease by a learner"
	}
	return ""
}

func removedLeaderDoesNotCount(t *testing.T, m mutant.Set) string {
	// 1 is to be removed. 2, 3 and 4 are the new voters; 1 and 3 are a majority of the old ones only.
	if leaseAfter(joint(t, m, 1), 2, 4) {
		return "a lease in which a removed leader counts"
	}
	return ""
}

// longestLeaseCounts: a joint configuration ends the lease earlier than it was granted, since the new voters' promises
// are older. Readers may rely on what was granted.
func longestLeaseCounts(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	l.addLearner(t)
	n.lost = func(m *consensus.Message) bool { return m.From == 2 || m.From == 4 }
	n.run(350 * ms)
	var granted int64
	l.act(func(r *consensus.Replica) { granted = r.LeaseEnd(n.now) })
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 4, 3) })
	n.heal()
	var err error
	l.act(func(r *consensus.Replica) { err = r.Transfer(n.now, 2, consensus.RegisteredUnknown) })
	require.NoError(t, err)
	n.run(20 * ms)
	if b := n.peers[2].begin; b == nil || b.Wait < granted {
		return "the next leader does not wait for a lease that was granted"
	}
	return ""
}

func learnerPromises(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	n.lead().addLearner(t)
	if n.votes(4) {
		return "a learner votes during its promise"
	}
	return ""
}

func oneChangeAtATime(t *testing.T, m mutant.Set) string {
	n := joint(t, m, 3)
	l := n.peers[1]
	add := func() (err error) {
		l.act(func(r *consensus.Replica) { _, err = r.Changes().AddLearner(n.now, "E") })
		return err
	}
	require.ErrorIs(t, add(), consensus.ErrChanging)
	l.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(n.now) })
	if add() == nil {
		return "a change begins before the release of the one before"
	}
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Release(n.now) })
	require.NoError(t, add())
	return ""
}

// noChangeAfterTransfer: the end of a joint configuration behind the transfer entry would hide the window.
func noChangeAfterTransfer(t *testing.T, m mutant.Set) string {
	n := joint(t, m, 3)
	var ended error
	n.peers[1].act(func(r *consensus.Replica) {
		require.NoError(t, r.Transfer(n.now, 2, consensus.RegisteredUnknown))
		ended = r.Changes().EndJoint(n.now)
	})
	n.run(20 * ms)
	b := n.peers[2].begin
	require.NotNil(t, b)
	if b.Wait <= n.now+hold/2 {
		return "the next leader does not wait for the readers of the one before"
	}
	require.ErrorIs(t, ended, consensus.ErrNotLeader)
	return ""
}

// snapshotHasWindow: the next leader got the transfer entry with a Raft snapshot.
func snapshotHasWindow(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	l.addLearner(t)
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 4, 3) })
	l.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(n.now) })
	// 4 gets nothing from now on, and 2 takes over. Its window is 10 s, as of standing registrations.
	n.isolate(4)
	l.act(func(r *consensus.Replica) { require.NoError(t, r.Transfer(n.now, 2, n.now+10_000*ms)) })
	n.run(20 * ms)
	second := n.peers[2]
	require.NotNil(t, second.begin)
	require.NoError(t, second.log.Compact(uint64(second.state.Position)))
	n.heal()
	n.run(300 * ms)
	p := n.peers[4]
	require.Equal(t, second.state.Position, p.state.Position)
	if p.state.Window != second.state.Window || p.state.Window == 0 {
		return "a Raft snapshot hides the window"
	}
	return ""
}

// snapshotWrittenFirst: the response to a Raft snapshot leaves when it is on the disk.
func snapshotWrittenFirst(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	acknowledged := false
	n.lost = func(m *consensus.Message) bool {
		acknowledged = acknowledged || m.From == 4 && m.Raft.Type == raftpb.MsgAppResp && !m.Raft.Reject && m.Raft.Index > 0
		return false
	}
	l.do(t, func(r *consensus.Replica) error {
		_, err := r.Changes().AddLearner(n.now, "D")
		return err
	})
	require.NotNil(t, n.peers[4])
	n.peers[4].stuck = true
	n.run(100 * ms)
	if acknowledged {
		return "a Raft snapshot is acknowledged before it is written"
	}
	p := n.peers[4]
	p.stuck = false
	p.write()
	n.run(10 * ms)
	require.True(t, acknowledged)
	return ""
}

// logBeginsAtRows: the process crashed after the swap of the rows and before that of the log.
func logBeginsAtRows(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	for _, d := range []string{"a", "b", "c"} {
		l.propose(t, d)
	}
	n.run(10 * ms)
	old, _ := bootstrap()
	require.NoError(t, old.Append([]raftpb.Entry{{Index: 2, Term: 7}, {Index: 3, Term: 7}, {Index: 4, Term: 7},
		{Index: 5, Term: 7}}))
	p := &peer{net: n, id: 3, log: old, state: l.state}
	_, err := consensus.New(p.config(), n.now)
	if err == nil {
		return "a log is kept that has another entry at the position of the rows"
	}
	require.ErrorIs(t, err, consensus.ErrLogBehind)
	require.NoError(t, old.SetHardState(raftpb.HardState{Term: 7, Vote: 2, Commit: 1}))
	p.log = beginLog(old, &l.state)
	r, err := consensus.New(p.config(), n.now)
	require.NoError(t, err)
	_, term := r.Leader()
	require.Equal(t, consensus.Term(7), term, "the term is not cut with the log")
	// A log that ends before is no better, and one with that entry is kept.
	p.log, _ = bootstrap()
	_, err = consensus.New(p.config(), n.now)
	require.ErrorIs(t, err, consensus.ErrLogBehind)
	p.log = l.log
	_, err = consensus.New(p.config(), n.now)
	require.NoError(t, err)
	// And a log that begins behind the rows is of no use.
	p.log, p.state = beginLog(old, &consensus.State{Position: 99, Term: 7, Conf: l.state.Conf}), l.state
	_, err = consensus.New(p.config(), n.now)
	require.ErrorIs(t, err, consensus.ErrLogGap)
	return ""
}

// votesReportCommitted: 1 and 3, which is removed, know the end of the joint configuration, and 1 is lost. 2 and 4 do
// not know it, so they need the vote of 3, which has a longer log and is no voter any more (R3.10).
func votesReportCommitted(t *testing.T, m mutant.Set) string {
	n := joint(t, m, 3)
	l := n.peers[1]
	// All have the end in their logs, and 3 has one more entry. Only 1 and 3 learn that the end is committed.
	end := uint64(l.state.Position) + 1
	n.lost = func(m *consensus.Message) bool {
		k := len(m.Raft.Entries)
		return m.From == 1 && m.To != 3 && (m.Raft.Commit >= end || k > 0 && m.Raft.Entries[k-1].Index > end)
	}
	l.act(func(r *consensus.Replica) { require.NoError(t, r.Changes().EndJoint(n.now)) })
	l.propose(t, "x")
	n.run(10 * ms)
	require.False(t, l.state.IsJoint())
	require.False(t, n.peers[3].state.IsJoint())
	require.True(t, n.peers[2].state.IsJoint())
	l.crash()
	n.heal()
	n.run(6 * hold)
	for _, id := range []consensus.ReplicaID{2, 4} {
		if p := n.peers[id]; p.begin != nil && p.replica.Leads() != 0 {
			return ""
		}
	}
	return "no leader is elected"
}

// committedTermIsTheEntrys is the history at Replica.committed.
func committedTermIsTheEntrys(t *testing.T, m mutant.Set) string {
	n := newNetOf(m, 1, 2, 3, 4, 5)
	l := n.lead()
	require.Equal(t, consensus.ReplicaID(1), l.id)
	n.run(10 * ms)
	n.isolate(1, 5)
	l.propose(t, "lost")
	l.propose(t, "lost")
	n.run(3 * hold)
	next := n.peers[2]
	require.NotZero(t, next.replica.Leads())
	next.propose(t, "word")
	n.run(10 * ms)
	n.lost = func(m *consensus.Message) bool {
		l.stuck = l.stuck || m.To == 1 && len(m.Raft.Entries) > 0 // 1 receives what it does not write
		return (m.To == 5) != (m.From == 5)
	}
	n.run(300 * ms)
	require.True(t, l.stuck)
	n.isolate(1, 5)
	n.run(3 * hold) // 1 asks 5 for its vote
	if slices.Contains(n.peers[5].applied, "lost") {
		return "5 applies what was never committed"
	}
	l.stuck = false
	l.write()
	n.heal()
	n.run(3 * hold)
	require.Equal(t, next.applied, n.peers[5].applied)
	return ""
}

// readConfirmedAfterStep: 1 does not know that it was replaced.
func readConfirmedAfterStep(_ *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.run(250 * ms)
	at := l.replica.Leadership().Point()
	if l.replica.Leadership().IsConfirmed(at) {
		return "a read is confirmed by an earlier heartbeat"
	}
	n.run(150 * ms)
	if !l.replica.Leadership().IsConfirmed(at) {
		return "a read is not confirmed"
	}
	return ""
}

// damagedEntryIsNotApplied: a bit of an entry on the disk of 2 flips before it is applied.
func damagedEntryIsNotApplied(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.run(10 * ms)
	n.lost = func(m *consensus.Message) bool { // 2 does not learn that the entry is committed
		return m.To == 2 && (len(m.Raft.Entries) == 0 || m.Raft.Type != raftpb.MsgApp)
	}
	l.propose(t, "word")
	n.run(10 * ms)
	p := n.peers[2]
	require.Empty(t, p.applied)
	p.crash()
	last, _ := p.log.LastIndex()
	entries, err := p.log.Entries(last, last+1, 1<<20)
	require.NoError(t, err)
	entries[0].Data[2] ^= 1
	p.start()
	n.heal()
	n.run(200 * ms)
	switch {
	case len(p.applied) > 0:
		return "a damaged entry is applied: " + p.applied[0]
	case !p.unfit:
		return "a damaged entry is not reported"
	}
	require.Equal(t, []string{"word"}, n.peers[3].applied)
	n.peers[1].crash()
	n.peers[3].crash()
	n.run(4 * hold)
	require.Zero(t, p.replica.Leads())
	return ""
}

// staleSnapshotChangesNothing: a Raft snapshot arrives a second time, late.
func staleSnapshotChangesNothing(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	var late consensus.Message
	n.lost = func(m *consensus.Message) bool {
		if m.Raft.Type == raftpb.MsgSnap {
			late = *m
		}
		return false
	}
	l.addLearner(t)
	l.propose(t, "a")
	n.run(150 * ms) // a heartbeat
	p := n.peers[4]
	at := p.state.Position
	require.Less(t, late.Raft.Snapshot.Metadata.Index, uint64(at))
	p.act(func(r *consensus.Replica) { r.Step(n.now, &late) })
	n.run(10 * ms)
	if p.state.Position != at {
		return "rows are set back"
	}
	return ""
}

// goneAfterRelease: 3 is removed while it is cut off, and reports for itself long after.
func goneAfterRelease(t *testing.T, m mutant.Set) string {
	n := joint(t, m, 3)
	l := n.peers[1]
	n.isolate(3)
	l.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(n.now) })
	n.heal()
	n.run(2 * hold)
	if n.peers[3].gone {
		return "a replica is gone before the release"
	}
	n.lead().do(t, func(r *consensus.Replica) error { return r.Changes().Release(n.now) })
	n.run(2 * hold)
	require.True(t, n.peers[3].gone)
	return ""
}

// TestTruncation cuts the log as far as nothing needs it, and a replica that was away gets a Raft snapshot.
func TestTruncation(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	n.isolate(3)
	for range 5 {
		l.propose(t, "x")
	}
	n.run(200 * ms)
	last := l.state.Position
	r := l.replica
	require.Less(t, r.Snapshots().TruncationLimit(last, 0), last, "replica 3 needs the log")
	require.Equal(t, last, r.Snapshots().TruncationLimit(last, 1<<30), "the log is too large")
	require.Equal(t, last-2, r.Snapshots().TruncationLimit(last-2, 1<<30), "the store has not flushed the rest")
	n.run(61_000 * ms)
	require.Equal(t, last, r.Snapshots().TruncationLimit(last, 0), "replica 3 has not responded for a minute")
	require.Equal(t, last, n.peers[2].replica.Snapshots().TruncationLimit(last, 0), "followers learn it from the leader")
	require.NoError(t, l.log.Compact(uint64(last)))
	n.heal()
	n.run(300 * ms)
	require.Equal(t, last, n.peers[3].state.Position)
	first, err := n.peers[3].log.FirstIndex()
	require.NoError(t, err)
	require.Equal(t, uint64(last)+1, first, "its log begins at the Raft snapshot")
}

// commitIsRecorded: 2 crashes with the rows of before a change. Its log has the end of the joint configuration, so it
// knows that the joint one is committed, and does not campaign with the one before.
func commitIsRecorded(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	l.addLearner(t)
	p := n.peers[2]
	before := p.state
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 4, 3) })
	at := l.state.Position
	l.act(func(r *consensus.Replica) { require.NoError(t, r.Changes().EndJoint(n.now)) })
	n.run(3 * step)
	p.crash()
	last, err := p.log.LastIndex()
	require.NoError(t, err)
	require.Greater(t, consensus.Position(last), at)
	p.state = before
	p.start()
	if p.replica.Committed() < at {
		return "a replica has the end of the joint configuration, and does not know the joint one"
	}
	return ""
}

// twoTransfersWithinALease: readers of the first leader are still registered when the third one begins.
func twoTransfersWithinALease(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.run(50 * ms)
	granted := l.replica.LeaseEnd(n.now) + 1000*ms
	transfer := func(from, to consensus.ReplicaID, registered int64) {
		n.peers[from].act(func(r *consensus.Replica) { require.NoError(t, r.Transfer(n.now, to, registered)) })
		n.run(15 * ms)
	}
	transfer(1, 2, granted)
	transfer(2, 3, 0)
	if b := n.peers[3].begin; b == nil || b.Wait < granted {
		return "the third leader does not wait for readers of the first"
	}
	return ""
}

// votes reports whether a replica grants a pre-vote to 2.
func (n *net) votes(id consensus.ReplicaID) bool {
	granted := false
	n.lost = func(m *consensus.Message) bool {
		granted = granted || m.From == id && m.Raft.Type == raftpb.MsgPreVoteResp && !m.Raft.Reject
		return false
	}
	n.peers[id].act(func(r *consensus.Replica) {
		r.Step(n.now, &consensus.Message{Group: 1, From: 2, To: id, Raft: raftpb.Message{Type: raftpb.MsgPreVote, From: 2,
			To: uint64(id), Term: 9, Index: 999, LogTerm: 9}})
	})
	n.run(5 * ms)
	return granted
}

// emptyReplicaDoesNotVote: 3 was set up again under its number, without what it had.
func emptyReplicaDoesNotVote(_ *testing.T, m mutant.Set) string {
	n := newNet(m)
	n.lead()
	n.isolate(3)
	p := n.peers[3]
	p.log, p.state = raft.NewMemoryStorage(), consensus.State{}
	p.start()
	n.run(2 * hold)
	if n.votes(3) {
		return "a replica votes that has received nothing"
	}
	return ""
}

// noCampaignBeforeApplied: 2 knows that a configuration is committed, and has not applied it (R7.15). Raft sees to it,
// for the entries that Applied has not reported.
func noCampaignBeforeApplied(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	l.addLearner(t)
	p := n.peers[2]
	p.slow = true
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 4, 3) })
	n.run(100 * ms) // a heartbeat
	require.True(t, p.state.IsJoint())
	n.isolate(1)
	asked := false
	lost := n.lost
	n.lost = func(m *consensus.Message) bool {
		asked = asked || m.From == 2 && m.Raft.Type == raftpb.MsgPreVote
		return lost(m)
	}
	n.peers[3].crash()
	n.run(3 * hold)
	if asked {
		return "a replica campaigns with a configuration that it has not applied"
	}
	p.slow = false
	p.crash()
	p.start()
	n.run(3 * hold)
	require.True(t, asked)
	return ""
}

// TestOneReplicaBecomesThreeAndOneAgain changes one voter at a time (R7.21, R7.22).
func TestOneReplicaBecomesThreeAndOneAgain(t *testing.T) {
	n := newNetOf(none, 1)
	l := n.lead()
	l.propose(t, "a")
	swap := func(in, out consensus.ReplicaID) {
		l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, in, out) })
		l.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(n.now) })
		l.do(t, func(r *consensus.Replica) error { return r.Changes().Release(n.now) })
	}
	swap(l.addNext(t), 0)
	swap(l.addNext(t), 0)
	require.Equal(t, []uint64{1, 2, 3}, l.state.Conf.Voters)
	l.propose(t, "b")
	n.run(200 * ms)
	require.Equal(t, l.state, n.peers[3].state)
	// The first one is lost, and a leader among the others goes on.
	l.crash()
	l = n.lead()
	require.Greater(t, l.id, consensus.ReplicaID(1))
	swap(0, 1)
	other := 5 - l.id
	swap(0, other)
	require.Equal(t, []uint64{uint64(l.id)}, l.state.Conf.Voters)
	n.run(2 * hold)
	require.True(t, n.peers[other].gone)
	l.propose(t, "c")
	n.run(10 * ms)
	require.Equal(t, "c", l.applied[len(l.applied)-1])
	require.NotZero(t, l.replica.LeaseEnd(n.now))
	err := l.replica.Changes().Swap(n.now, 0, l.id)
	require.ErrorIs(t, err, consensus.ErrNotMember, "the only voter stays")
	// The number of a removed replica is not used again.
	require.Equal(t, consensus.ReplicaID(4), l.addNext(t))
}
