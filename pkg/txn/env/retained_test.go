package env

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNextLeaderIsBelievedOnlyWhileTheStateIsKept: 54 s after the last request that an earlier leader has answered.
func TestNextLeaderIsBelievedOnlyWhileTheStateIsKept(t *testing.T) {
	const kept = int64(54 * time.Second)
	for _, c := range []struct {
		sent, now int64
		believed  bool
	}{{0, kept - 1, true}, {0, kept, false}, {5, kept + 4, true}, {5, kept + 5, false}} {
		e, k := New(Config{Node: 1}), RetainedState{Incarnation: 3}
		require.True(t, k.Confirm(e, 3, c.sent), "the incarnation that has fixed it")
		e.AdvanceTo(c.now)
		require.Equal(t, c.believed, k.Confirm(e, 4, c.now-1), "%+v", c)
		require.Equal(t, c.believed, k.Confirm(e, 5, c.now), "%+v: the leader after that", c)
		require.True(t, k.Confirm(e, 3, c.now), "a late response of the first leader")
	}
	require.False(t, (&RetainedState{Incarnation: 3}).Confirm(New(Config{Node: 1}), 4, 0), "nothing is confirmed")
}

// TestReplicaConfirmsNothingAboutTheLeader: its response is right, and does not prolong the time for which the leader
// keeps the state.
func TestReplicaConfirmsNothingAboutTheLeader(t *testing.T) {
	e, k := New(Config{Node: 1}), RetainedState{Incarnation: 3, Until: 7}
	require.True(t, k.Confirm(e, 0, 5))
	require.Equal(t, RetainedState{Incarnation: 3, Until: 7}, k)
	e.AdvanceTo(8)
	require.True(t, k.Confirm(e, 0, 8), "a replica verifies that itself")
}
