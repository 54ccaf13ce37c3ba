package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestNoCallThatIsOverIsHeldOnTo: of many that end at once some are kept for others,
// and nothing refers to the rest.
func TestNoCallThatIsOverIsHeldOnTo(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 4 * maxRoom})
	for _, n := range []int64{2 * maxRoom, 3} {
		for i := range n {
			g.Execute(i, i, kv.TxnID{Time: i + 1}, []msg.Op{{Kind: msg.OpPut, Key: []byte{byte(i), byte(i >> 8)}}}, i+int64(1e9))
		}
		for _, env := range g.Flush().Send {
			answer := msg.ToGateway(1)
			answer.Answer = &msg.Answer{Txn: env.Park.Txn, Shard: env.Shard, Incarnation: 1, Committed: true, Results: make([]msg.Result, 1)}
			g.Deliver(n, answer)
		}
		require.Len(t, g.Flush().Done, int(n))
		require.LessOrEqual(t, cap(g.over), maxRoom)
		for _, c := range g.over[:cap(g.over)] {
			require.Nil(t, c)
		}
		require.NoError(t, g.Quiet())
	}
}
