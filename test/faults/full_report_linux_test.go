package faults

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

// TestFullDiskIsReported: if a node rejects writes for lack of disk space, health checks, status, console
// and the errors of writes report it at once, with the free space and the reserve. With no free space at
// all the node stops cleanly, and after a restart it has all acknowledged writes.
func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, 256<<20)
	n := proc.NewSingle(t, filepath.Join(dir, "store"), "--disk-reserve-mb", "64")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}) // retries
	keys := proc.Keys(50)
	put(t, db, "before", keys...)
	code, out := proc.Exec(t, "health", "--addr", n.Addr)
	require.Zero(t, code, out)
	require.Contains(t, out, "node n1 is serving\n")
	_, out = proc.Exec(t, "status", "--addr", n.Addr)
	require.Contains(t, out, "disk: ")

	remove := sandbox.Ballast(t, dir, 12<<20)
	awaitMetric(t, n, "linchpin_store_full", func(v float64) bool { return v == 2 })
	const words, reserve = "64.0 MiB (--disk-reserve-mb)", "the reserve of 64.0 MiB (--disk-reserve-mb)"
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	defer cancel()
	e := requireKind(t, db.Put(ctx, "new", nil), client.KindResourceExhausted, "the disk is nearly full: node n1 has ")
	require.Contains(t, e.Error(), words)
	require.Equal(t, 10*time.Second, e.RetryAfter)
	require.Less(t, proc.Elapsed(begin), 2*time.Second, "the write is not retried")
	requireValues(t, db, "before", keys...)

	code, out = proc.Exec(t, "health", "--addr", n.Addr)
	require.Zero(t, code, out)
	require.Contains(t, out, "node n1 is serving, but rejects all writes")
	require.Contains(t, out, reserve)
	code, out = proc.Exec(t, "health", "--writes", "--addr", n.Addr)
	require.Equal(t, 4, code, out)
	require.Contains(t, out, reserve)
	_, out = proc.Exec(t, "status", "--addr", n.Addr)
	require.Contains(t, out, "up (this node), rejects all writes")
	require.Contains(t, out, reserve)
	code, out, err := n.Get(proc.Context(t), "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, out)
	require.Contains(t, out, "ok, but all writes are rejected: node n1 has ")
	code, out, err = n.Get(proc.Context(t), "/readyz?writes")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, code, out)
	require.Contains(t, out, words)
	code, out, err = n.Get(proc.Context(t), "/console/api/v1/snapshot")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, out)
	require.Contains(t, out, `"rejects":2`)
	require.Contains(t, out, "Node n1 rejects all writes: its disk has ")

	removeRest := sandbox.Ballast(t, dir, 0)
	begin = time.Now()
	require.Zero(t, n.Stop(t), n.Output.String())
	require.Less(t, time.Since(begin), 15*time.Second)
	require.True(t, n.HasWritten("the next start replays the log"), n.Output.String())
	removeRest()
	remove()
	n.Start(t)
	db = proc.Open(t, []string{n.Addr})
	requireValues(t, db, "before", keys...)
	put(t, db, "after", keys...)
}
