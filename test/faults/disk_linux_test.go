package faults

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// TestDiskReserveRejectsWrites: if the free space is below the reserve, a node rejects new writes,
// completes prepared transactions and serves reads. Nothing is lost or applied in part, and other nodes are
// not affected. When space is free again, all writes succeed.
func TestDiskReserveRejectsWrites(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{Replicas: 1, Args: []string{"--disk-reserve-mb", "8"}})
	small := c.Node(2)
	sandbox.MountSmall(t, small.Dir, 256<<20)
	c.Start(t)
	keys := proc.Keys(20)
	at := c.KeysByNode(t, keys)
	db := c.Open(t)
	put(t, db, "before", keys...)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: time.Second})
	run.Await(t, 100)

	remove := sandbox.Ballast(t, small.Dir, 6<<20)
	awaitMetric(t, small, "linchpin_store_full", isOne)
	free := sandbox.Free(t, small.Dir)
	noRetry := proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	for _, ops := range [][]client.Op{ // on one shard, on two nodes, and a read there with a write on another node
		{client.PutOp(at[2][0], nil)},
		{client.PutOp(at[2][0], nil), client.PutOp(at[0][0], nil)},
		{client.GetOp(at[2][0]), client.PutOp(at[0][0], nil)},
	} {
		e := requireKind(t, noRetry.Execute(proc.Context(t), ops...), client.KindResourceExhausted,
			"the disk is nearly full: ")
		require.NotZero(t, e.RetryAfter)
	}
	err := noRetry.Update(proc.Context(t),
		func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, at[2][0], nil) })
	requireKind(t, err, client.KindResourceExhausted, "the disk is nearly full: ")
	requireValues(t, noRetry, "before", keys...)
	put(t, db, "after", at[0]...)
	run.AwaitFailures(t, 12)
	awaitMetric(t, small, "linchpin_shard_prepared_transactions", isZero)
	awaitMetric(t, small, "linchpin_shard_disk_rejections_total", func(v float64) bool { return v >= 12 })
	// Up to 2 MiB of earlier writes may be flushed to a table meanwhile.
	require.Less(t, free-sandbox.Free(t, small.Dir), int64(3<<20), "new writes are rejected, but the disk fills up")
	awaitOutput(t, small, "disk space below the reserve")

	remove()
	awaitMetric(t, small, "linchpin_store_full", isZero)
	put(t, db, "after", keys...)
	run.Await(t, 100)
	requireValues(t, db, "after", keys...)
	deleteKeys(t, db, keys...)
	run.Finish(t)
	awaitOutput(t, small, "disk space recovered")
}

// TestFullDiskStopsNode: without a reserve, a node that cannot write its log exits with its own exit code
// and the reason. Started on a full disk it waits for space, and then has all acknowledged writes.
func TestFullDiskStopsNode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, 160<<20)
	n := proc.NewSingle(t, filepath.Join(dir, "store"), "--disk-reserve-mb", "0")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	f := &filler{db: db}
	require.NoError(t, f.run(t.Context(), 20)) // less than a memtable: no log can be reused
	remove := sandbox.Ballast(t, dir, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.run(ctx, 1000) }()
	require.Equal(t, pebblestore.ExitFatal, n.Wait(t))
	cancel()
	require.Error(t, awaitResult(t, ended, proc.WaitTimeout, "the writer"))
	require.Contains(t, n.Output.String(), "could not be written, and what it contains is unknown")
	require.Contains(t, n.Output.String(), noSpaceText)

	before := strings.Count(n.Output.String(), noSpaceText)
	n.Launch(t)
	proc.Until(t, "the node reports why it does not start", func(context.Context) bool {
		return strings.Count(n.Output.String(), noSpaceText) > before
	}, n.Output.String)
	require.True(t, n.Running(), "the node waits for space")
	remove()
	n.AwaitServing(t)
	f.check(t, proc.Open(t, []string{n.Addr}))
}

const noSpaceText = "no space left on device"

// filler writes unique keys.
type filler struct {
	db *client.DB
	// acked is the number of acknowledged writes: keys 1 to acked.
	acked int
}

func fillKey(i int) string { return fmt.Sprintf("fill/%06d", i) }

// run writes n more keys, and returns the first error.
func (f *filler) run(ctx context.Context, n int) error {
	value := make([]byte, 64<<10)
	for range n {
		key := fillKey(f.acked + 1)
		copy(value, key)
		if err := f.db.Put(ctx, key, value); err != nil {
			return err
		}
		f.acked++
	}
	return nil
}

// check requires that all acknowledged writes are there.
func (f *filler) check(t *testing.T, db *client.DB) {
	t.Helper()
	for i := 1; i <= f.acked; i++ {
		key := fillKey(i)
		require.True(t, strings.HasPrefix(string(value(t, db, key)), key), "the acknowledged write of %s is lost", key)
	}
	t.Logf("%d acknowledged writes", f.acked)
}
