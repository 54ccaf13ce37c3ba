package embed_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// past reads two keys in a state of the past, at a node.
func past(t *testing.T, c *embed.Cluster, node kv.NodeID, how txn.TxnOptions) gateway.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.Node(node).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{get("a"), get("b")}, How: how})
}

func values(t *testing.T, r gateway.Response) string {
	t.Helper()
	require.Nil(t, r.Err, "%v", r.Err)
	require.NotNil(t, r.Snapshot)
	return string(r.Results[0].Value) + string(r.Results[1].Value)
}

// TestSnapshotsSurviveARestart: of the whole cluster, and what they keep with
// them, though everything was written over and they were not read.
func TestSnapshotsSurviveARestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	opt := embed.ClusterOptions{Dir: t.TempDir()}
	c, err := embed.StartCluster(opt)
	require.NoError(t, err)
	require.Nil(t, execute(t, c, 1, put("a", "1"), put("b", "2")).Err)
	kept, err := c.Node(2).Gateway().CreateSnapshot(ctx, "kept", time.Hour)
	require.NoError(t, err)
	short, err := c.Node(2).Gateway().CreateSnapshot(ctx, "short", 50*time.Millisecond)
	require.NoError(t, err)
	require.Nil(t, execute(t, c, 1, put("a", "3"), put("b", "4")).Err)
	require.Equal(t, "12", values(t, past(t, c, 3, txn.TxnOptions{At: txn.SnapshotRef{Name: "kept"}})))
	require.NoError(t, c.Stop(ctx))

	c, err = embed.StartCluster(opt)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Stop(ctx)) }()
	for n := kv.NodeID(1); n <= 3; n++ {
		require.Nil(t, execute(t, c, n, put("a", "5"), put("b", "6")).Err)
		require.Equal(t, "12", values(t, past(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{Name: "kept"}})))
		r := past(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{Number: kept.Number}})
		require.Equal(t, "12", values(t, r))
		require.Equal(t, kept.Clock, r.Snapshot.Clock)
	}
	var r gateway.Response
	require.Eventually(t, func() bool { // the registry was down for a time that it does not know
		r = past(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{Number: short.Number}})
		return r.Err != nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, kv.KindTooOld, r.Err.Kind, "%v", r.Err)
	r = past(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{Name: "short"}})
	require.NotNil(t, r.Err)
	require.Equal(t, kv.KindNotFound, r.Err.Kind, "%v", r.Err)
	l, err := c.Node(3).Gateway().Snapshots(ctx)
	require.NoError(t, err)
	require.Len(t, l, 1)
	require.Equal(t, "kept", l[0].Name)
}
