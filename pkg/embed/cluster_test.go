package embed_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func start(t *testing.T, opt embed.ClusterOptions) *embed.Cluster {
	t.Helper()
	opt.Dir = t.TempDir()
	c, err := embed.StartCluster(opt)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Stop(ctx))
		require.NoError(t, c.Stop(ctx), "again")
	})
	return c
}

// connect returns a client of the nodes at addresses.
func connect(t *testing.T, addrs ...string) *client.DB {
	t.Helper()
	db, err := client.Open(context.Background(), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func execute(t *testing.T, c *embed.Cluster, node kv.NodeID, ops ...msg.Op) gateway.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.Node(node).Gateway().Execute(ctx, gateway.Request{Ops: ops})
}

func TestATransactionOnEveryShardFromEveryNode(t *testing.T) {
	c := start(t, embed.ClusterOptions{HotKeys: [][]byte{[]byte("hot")}})
	for n := kv.NodeID(1); n <= 3; n++ {
		r := execute(t, c, n,
			msg.Op{Kind: msg.OpPut, Key: []byte("a"), Value: []byte("1")},
			msg.Op{Kind: msg.OpPut, Key: []byte("b"), Value: []byte("2")},
			msg.Op{Kind: msg.OpPut, Key: []byte("c"), Value: []byte("3")},
			msg.Op{Kind: msg.OpAddGet, Key: []byte("hot"), Delta: 1},
			msg.Op{Kind: msg.OpAdd, Key: []byte("count"), Delta: 2})
		require.Nil(t, r.Err, "%v", r.Err)
		sum, err := adt.DecodeCounter(r.Results[3].Value)
		require.NoError(t, err)
		require.EqualValues(t, n, sum)
		r = execute(t, c, n, msg.Op{Kind: msg.OpScan, Key: []byte("a"), End: []byte("z")},
			msg.Op{Kind: msg.OpGet, Key: []byte("count")})
		require.Nil(t, r.Err, "%v", r.Err)
		require.Len(t, r.Results[0].Pairs, 5)
		sum, err = adt.DecodeCounter(r.Results[1].Value)
		require.NoError(t, err)
		require.EqualValues(t, 2*n, sum)
	}
}

func TestIDFromTheFarFutureIsRejected(t *testing.T) {
	c := start(t, embed.ClusterOptions{Nodes: 1})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, at := range []int64{time.Now().Add(time.Hour).UnixNano(), -1} {
		r := c.Node(1).Gateway().Execute(ctx, gateway.Request{ID: kv.TxnID{Time: at, Rand: 1},
			Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}})
		require.NotNil(t, r.Err)
		require.Equal(t, kv.KindInvalid, r.Err.Kind)
		_, err := c.Node(1).Gateway().Begin(ctx, gateway.TxOptions{ID: kv.TxnID{Time: at, Rand: 1}, Attempt: 1})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
}
