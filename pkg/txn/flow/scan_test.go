package flow

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// oneShard is a cluster of one shard.
type oneShard struct{}

func (oneShard) Shard([]byte) kv.ShardID     { return 0 }
func (oneShard) Shards() int                 { return 1 }
func (oneShard) HotShard() kv.ShardID        { return 0 }
func (oneShard) Hotter(a, _ kv.ShardID) bool { return a > 0 }
func (oneShard) Node(kv.ShardID) kv.NodeID   { return 1 }

// TestPageNumbersDoNotWrap: a scan continues at a gateway that has requested 2^32-1 pages. Number 0
// in a ReadPage reads nothing and has no response, and the numbers from 1 on may be of other scans.
func TestPageNumbersDoNotWrap(t *testing.T) {
	gw := NewGateway(env.New(env.Config{Node: 1, Router: oneShard{}}), func(func(Flow)) {})
	gw.pageNumber = math.MaxUint32
	s := NewScan(gw, "open", kv.TxnID{Time: 1}, kv.Range([]byte{}, nil), false, 1e9, TxnOptions{})
	s.SetSnapshot(s.Ref, &vclock.Clock{}, nil, gw.EveryShard())
	require.Equal(t, Continue, s.onOpened(gw))
	pair := msg.Pair{Key: []byte("k")}
	for range 2 {
		gw.Out = nil
		_, ok := s.Next(gw, "next", 1)
		require.True(t, ok)
		require.Len(t, gw.Out, 1)
		b, err := gw.Out[0].Marshal()
		require.NoError(t, err)
		var sent msg.Envelope
		require.NoError(t, sent.Unmarshal(b))
		q := msg.As[msg.ReadPage](&sent)
		require.Greater(t, q.Number, uint64(math.MaxUint32))
		require.Same(t, s, gw.Pages[q.Number])
		s.OnPage(gw, &msg.ReadPageResponse{Txn: q.Txn, Number: q.Number, Pairs: []msg.Pair{pair}, Resume: []byte("l")})
		done := gw.Done[len(gw.Done)-1]
		require.Equal(t, []msg.Pair{pair}, done.Pairs)
		require.True(t, done.More)
		require.Empty(t, gw.Pages)
	}
}
