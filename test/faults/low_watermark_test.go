package faults

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// raiseLowWatermarks sets the low watermark of ids of the shards of a stopped node, and deletes the
// outcomes below it, as if its clock had been ahead. It returns the number of shards.
func raiseLowWatermarks(t *testing.T, n *proc.Node, watermark time.Time) (raised int) {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(n.Dir, "data"), pebblestore.Small())
	require.NoError(t, err)
	for id := range kv.ShardID(64) {
		var rec shard.Recovered
		require.NoError(t, s.Recover(id, rec.Add))
		if rec.State.Incarnation == 0 {
			continue
		}
		raised++
		rec.State.LowWatermark = watermark.UnixNano()
		row, err := rec.State.Marshal()
		require.NoError(t, err)
		key := kv.TxnID{Time: watermark.UnixNano()}
		name := make([]byte, key.Size())
		_, err = key.MarshalTo(name)
		require.NoError(t, err)
		at, err := s.Append([]entry.Group{{Shard: id, Entries: []entry.Entry{
			{Action: entry.DeleteBelow, Table: entry.TableOutcome, Key: name},
			{Table: entry.TableState, Value: row},
		}}})
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(at))
	}
	require.NoError(t, s.Close())
	return raised
}

// TestLowWatermarkInFuture: one of three nodes has a low watermark of ids that is a day ahead, as older
// versions had if the clock was ahead for a second. After a restart with correct clocks, writes succeed
// within seconds at each node and on all shards. A committed transaction is not reported as aborted.
func TestLowWatermarkInFuture(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1})
	db := proc.Open(t, c.Addrs())
	keys := proc.Keys(40)
	put(t, db, "before", keys...)
	ops := []client.Op{}
	for _, k := range keys {
		ops = append(ops, client.PutOp(k, []byte("all")))
	}
	var last client.Report
	require.NoError(t, db.With(client.ReportTo(&last)).Execute(proc.Context(t), ops...))
	for _, n := range c.Nodes() {
		require.Zero(t, n.Stop(t))
	}
	require.Positive(t, raiseLowWatermarks(t, c.Node(1), time.Now().Add(24*time.Hour)))
	c.Start(t)
	begin := time.Now()
	for _, n := range c.Nodes() {
		nodeDB := proc.Open(t, []string{n.Addr})
		var err error
		proc.Until(t, "writes succeed", func(ctx context.Context) bool {
			err = nodeDB.Execute(ctx, ops...) // on all shards
			return err == nil
		}, func() string { return err.Error() })
	}
	require.Less(t, proc.Elapsed(begin), 10*time.Second)
	for _, n := range c.Nodes() {
		nodeDB := proc.Open(t, []string{n.Addr})
		put(t, nodeDB, "after", keys...)
		require.NoError(t, nodeDB.Execute(proc.Context(t), ops...))
	}
	put(t, db, "again", keys...) // by a client that synchronized its clock before the restart
	outcome, err := db.Outcome(proc.Context(t), last.TxID, ops...)
	require.True(t, outcome == client.Committed || client.KindOf(err) == client.KindTooOld, "%v: %v", outcome, err)
	c.Node(1).AwaitOutput(t, "transaction ids run ahead of the wall clock")
}
