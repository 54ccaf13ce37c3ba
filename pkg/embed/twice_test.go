package embed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// sentAgain is a transaction that adds 1 to counters, which are new.
type sentAgain struct {
	t    *testing.T
	c    *embed.Cluster
	id   kv.TxnID
	keys []string
}

// send sends it to a node.
func (s *sentAgain) send(node kv.NodeID) gateway.Response {
	s.t.Helper()
	var ops []msg.Op
	for _, k := range s.keys {
		ops = append(ops, msg.Op{Kind: msg.OpAddGet, Key: []byte(k), Delta: 1})
	}
	r := s.c.Node(node).Gateway().Execute(soon(s.t), gateway.Request{ID: s.id, Ops: ops})
	require.Nil(s.t, r.Err, "%v", r.Err)
	for i, k := range s.keys {
		got := execute(s.t, s.c, node, get(k))
		require.Nil(s.t, got.Err, "%v", got.Err)
		sum, err := adt.DecodeCounter(got.Results[0].Value)
		require.NoError(s.t, err)
		require.EqualValues(s.t, 1, sum, "key %d", i)
	}
	return r
}

// TestAnIDThatIsSentAgainCommitsOnce, also at another node, and when one of its keys has moved to the hot
// shard or back, so that another shard decides, which may have applied it or had no part in it.
func TestAnIDThatIsSentAgainCommitsOnce(t *testing.T) {
	t.Parallel()
	c := start(t, embed.ClusterOptions{Nodes: 2, Shards: 4, NoSync: true,
		Protocol: embed.Protocol{Hot: hotshard.ModePinned}})
	for n, keys := range [][]string{{"one"}, {"a1", "b1"}, {"b2", "a2"}, {"c1", "d1", "e1", "f1"}} {
		for _, moves := range []hotshard.Order{hotshard.Free, hotshard.Pin, hotshard.Ban} {
			s := &sentAgain{t: t, c: c, id: kv.TxnID{Time: time.Now().UnixNano(), Rand: uint64(n)}}
			for _, k := range keys {
				s.keys = append(s.keys, fmt.Sprint(k, moves))
			}
			s.sendAndMove(moves)
			o, err := c.Node(2).Gateway().Outcome(soon(t), s.id, 0)
			require.NoError(t, err)
			require.True(t, o.Committed)
		}
	}
}

// sendAndMove sends it, and again: at once, and when a key has moved, to the hot shard (Pin) or from there
// (Ban). A key that stays has not moved.
func (s *sentAgain) sendAndMove(order hotshard.Order) {
	moving := s.keys[:len(s.keys)-1]
	if order == hotshard.Ban {
		for _, k := range moving {
			ruled(s.t, s.c, hotshard.Pin, k)
		}
	}
	first := s.send(1)
	for node := kv.NodeID(1); node <= 2; node++ {
		again := s.send(node)
		require.Equal(s.t, first.Results, again.Results, "the same shard decides, and answers as before")
		require.False(s.t, again.ResultsLost)
	}
	for _, k := range moving {
		if order != hotshard.Free {
			ruled(s.t, s.c, order, k)
		}
		s.send(1)
		s.send(2)
	}
}
