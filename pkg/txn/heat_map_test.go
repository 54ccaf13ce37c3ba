package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestLateHeatMapIsIgnored: a heat map of an earlier incarnation of the hot shard, or an older one,
// does not replace a newer one. The choice of the last agent shows which one is used.
func TestLateHeatMapIsIgnored(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: router3{}})
	ids := int64(0)
	lastAgent := func() kv.ShardID {
		ids++
		put := func(key string) msg.Op { return msg.Op{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v")} }
		g.Execute(0, "token", kv.TxnID{Time: ids}, []msg.Op{put("a"), put("b")}, 1e9, TxnOptions{})
		for _, e := range g.Flush().Send {
			if msg.Is[msg.CommitRequest](e) {
				return e.Shard
			}
		}
		require.Fail(t, "no commit request")
		return 0
	}
	receive := func(inc kv.Incarnation, number uint64, hot string) {
		e := msg.ToGateway(1)
		e.Body = &msg.HeatMap{Incarnation: inc, Number: number, Keys: []msg.KeyHeat{{Key: []byte(hot), Heat: 10}}}
		g.Deliver(0, e)
	}
	require.Equal(t, kv.ShardID(1), lastAgent())
	receive(2, 5, "a")
	require.Equal(t, kv.ShardID(0), lastAgent())
	for _, late := range []struct {
		inc    kv.Incarnation
		number uint64
	}{{2, 4}, {2, 5}, {1, 100}} {
		receive(late.inc, late.number, "b")
		require.Equal(t, kv.ShardID(0), lastAgent(), late)
	}
	receive(2, 6, "b")
	require.Equal(t, kv.ShardID(1), lastAgent())
	receive(3, 1, "a")
	require.Equal(t, kv.ShardID(0), lastAgent(), "numbers begin anew with an incarnation")
}

// router3 places keys that begin with a on s0, and with b on s1. s2 is the hot shard.
type router3 struct{ oneHome }

func (router3) Shard(key []byte) kv.ShardID { return kv.ShardID(key[0] - 'a') }
