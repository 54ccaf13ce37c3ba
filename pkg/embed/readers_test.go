package embed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// shown sums up a metric over the nodes and over the labels that are not
// asked for.
func shown(t *testing.T, c *embed.Cluster, nodes int, name string, labels ...string) (sum float64) {
	t.Helper()
	for n := kv.NodeID(1); int(n) <= nodes; n++ {
		families, err := c.Metrics(n).Registry().Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				if has(m, labels) {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return sum
}

func has(m *dto.Metric, labels []string) bool {
	for _, want := range labels {
		name, value, _ := strings.Cut(want, "=")
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == name && l.GetValue() == value
		}
		if !found {
			return false
		}
	}
	return true
}

func get(key string) msg.Op { return msg.Op{Kind: msg.OpGet, Key: []byte(key)} }
func put(key, value string) msg.Op {
	return msg.Op{Kind: msg.OpPut, Key: []byte(key), Value: []byte(value)}
}

// TestPlansAreInTheMetrics: each way to read is counted, and in the answer.
func TestPlansAreInTheMetrics(t *testing.T) {
	c := start(t, embed.ClusterOptions{HotKeys: [][]byte{[]byte("hot")}})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.Nil(t, execute(t, c, 1, put("a", "1"), put("b", "2"), put("hot", "3")).Err)
	g := c.Node(2).Gateway()
	read := func(how txn.TxnOptions, ops ...msg.Op) txn.Plan {
		r := g.Execute(ctx, gateway.Request{Ops: ops, How: how})
		require.Nil(t, r.Err, "%v", r.Err)
		return r.Plan
	}
	require.Equal(t, txn.PlanOneShard, read(txn.TxnOptions{}, get("a")))
	require.Equal(t, txn.PlanParallel, read(txn.TxnOptions{Plan: txn.PlanParallel}, get("a"), get("b"), get("hot")))
	require.Equal(t, txn.PlanHotLast, read(txn.TxnOptions{Plan: txn.PlanHotLast}, get("a"), get("b"), get("hot")))
	require.Equal(t, txn.PlanSnapshot, read(txn.TxnOptions{Plan: txn.PlanSnapshot}, get("a"), get("b")))
	p, err := g.CreateSnapshot(ctx, "s", time.Hour)
	require.NoError(t, err)
	require.Equal(t, txn.PlanSnapshot, read(txn.TxnOptions{At: txn.SnapshotRef{Number: p.Number}}, get("a")))
	require.NoError(t, g.Scan(ctx, gateway.ScanOptions{}, func([]msg.Pair) error { return nil }))
	tx, err := g.Begin(ctx, gateway.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	_, err = tx.Do(ctx, []msg.Op{get("a")})
	require.NoError(t, err)
	require.Equal(t, txn.PlanInteractive, tx.Commit(ctx).Plan)

	for plan, want := range map[string]float64{"one-shard": 1, "parallel": 1, "hot-last": 1, "snapshot": 3,
		"interactive": 1, "locked": 0} {
		require.Equal(t, want, shown(t, c, 3, "linchpin_read_only_transactions_total", "plan="+plan), plan)
	}
	require.GreaterOrEqual(t, shown(t, c, 3, "linchpin_shard_snapshot_reads_total"), 2.0)
	require.Equal(t, 1.0, shown(t, c, 3, "linchpin_snapshots", "kind=named"))
	require.GreaterOrEqual(t, shown(t, c, 3, "linchpin_gateway_snapshot_rounds_total"), 3.0)
	require.Positive(t, shown(t, c, 3, "linchpin_oldest_snapshot_age_seconds"))
	for n := kv.NodeID(1); n <= 3; n++ {
		problems, err := testutil.GatherAndLint(c.Metrics(n).Registry())
		require.NoError(t, err)
		require.Empty(t, problems)
	}

	locking := start(t, embed.ClusterOptions{Nodes: 1, Protocol: embed.Protocol{Reads: txn.LockingReads}})
	require.Nil(t, execute(t, locking, 1, get("a"), get("b")).Err)
	require.Equal(t, 1.0, shown(t, locking, 1, "linchpin_read_only_transactions_total", "plan=locked"))
}

// TestWaitsOfReadersAreReportedAndCounted: an update that an open reader holds, and
// a reader that waits for an update, say so in their receipts, and the metrics
// count them.
func TestWaitsOfReadersAreReportedAndCounted(t *testing.T) {
	c := start(t, embed.ClusterOptions{Delay: 2 * time.Millisecond})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.Nil(t, execute(t, c, 1, put("a", "1"), put("b", "2"), put("c", "3")).Err)

	tx, err := c.Node(2).Gateway().Begin(ctx, gateway.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	_, err = tx.Do(ctx, []msg.Op{get("a"), get("b"), get("c")})
	require.NoError(t, err)
	held := execute(t, c, 1, put("a", "4"), put("b", "5"), put("c", "6")) // the reader is pinned meanwhile
	require.Nil(t, held.Err)
	require.Greater(t, held.Receipt.WaitedNanos, int64(time.Millisecond))
	require.Contains(t, []string{"a", "b", "c"}, string(held.Receipt.Key))
	require.Zero(t, held.Receipt.Holder)
	require.Nil(t, tx.Commit(ctx).Err)
	require.Positive(t, shown(t, c, 3, "linchpin_shard_holds_total"))
	require.Positive(t, shown(t, c, 3, "linchpin_shard_hold_seconds_total"))

	stop := make(chan struct{})
	done := make(chan map[kv.TxnID]bool)
	go func() { // updates without end
		ids := map[kv.TxnID]bool{}
		for {
			select {
			case <-stop:
				done <- ids
				return
			default:
				r := c.Node(1).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{put("a", "7"), put("b", "8"), put("c", "9")}})
				ids[r.ID] = true
			}
		}
	}()
	var reported msg.Receipt
	for reported.WaitedNanos == 0 && ctx.Err() == nil {
		r := c.Node(3).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{get("a"), get("b"), get("c")}})
		require.Nil(t, r.Err, "%v", r.Err)
		reported = r.Receipt
	}
	close(stop)
	updates := <-done
	require.Positive(t, reported.WaitedNanos)
	require.Contains(t, []string{"a", "b", "c"}, string(reported.Key))
	require.True(t, updates[reported.Holder.TxnID], "the receipt names %v, which is none of the updates", reported.Holder)
	require.Positive(t, shown(t, c, 3, "linchpin_shard_read_waits_total"))
	require.Positive(t, shown(t, c, 3, "linchpin_shard_read_wait_seconds_total"))
}
