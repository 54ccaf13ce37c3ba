package outcome

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestAbortsDoNotKeepLargeValues: the value of a key for which a condition failed may have 1 MiB, and thousands of
// aborts are in memory.
func TestAbortsDoNotKeepLargeValues(t *testing.T) {
	m := NewMemory(10, none)
	abort := func(n int, value []byte) (sent, kept *msg.Failure) {
		sent = &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindConditionFailed), Key: []byte("k"),
			Text: "unchanged", Current: &msg.Pair{Key: []byte("k"), Value: value}}
		m.Abort(0, commit(n), sent)
		kept, ok := m.FindAbort(commit(n))
		require.True(t, ok)
		return sent, kept
	}
	sent, kept := abort(1, make([]byte, kv.MaxValueBytes))
	require.True(t, kept.Current == nil) // require.Nil would print it
	require.Equal(t, sent.Key, kept.Key)
	require.Equal(t, sent.Text, kept.Text)
	require.Len(t, sent.Current.Value, kv.MaxValueBytes, "the first response has it")

	sent, kept = abort(2, make([]byte, maxTombstoneValue))
	require.Equal(t, sent, kept)
	sent, kept = abort(3, make([]byte, maxTombstoneValue+1))
	require.NotNil(t, sent.Current)
	require.Nil(t, kept.Current)
}
