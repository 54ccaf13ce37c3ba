package consensus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

const everySecond = 1000 * ms

// checked makes a group that is checked every second, with a leader.
func checked(m mutant.Set) (*net, *peer) {
	n := newCheckedNet(m, everySecond, 1, 2, 3)
	return n, n.lead()
}

// unfitOnes are the replicas that the leader has declared.
func (p *peer) unfitOnes() string { return fmt.Sprint(p.state.Unfit) }

// differingReplicaIsUnfit: a follower whose rows differ is found by the next check, and a leader by the others.
func differingReplicaIsUnfit(t *testing.T, m mutant.Set) string {
	n, l := checked(m)
	n.run(2 * everySecond)
	require.Empty(t, l.state.Unfit)
	n.peers[2].rows = 1
	l.propose(t, "x")
	n.run(everySecond + 300*ms)
	if l.unfitOnes() != "[2]" {
		return "a replica differs, and goes on"
	}
	require.True(t, n.peers[2].unfit)
	require.False(t, n.peers[3].unfit)

	n, l = checked(m)
	l.rows = 1
	n.run(everySecond + 300*ms)
	require.True(t, l.unfit)
	next := n.lead()
	require.NotEqual(t, l, next)
	require.Equal(t, "[1]", next.unfitOnes())
	return ""
}

// TestBusyLeaderBeginsChecks: without leases, a response waits for a heartbeat every 10 ms.
func TestBusyLeaderBeginsChecks(t *testing.T) {
	n, l := checked(mutant.Set{})
	n.peers[2].rows = 1
	for range 200 {
		l.act(func(r *consensus.Replica) { r.Leadership().Beat(n.now) })
		n.run(10 * ms)
	}
	require.Equal(t, "[2]", l.unfitOnes())
}

// checksOfOnePositionCompared: one replica computes its checksum slowly, while the rows change.
func checksOfOnePositionCompared(t *testing.T, m mutant.Set) string {
	n, l := checked(m)
	n.peers[2].checking = 900 * ms
	for i := range 60 {
		if l.replica.Leads() == 0 {
			return "replicas are unfit: " + n.peers[3].unfitOnes()
		}
		l.propose(t, fmt.Sprint(i))
		n.run(100 * ms)
	}
	require.Empty(t, l.state.Unfit)
	n.peers[2].rows = 1
	n.run(4 * everySecond)
	require.Equal(t, "[2]", l.unfitOnes(), "it is compared all the same")
	return ""
}

// undecidedShardStops: all three differ. No leader serves after that, also not after restarts.
func undecidedShardStops(t *testing.T, m mutant.Set) string {
	n, l := checked(m)
	n.peers[2].rows, n.peers[3].rows = 1, 2
	n.run(everySecond + 300*ms)
	if l.replica.LeaseEnd(n.now) != 0 {
		return "no majority agrees on the rows, and the shard serves"
	}
	for _, p := range n.sorted() {
		require.True(t, p.stopped)
		require.False(t, p.unfit)
		require.Zero(t, p.replica.Leads())
		p.crash()
		p.start()
	}
	n.run(4 * hold)
	leaders := 0
	for _, p := range n.sorted() {
		require.True(t, p.stopped)
		require.Nil(t, p.begin)
		id, _ := p.replica.Leader()
		if id == p.id {
			leaders++
		}
		p.act(func(r *consensus.Replica) {
			_, err := r.Propose(nil)
			require.ErrorIs(t, err, consensus.ErrNotLeader)
		})
	}
	require.Equal(t, 1, leaders, "the group goes on without a machine")
	return ""
}

// TestCheckWaitsForAMissingReplica: two of three differ, and the third decides when it is back.
func TestCheckWaitsForAMissingReplica(t *testing.T) {
	n, l := checked(none)
	n.peers[2].rows = 1
	n.peers[3].crash()
	n.run(3 * everySecond)
	require.Empty(t, l.state.Unfit)
	require.False(t, l.stopped)
	require.NotZero(t, l.replica.LeaseEnd(n.now))
	n.peers[3].start()
	n.run(2 * everySecond)
	require.Equal(t, "[2]", l.unfitOnes())
}

// TestNextLeaderComparesWhatWasReported: the leader is lost before the checksum of 5 has arrived. The replicas repeat
// theirs to the next one.
func TestNextLeaderComparesWhatWasReported(t *testing.T) {
	n := newCheckedNet(none, 100*everySecond, 1, 2, 3, 4, 5)
	n.peers[5].rows = 1
	l := n.lead()
	n.lost = func(m *consensus.Message) bool { return m.From == 5 && m.Checked != 0 }
	n.run(300 * ms)
	require.Empty(t, l.state.Unfit)
	l.crash()
	n.heal()
	next := n.lead()
	n.run(300 * ms)
	require.Equal(t, "[5]", next.unfitOnes())
}

