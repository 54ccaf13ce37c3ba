package outcome

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func endedRef(i int) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: int64(i)}, Attempt: 1} }

// TestEndedSizeDependsOnLoadNotOnUptime runs for an hour of constant load.
func TestEndedSizeDependsOnLoadNotOnUptime(t *testing.T) {
	var c Ended
	c.Init(0, 32768)
	const perSecond, second = 20, int64(1e9)
	ages := int(2 * int64(endedRetention) / second)
	for i := range 3600 * perSecond {
		now := int64(i) * second / perSecond
		c.Add(now, endedRef(i), nil)
		require.LessOrEqual(t, c.Len(), ages*perSecond+1, "at %d s", now/second)
		least := max(0, i-int(int64(endedRetention)/second)*perSecond)
		_, known := c.Get(endedRef(least))
		require.True(t, known, "an attempt that ended within the last minute")
	}
}

// TestEndedIsBounded: it has at most its limit of attempts, and at least the newest half of that.
func TestEndedIsBounded(t *testing.T) {
	const limit = 100
	var c Ended
	c.Init(0, limit)
	for i := range 10 * limit {
		c.Add(0, endedRef(i), nil)
		require.LessOrEqual(t, c.Len(), limit)
		_, known := c.Get(endedRef(max(0, i-limit/2+1)))
		require.True(t, known)
	}
	_, known := c.Get(endedRef(0))
	require.False(t, known)
}

func TestEndedForgetsAfterIdleTime(t *testing.T) {
	var c Ended
	c.Init(0, 100)
	for i := range 10 {
		c.Add(int64(i)*int64(endedRetention)/4, endedRef(i), nil)
	}
	c.Add(10*int64(endedRetention), endedRef(10), nil)
	require.Equal(t, 1, c.Len())
}

// TestEndedKeepsFirstResponse, also of an attempt that was added without one before.
func TestEndedKeepsFirstResponse(t *testing.T) {
	first, second := &msg.CheckResponse{Shard: 1}, &msg.CheckResponse{Shard: 2}
	for _, later := range []int64{0, int64(endedRetention)} {
		var c Ended
		c.Init(0, 100)
		c.Add(0, endedRef(1), nil)
		c.Add(later, endedRef(1), first)
		c.Add(later, endedRef(1), second)
		c.Add(later, endedRef(1), nil)
		got, known := c.Get(endedRef(1))
		require.True(t, known)
		require.Same(t, first, got)
	}
}

// TestEndOfACommitDoesNotEndOtherCommits: the end of an attempt ends all its commits; that of a commit, only that one.
func TestEndOfACommitDoesNotEndOtherCommits(t *testing.T) {
	var c Ended
	c.Init(0, 10)
	whole, byCommit := kv.TxnRef{Attempt: 1}, kv.TxnRef{Attempt: 2}
	one, other := kv.CommitID{Gateway: 1, Number: 1}, kv.CommitID{Gateway: 2, Number: 1}
	require.False(t, c.HasCommit(whole, one))
	c.Add(0, whole, nil)
	c.AddCommit(0, byCommit, one)
	c.AddCommit(0, byCommit, other)
	require.True(t, c.HasCommit(whole, one))
	require.True(t, c.HasCommit(whole, other))
	require.True(t, c.HasCommit(byCommit, one))
	require.False(t, c.HasCommit(byCommit, other))
	_, ok := c.Get(byCommit)
	require.True(t, ok)
}
