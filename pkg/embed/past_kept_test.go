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
// them, though everything was written over and they were read by nobody.
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
	require.Eventually(t, func() bool { // the keeper was down for a time that it does not know
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

// TestReadingAsOfATime: the history begins by itself, and the answer names the
// state, by which it can be read again.
func TestReadingAsOfATime(t *testing.T) {
	c := start(t, embed.ClusterOptions{})
	require.Nil(t, execute(t, c, 1, put("a", "1"), put("b", "2")).Err)
	require.Eventually(t, func() bool {
		r := past(t, c, 2, txn.TxnOptions{At: txn.SnapshotRef{AsOf: time.Now().UnixNano()}})
		return r.Err == nil && string(r.Results[0].Value) == "1"
	}, 10*time.Second, 50*time.Millisecond, "nobody has fixed a state")
	then := time.Now().UnixNano()
	r := past(t, c, 2, txn.TxnOptions{At: txn.SnapshotRef{AsOf: then}})
	require.Equal(t, "12", values(t, r))
	require.LessOrEqual(t, r.Snapshot.Time, then)
	require.Nil(t, execute(t, c, 1, put("a", "3"), put("b", "4")).Err)
	for n := kv.NodeID(1); n <= 3; n++ {
		require.Equal(t, "12", values(t, past(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{AsOf: then}})))
		require.Equal(t, "12", values(t, past(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{Number: r.Snapshot.Number}})))
	}
	before := past(t, c, 1, txn.TxnOptions{At: txn.SnapshotRef{AsOf: then - int64(time.Hour)}})
	require.NotNil(t, before.Err)
	require.Equal(t, kv.KindTooOld, before.Err.Kind, "%v", before.Err)
}

// TestATokenRefusesAnOlderSnapshot: a token is of what its transaction saw or
// made, at whatever node. A snapshot that is older is refused before anything is
// read, and so is a token of a state that the cluster has not reached.
func TestATokenRefusesAnOlderSnapshot(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := start(t, embed.ClusterOptions{})
	require.Nil(t, execute(t, c, 1, put("a", "1"), put("b", "2")).Err)
	old, err := c.Node(2).Gateway().CreateSnapshot(ctx, "old", time.Hour)
	require.NoError(t, err)
	w := execute(t, c, 1, put("a", "3"), put("b", "4"))
	require.Nil(t, w.Err)
	after := msg.Clock([]msg.ShardCSN{w.CSN})
	_, err = c.Node(2).Gateway().CreateSnapshot(ctx, "new", time.Hour)
	require.NoError(t, err)
	unreached := msg.Clock([]msg.ShardCSN{{Shard: w.CSN.Shard, Index: w.CSN.Index + 1000}})
	foreign := msg.Clock([]msg.ShardCSN{{Shard: kv.MaxShards - 1, Index: 1}})
	for node := kv.NodeID(1); node <= 3; node++ {
		refused(t, "is older than the causality token",
			past(t, c, node, txn.TxnOptions{At: txn.SnapshotRef{Number: old.Number},
				After: after}))
		require.Equal(t, "34", values(t, past(t, c, node, txn.TxnOptions{At: txn.SnapshotRef{Name: "new"}, After: after})))
		present := past(t, c, node, txn.TxnOptions{After: after})
		require.Nil(t, present.Err, "%v", present.Err)
		require.Equal(t, "3", string(present.Results[0].Value))
		refused(t, "has not reached", past(t, c, node, txn.TxnOptions{After: unreached}))
		refused(t, "is older than the causality token", past(t, c, node, txn.TxnOptions{At: txn.SnapshotRef{Name: "new"},
			After: unreached}))
		refused(t, "does not have", past(t, c, node, txn.TxnOptions{After: foreign}))
	}
}

// refused checks that a transaction is rejected for its token, with a text.
func refused(t *testing.T, text string, r gateway.Response) {
	t.Helper()
	require.NotNil(t, r.Err)
	require.Equal(t, kv.KindInvalid, r.Err.Kind, "%v", r.Err)
	require.Contains(t, r.Err.Text, text)
	require.Empty(t, r.Results)
}
