package consensus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// TestLeaderKnowsItsFollowers: which have the log, after the first second of a term, and which decline leadership, and
// which have just started and cannot take over.
func TestLeaderKnowsItsFollowers(t *testing.T) {
	n := newNet(none)
	n.lead()
	followers := func(f func(*consensus.Follower) bool) (ids []consensus.ReplicaID) {
		for _, x := range n.peers[1].replica.Followers() {
			if f(&x) {
				ids = append(ids, x.ID)
			}
		}
		return ids
	}
	isCurrent := func(f *consensus.Follower) bool { return f.IsCurrent }
	declines := func(f *consensus.Follower) bool { return f.Declines }
	require.Empty(t, followers(isCurrent))
	n.run(1500 * ms)
	require.Equal(t, []consensus.ReplicaID{2, 3}, followers(isCurrent))
	require.Empty(t, followers(declines))

	n.peers[3].replica.Declines = true
	n.run(200 * ms)
	require.Equal(t, []consensus.ReplicaID{3}, followers(declines))
	n.peers[3].replica.Declines = false
	n.run(200 * ms)
	require.Empty(t, followers(declines))

	starting := func(f *consensus.Follower) bool { return f.Starting }
	n.peers[2].crash()
	n.peers[2].start()
	n.run(200 * ms)
	require.Equal(t, []consensus.ReplicaID{2}, followers(starting))
	require.Equal(t, consensus.ReplicaID(3), n.peers[1].replica.Changes().Successor())
	n.run(hold)
	require.Empty(t, followers(starting))

	n.isolate(2)
	n.peers[1].act(func(r *consensus.Replica) {
		_, err := r.Propose([]byte("x"))
		require.NoError(t, err)
	})
	n.run(1500 * ms)
	require.Equal(t, []consensus.ReplicaID{3}, followers(isCurrent))
}
