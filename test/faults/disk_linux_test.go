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

// TestDiskReserve: with less free than the reserve, a node refuses new writes,
// decides what is prepared, and serves reads; nothing is lost or half done, the
// other nodes serve theirs, and with room again all is as before.
func TestDiskReserve(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{Args: []string{"--disk-reserve-mb", "8"}})
	small := c.Node(2)
	sandbox.MountSmall(t, small.Dir, 256<<20)
	c.Start(t)
	keys := keysOf(20)
	at := c.KeysByNode(t, keys)
	db := c.Open(t)
	put(t, db, "before", keys...)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: time.Second})
	run.Await(t, 100)

	giveBack := sandbox.Ballast(t, small.Dir, 6<<20)
	awaitMetric(t, small, "linchpin_store_full", isOne)
	free := sandbox.Free(t, small.Dir)
	hasty := proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	for _, ops := range [][]client.Op{ // alone, with a shard of another node, and reading there
		{client.PutOp(at[2][0], nil)},
		{client.PutOp(at[2][0], nil), client.PutOp(at[0][0], nil)},
		{client.GetOp(at[2][0]), client.PutOp(at[0][0], nil)},
	} {
		e := failsAs(t, hasty.Execute(soon(t), ops...), client.KindResourceExhausted, "the disk is nearly full: ")
		require.NotZero(t, e.RetryAfter)
	}
	err := hasty.Update(soon(t), func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, at[2][0], nil) })
	failsAs(t, err, client.KindResourceExhausted, "the disk is nearly full: ")
	got(t, hasty, "before", keys...)
	put(t, db, "after", at[0]...)
	run.AwaitFailures(t, 12)
	awaitMetric(t, small, "linchpin_shard_prepared_transactions", isZero)
	awaitMetric(t, small, "linchpin_shard_disk_rejections_total", func(v float64) bool { return v >= 12 })
	// A memtable of what was written before, of up to 2 MiB, may become a table meanwhile.
	require.Less(t, free-sandbox.Free(t, small.Dir), int64(3<<20), "though new writes are refused, the disk fills up")
	awaitOutput(t, small, "disk space below the reserve")

	giveBack()
	awaitMetric(t, small, "linchpin_store_full", isZero)
	put(t, db, "after", keys...)
	run.Await(t, 100)
	got(t, db, "after", keys...)
	forget(t, db, keys...)
	run.Finish(t)
	awaitOutput(t, small, "disk space recovered")
}

// TestDiskFull: without a reserve, a node whose log finds no room ends with an
// exit code of its own and says why. Started without room it waits for some,
// and then has all that was acknowledged.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, 160<<20)
	n := single(t, filepath.Join(dir, "store"), "--disk-reserve-mb", "0")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	f := &filling{db: db}
	require.NoError(t, f.run(t.Context(), 20)) // less than a memtable: no log is free to be used again
	giveBack := sandbox.Ballast(t, dir, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.run(ctx, 1000) }()
	require.Equal(t, pebblestore.ExitFatal, n.Wait(t))
	cancel()
	require.Error(t, waitFor(t, ended, proc.WaitTimeout, "the writer"))
	require.Contains(t, n.Output.String(), "could not be written, and what it contains is unknown")
	require.Contains(t, n.Output.String(), noSpace)

	before := strings.Count(n.Output.String(), noSpace)
	n.Launch(t)
	proc.Until(t, "the node says why it does not start", func(context.Context) bool {
		return strings.Count(n.Output.String(), noSpace) > before
	}, n.Output.String)
	require.True(t, n.Running(), "it waits")
	giveBack()
	n.AwaitServing(t)
	f.check(t, proc.Open(t, []string{n.Addr}))
}

const noSpace = "no space left on device"

// filling writes keys, each once.
type filling struct {
	db *client.DB
	// acknowledged are keys 1 to that.
	acknowledged int
}

func fillKey(i int) string { return fmt.Sprintf("fill/%06d", i) }

// run writes n more keys, and ends when one fails.
func (f *filling) run(ctx context.Context, n int) error {
	value := make([]byte, 64<<10)
	for range n {
		key := fillKey(f.acknowledged + 1)
		copy(value, key)
		if err := f.db.Put(ctx, key, value); err != nil {
			return err
		}
		f.acknowledged++
	}
	return nil
}

// check requires that all that was acknowledged is there.
func (f *filling) check(t *testing.T, db *client.DB) {
	t.Helper()
	for i := 1; i <= f.acknowledged; i++ {
		key := fillKey(i)
		require.True(t, strings.HasPrefix(string(value(t, db, key)), key), "what was acknowledged for %s is lost", key)
	}
	t.Logf("%d acknowledged writes are there", f.acknowledged)
}
