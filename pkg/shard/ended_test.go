package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func endedRef(i int) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: int64(i)}, Attempt: 1} }

// TestEndedMemoryHoldsWhatTheLoadAsksFor: a shard that lives for an hour holds no
// more of what has ended than after its first minutes.
func TestEndedMemoryHoldsWhatTheLoadAsksFor(t *testing.T) {
	var c endedMemory
	c.init(0, 32768)
	const perSecond, second = 20, int64(1e9)
	ages := int(2 * int64(endedFor) / second)
	for i := range 3600 * perSecond {
		now := int64(i) * second / perSecond
		c.add(now, endedRef(i), nil)
		require.LessOrEqual(t, c.len(), ages*perSecond+1, "at %d s", now/second)
		least := max(0, i-int(int64(endedFor)/second)*perSecond)
		_, known := c.get(endedRef(least))
		require.True(t, known, "what ended within the last minute is known")
	}
}

// TestEndedMemoryIsBounded by its limit, and remembers the newest half of it.
func TestEndedMemoryIsBounded(t *testing.T) {
	const limit = 100
	var c endedMemory
	c.init(0, limit)
	for i := range 10 * limit {
		c.add(0, endedRef(i), nil)
		require.LessOrEqual(t, c.len(), limit)
		_, known := c.get(endedRef(max(0, i-limit/2+1)))
		require.True(t, known)
	}
	_, known := c.get(endedRef(0))
	require.False(t, known)
}

// TestEndedMemoryForgetsAfterASilence: nothing of before it is left.
func TestEndedMemoryForgetsAfterASilence(t *testing.T) {
	var c endedMemory
	c.init(0, 100)
	for i := range 10 {
		c.add(int64(i)*int64(endedFor)/4, endedRef(i), nil)
	}
	c.add(10*int64(endedFor), endedRef(10), nil)
	require.Equal(t, 1, c.len())
}

// TestEndedMemoryKeepsTheFirstAnswer, also of an attempt that was known before it
// had one.
func TestEndedMemoryKeepsTheFirstAnswer(t *testing.T) {
	first, second := &msg.CheckReply{Index: 1}, &msg.CheckReply{Index: 2}
	for _, later := range []int64{0, int64(endedFor)} {
		var c endedMemory
		c.init(0, 100)
		c.add(0, endedRef(1), nil)
		c.add(later, endedRef(1), first)
		c.add(later, endedRef(1), second)
		c.add(later, endedRef(1), nil)
		got, known := c.get(endedRef(1))
		require.True(t, known)
		require.Same(t, first, got)
	}
}
