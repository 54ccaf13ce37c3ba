package txn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestPageNumbersDoNotWrap: number 0 in a ScanAt reads nothing and has no reply, so that the page after
// 2^32 others would never arrive.
func TestPageNumbersDoNotWrap(t *testing.T) {
	at := msg.ScanAt{Number: math.MaxUint32}
	at.Number++
	b, err := at.Marshal()
	require.NoError(t, err)
	var got msg.ScanAt
	require.NoError(t, got.Unmarshal(b))
	require.NotZero(t, got.Number)
	require.Equal(t, kv.TxnRef{}, got.Txn)
}
