package txn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestReadsWithDifferentBoundsAreNotShared: a response may fit the bound of one client, and exceed
// that of another.
func TestReadsWithDifferentBoundsAreNotShared(t *testing.T) {
	for want, bounds := range map[int][]uint32{1: {4 << 20, 4 << 20}, 2: {4 << 20, 16 << 20}} {
		g := NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 1024,
			Repeat: time.Second, Liveness: time.Second, MaxAge: time.Minute})
		for i, b := range bounds {
			read := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}
			g.Execute(0, i, kv.TxnID{Time: int64(i + 1)}, read, time.Second.Nanoseconds(), TxnOptions{MaxResponse: b})
		}
		sent := g.Flush().Send
		require.Len(t, sent, want)
		for i, env := range sent {
			require.Equal(t, bounds[i], msg.As[msg.CommitRequest](env).MaxResponseBytes)
		}
	}
}
