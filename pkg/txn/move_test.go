package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// oneHome places all keys on s0, except those that begin with h. s2 is the hot shard.
type oneHome struct{}

func (oneHome) Shard(key []byte) kv.ShardID {
	if len(key) > 0 && key[0] == 'h' {
		return 2
	}
	return 0
}

func (oneHome) Shards() int                 { return 3 }
func (oneHome) HotShard() kv.ShardID        { return 2 }
func (oneHome) Hotter(a, b kv.ShardID) bool { return a > b }
func (oneHome) Node(s kv.ShardID) kv.NodeID { return 1 }

// TestLargeValueStaysOnItsHomeShard: the move fails, its lock is released, and the hot shard
// receives nothing. A large value that is on the hot shard may move home.
func TestLargeValueStaysOnItsHomeShard(t *testing.T) {
	for _, test := range []struct {
		from, to kv.ShardID
		bytes    int
		moves    bool
	}{{0, 2, kv.MaxMovedBytes, true}, {0, 2, kv.MaxMovedBytes + 1, false}, {2, 0, kv.MaxMovedBytes + 1, true}} {
		g := NewGateway(Config{Node: 1, Router: oneHome{}})
		g.Move(0, "token", kv.TxnID{Time: 1}, []byte("k"), test.from, test.to, 1e9)
		q := msg.As[msg.Lock](g.Flush().Send[0])
		value := msg.Result{Found: true, Type: 2, Value: make([]byte, test.bytes)}
		g.Deliver(0, &msg.Envelope{Body: &msg.LockResponse{Txn: q.Txn, Number: q.Number, Shard: test.from, Incarnation: 1,
			Grants: []msg.Grant{{Start: q.Ops[0].Key, Number: 1}}, Results: []msg.Result{value}}})
		out := g.Flush()
		sent := ""
		for _, env := range out.Send {
			sent += env.Name() + " "
		}
		if test.moves {
			require.Contains(t, sent, "CommitRequest")
			continue
		}
		require.Equal(t, "Release ", sent)
		require.Len(t, out.Done, 1)
		require.ErrorContains(t, out.Done[0].Failure.Error(), "more than 1048576 bytes are not moved")
		require.NoError(t, g.CheckQuiescent())
	}
}
