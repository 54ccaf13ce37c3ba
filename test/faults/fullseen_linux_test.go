package faults

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

// command runs the program against a node.
func command(t *testing.T, n *proc.Node, args ...string) (code int, out string) {
	t.Helper()
	cmd := proc.Command(soon(t), proc.Build(t).Linchpin, append(args, "--addr", n.Addr)...)
	raw, _ := cmd.CombinedOutput() // the exit code tells
	return cmd.ProcessState.ExitCode(), string(raw)
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

// TestFullDiskIsSeen: whoever asks a node that refuses writes for want of room is told so,
// with how much there is and how much is kept free, and a client that writes hears it at
// once. With no room left at all the node stops cleanly, and started again it has
// everything.
func TestFullDiskIsSeen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, 256<<20)
	n := single(t, filepath.Join(dir, "store"), "--disk-reserve-mb", "64")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}) // which tries again
	keys := keysOf(50)
	put(t, db, "before", keys...)
	code, out := command(t, n, "health")
	require.Zero(t, code, out)
	require.Contains(t, out, "node n1 is serving\n")
	_, out = command(t, n, "status")
	require.Contains(t, out, "disk: ")

	giveBack := sandbox.Ballast(t, dir, 12<<20)
	awaitMetric(t, n, "linchpin_store_full", func(v float64) bool { return v == 2 })
	const words, reserve = "64.0 MiB (--disk-reserve-mb)", "the reserve of 64.0 MiB (--disk-reserve-mb)"
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	defer cancel()
	e := failsAs(t, db.Put(ctx, "new", nil), client.KindResourceExhausted, "the disk is nearly full: node n1 has ")
	require.Contains(t, e.Error(), words)
	require.Equal(t, 10*time.Second, e.RetryAfter)
	require.Less(t, proc.Elapsed(begin), 2*time.Second, "it is not tried again")
	got(t, db, "before", keys...)

	code, out = command(t, n, "health")
	require.Zero(t, code, out)
	require.Contains(t, out, "node n1 is serving, but rejects all writes")
	require.Contains(t, out, reserve)
	code, out = command(t, n, "health", "--writes")
	require.Equal(t, 4, code, out)
	require.Contains(t, out, reserve)
	_, out = command(t, n, "status")
	require.Contains(t, out, "up (this node), rejects all writes")
	require.Contains(t, out, reserve)
	code, out = get(t, "http://"+n.HTTP+"/readyz")
	require.Equal(t, http.StatusOK, code, out)
	require.Contains(t, out, "ok, but all writes are rejected: node n1 has ")
	code, out = get(t, "http://"+n.HTTP+"/readyz?writes")
	require.Equal(t, http.StatusServiceUnavailable, code, out)
	require.Contains(t, out, words)
	code, out = get(t, "http://"+n.HTTP+"/console/api/v1/snapshot")
	require.Equal(t, http.StatusOK, code, out)
	require.Contains(t, out, `"rejects":"all writes"`)
	require.Contains(t, out, "Node n1 rejects all writes: its disk has ")

	more := sandbox.Ballast(t, dir, 0)
	begin = time.Now()
	require.Zero(t, n.Stop(t), n.Output.String())
	require.Less(t, time.Since(begin), 15*time.Second)
	require.True(t, n.HasWritten("the next start replays the log"), n.Output.String())
	more()
	giveBack()
	n.Start(t)
	db = proc.Open(t, []string{n.Addr})
	got(t, db, "before", keys...)
	put(t, db, "after", keys...)
}
