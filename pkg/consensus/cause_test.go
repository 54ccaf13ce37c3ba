package consensus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// TestCausesOfLeaderChanges: a replica reports how it was elected and why its leadership has ended.
func TestCausesOfLeaderChanges(t *testing.T) {
	n := newNet(none)
	n.lead()
	n.run(500 * ms)
	first := n.peers[1].replica
	require.Zero(t, first.Causes.Elected, "nothing has led before")
	require.Equal(t, uint64(1), first.Causes.Campaigns)

	n.isolate(1)
	n.run(2000 * ms)
	next := n.peers[2].replica
	require.NotZero(t, next.Leads())
	require.False(t, next.Causes.Elected.Transferred)
	require.InDelta(t, time.Duration(hold), next.Causes.Elected.Silent, float64(300*time.Millisecond))
	require.Equal(t, consensus.LostLease, first.Causes.Lost)

	n.heal()
	n.run(1000 * ms)
	n.peers[2].act(func(r *consensus.Replica) {
		require.NoError(t, r.Transfer(n.now, 3, consensus.RegisteredUnknown))
	})
	n.run(50 * ms)
	third := n.peers[3].replica
	require.NotZero(t, third.Leads())
	require.True(t, third.Causes.Elected.Transferred)
	require.Equal(t, consensus.LaterTerm, next.Causes.Lost)
}

// TestFailedTransferIsReported: the replica that is to take over is cut off, so the leader steps down.
func TestFailedTransferIsReported(t *testing.T) {
	n := newNet(none)
	n.lead()
	n.run(500 * ms)
	r := n.peers[1].replica
	n.isolate(3)
	n.peers[1].act(func(r *consensus.Replica) {
		require.NoError(t, r.Transfer(n.now, 3, consensus.RegisteredUnknown))
	})
	n.run(hold + 100*ms)
	require.Zero(t, r.Leads())
	require.Equal(t, consensus.FailedTransfer, r.Causes.Lost)
}