// TestTwoThatDifferStopTheShardWithoutTheThird: the third is unfit, and does not decide.
func TestTwoThatDifferStopTheShardWithoutTheThird(t *testing.T) {
	n, l := checked(none)
	require.True(t, n.peers[3].setUnfit())
	n.run(300 * ms)
	require.Equal(t, "[3]", l.unfitOnes())
	n.peers[2].rows = 1
	n.run(everySecond + 300*ms)
	require.True(t, l.stopped)
	require.True(t, n.peers[2].stopped)
}

// TestLastFitReplicaIsChecked: it differs from none.
func TestLastFitReplicaIsChecked(t *testing.T) {
	n, l := checked(none)
	require.True(t, n.peers[2].setUnfit())
	require.True(t, n.peers[3].setUnfit())
	n.run(3 * everySecond)
	require.Equal(t, "[2 3]", l.unfitOnes())
	require.NotZero(t, l.replica.LeaseEnd(n.now))
}

// TestNewReplicaKnowsThatTheShardHasStopped: from the state in its Raft snapshot.
func TestNewReplicaKnowsThatTheShardHasStopped(t *testing.T) {
	n, l := checked(none)
	n.isolate(4)
	l.do(t, func(r *consensus.Replica) error {
		_, err := r.Changes().AddLearner(n.now, "D")
		return err
	})
	n.peers[2].rows, n.peers[3].rows = 1, 2
	n.run(2 * everySecond)
	require.True(t, l.stopped)
	require.NoError(t, l.log.Compact(uint64(l.state.Position)))
	n.heal()
	n.run(2 * hold)
	require.True(t, n.peers[4].state.Stopped)
	require.True(t, n.peers[4].stopped)
}

// TestLearnerIsChecked: a learner that differs from the voters is given up.
func TestLearnerIsChecked(t *testing.T) {
	n, l := checked(none)
	l.addLearner(t)
	n.peers[4].applied = l.applied // the rows of the Raft snapshot
	n.peers[4].rows = 1
	n.run(2 * everySecond)
	require.Equal(t, "[4]", l.unfitOnes())
	require.False(t, l.replica.Changes().HasCaughtUp(4))
}

// TestCheckEndsABatch: entries behind it are applied after it, in batches of their own, though all were committed at
// once.
func TestCheckEndsABatch(t *testing.T) {
	n, l := checked(none)
	p := n.peers[2]
	n.isolate(2)
	for i := range 25 { // more than one check
		l.propose(t, fmt.Sprint(i))
		n.run(100 * ms)
	}
	require.Empty(t, p.applied)
	n.heal()
	n.run(everySecond + 300*ms)
	require.Len(t, p.applied, 25)
	require.Empty(t, l.state.Unfit, "it has computed the same checksums as the others")
	n.run(2 * everySecond)
	require.Empty(t, l.state.Unfit)
}

// TestLogKeepsWhatRaftCountsAsUnapplied: 3 has applied the part of a batch that a check ends, and not the rest. Raft
// counts the batch as applied when all of it is. When 3 campaigns, Raft looks for changes of the configuration in what
// it does not count; a log that was cut at the check lacks it, and it panics.
func TestLogKeepsWhatRaftCountsAsUnapplied(t *testing.T) {
	n, l := checked(none)
	n.run(10 * ms)
	n.isolate(3)
	p := n.peers[3]
	for i := range 12 {
		l.propose(t, fmt.Sprint(i))
		n.run(100 * ms)
	}
	p.slow = true
	n.heal()
	n.run(200 * ms)
	var part *consensus.Apply
	for part = range slices.Values(p.unreported) {
		p.act(func(r *consensus.Replica) { r.Applied(n.now, part) })
		if part.Check {
			break // the rest of the batch is behind a check
		}
	}

	flushed := part.State.Position
	limit := p.replica.Snapshots().TruncationLimit(flushed, 1<<30)
	require.Less(t, limit, flushed)
	if first, _ := p.log.FirstIndex(); uint64(limit) >= first {
		require.NoError(t, p.log.Compact(uint64(limit)))
	}
	n.isolate(3)
	n.run(3 * hold) // 3 campaigns
}
