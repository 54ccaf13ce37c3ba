package consensus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// setUnfit reports that a block of the rows of a replica cannot be read.
func (p *peer) setUnfit() (ok bool) {
	p.act(func(r *consensus.Replica) { ok = r.Damage().SetUnfit(p.net.now) })
	return ok
}

// replace swaps replica 4 in for another one, as a leader.
func (p *peer) replace(t *testing.T, out consensus.ReplicaID) {
	p.addLearner(t)
	p.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(p.net.now, 4, out) })
	p.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(p.net.now) })
	p.do(t, func(r *consensus.Replica) error { return r.Changes().Release(p.net.now) })
}

// unfitLeaderIsReplaced: a leader whose rows cannot be read transfers leadership, and is replaced.
func unfitLeaderIsReplaced(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	l.propose(t, "a")
	n.run(200 * ms)
	require.True(t, l.setUnfit())
	require.True(t, l.setUnfit(), "once more")
	n.run(20 * ms)
	if l.replica.Leads() != 0 {
		return "an unfit replica leads"
	}
	next := n.lead()
	require.Equal(t, []consensus.ReplicaID{1}, next.state.Unfit)
	next.propose(t, "b")
	n.run(100 * ms)
	require.Equal(t, []string{"a"}, l.applied)
	require.Equal(t, []string{"a", "b"}, n.peers[5-next.id].applied)
	require.False(t, l.gone)
	next.replace(t, 1)
	require.Empty(t, next.state.Unfit)
	n.run(4 * hold)
	require.True(t, l.gone, "although it does not know that it was removed")
	require.Equal(t, []string{"a", "b"}, next.applied)
	return ""
}

// unfitFollowerIsDeclared: the leaders after the present one know it, and so does the replica after a restart.
func unfitFollowerIsDeclared(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l, p := n.lead(), n.peers[2]
	require.True(t, p.setUnfit())
	n.run(300 * ms)
	if len(l.state.Unfit) == 0 {
		return "the leader does not know of the damage"
	}
	require.Empty(t, p.state.Unfit)
	l.act(func(r *consensus.Replica) {
		require.ErrorIs(t, r.Transfer(n.now, 2, 0), consensus.ErrNotVoter)
		require.EqualValues(t, 3, r.Changes().Successor())
	})
	p.crash()
	p.start()
	require.False(t, p.unfit)
	n.run(200 * ms)
	require.True(t, p.unfit, "it has applied the entry")
	require.Equal(t, []consensus.ReplicaID{2}, p.state.Unfit)
	p.crash()
	p.start()
	p.act(func(*consensus.Replica) {})
	require.True(t, p.unfit, "its state says so")
	l.propose(t, "x")
	n.run(100 * ms)
	require.Empty(t, p.applied)
	l.crash()
	require.EqualValues(t, 3, n.lead().id, "2 votes, and does not campaign")
	require.Equal(t, []consensus.ReplicaID{2}, n.peers[3].state.Unfit)
	return ""
}

// TestSilentVoterIsNotTheSuccessor: it has as much of the log as the other one, and may be stopped.
func TestSilentVoterIsNotTheSuccessor(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	n.run(200 * ms)
	n.peers[2].crash()
	n.run(hold * 3 / 4)
	l.act(func(r *consensus.Replica) { require.EqualValues(t, 3, r.Changes().Successor()) })
	n.peers[3].crash()
	n.run(hold * 3 / 4)
	l.act(func(r *consensus.Replica) { require.EqualValues(t, 2, r.Changes().Successor(), "none responds") })
}

// TestUnfitLearnerIsNoVoter: it has the log, and applies nothing.
func TestUnfitLearnerIsNoVoter(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	l.addLearner(t)
	require.True(t, n.peers[4].setUnfit())
	n.run(1500 * ms)
	require.Equal(t, []consensus.ReplicaID{4}, l.state.Unfit)
	require.False(t, l.replica.Changes().HasCaughtUp(4))
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Swap(n.now, 0, 4) })
	l.do(t, func(r *consensus.Replica) error { return r.Changes().EndJoint(n.now) })
	l.do(t, func(r *consensus.Replica) error { return r.Changes().Release(n.now) })
	require.Empty(t, l.state.Unfit)
	require.EqualValues(t, 5, l.addNext(t))
}

// TestLastFitReplicaServes: damage of all replicas is an error for those that read the block, and not the end.
func TestLastFitReplicaServes(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	require.True(t, n.peers[2].setUnfit())
	require.True(t, n.peers[3].setUnfit())
	n.run(300 * ms)
	require.False(t, l.setUnfit())
	l.propose(t, "x")
	n.run(100 * ms)
	require.Equal(t, []string{"x"}, l.applied)
	require.NotZero(t, l.replica.LeaseEnd(n.now))

	alone := newNetOf(none, 1)
	require.False(t, alone.lead().setUnfit())
}

// TestUnfitLeaderWithoutLeaseStepsDown: it cannot say how long its registrations are valid.
func TestUnfitLeaderWithoutLeaseStepsDown(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	n.isolate(1)
	n.run(hold - 20*ms)
	require.Zero(t, l.replica.LeaseEnd(n.now))
	require.NotZero(t, l.replica.Leads())
	require.True(t, l.setUnfit())
	require.Zero(t, l.replica.Leads())
	n.heal()
	require.NotEqual(t, l, n.lead())
}
