package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestAbortsDoNotKeepLargeValues: what the key of a failed condition holds may be a
// mebibyte, and thousands of aborts are remembered.
func TestAbortsDoNotKeepLargeValues(t *testing.T) {
	m := NewMemory(10, none)
	kill := func(n int, value []byte) (told, kept *msg.Failure) {
		told = &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindConditionFailed), Key: []byte("k"), Text: "as it is",
			Current: &msg.Pair{Key: []byte("k"), Value: value}}
		m.Abort(0, commit(n), told)
		kept, ok := m.FindAbort(commit(n))
		require.True(t, ok)
		return told, kept
	}
	told, kept := kill(1, make([]byte, kv.MaxValueBytes))
	require.True(t, kept.Current == nil) // Nil would print it
	require.Equal(t, told.Key, kept.Key)
	require.Equal(t, told.Text, kept.Text)
	require.Len(t, told.Current.Value, kv.MaxValueBytes, "the first answer tells it")

	told, kept = kill(2, make([]byte, maxTombstoneValue))
	require.Equal(t, told, kept)
	told, kept = kill(3, make([]byte, maxTombstoneValue+1))
	require.NotNil(t, told.Current)
	require.Nil(t, kept.Current)
}
