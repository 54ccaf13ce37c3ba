package cli_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/server"
)

// TestReclaim: the command prints by how much the store shrank, and why if that is little.
func TestReclaim(t *testing.T) {
	n := start(t)
	n.run(t, "reclaim").fails(t, 2, "the store is in memory")
	run(t, "", "reclaim", "--addr", n.addr+","+n.addr).fails(t, 2, "--addr has 2 addresses")
	r := server.Reclaimed{Before: 200 << 20, After: 50 << 20, History: 10 * time.Minute}
	n.reclaim = func(_ context.Context, progress func(done, total int)) (server.Reclaimed, error) {
		progress(0, 3)
		progress(3, 3)
		return r, nil
	}
	require.Regexp(t, `^the store shrank by 150\.0 MiB \(157286400 bytes\), from 200\.0 MiB to 50\.0 MiB, in 0\.. s\n$`,
		n.run(t, "reclaim").ok(t))
	o := objects(t, n.run(t, "reclaim", "--output", "json").ok(t))[0]
	require.EqualValues(t, 150<<20, o["freed_bytes"])
	require.EqualValues(t, 3, o["ranges"])
	require.NotContains(t, o, "note")
	require.Contains(t, n.refused(t, syscall.ENOSPC, "json", [][]string{{"reclaim"}}), "the command has succeeded")

	r.After = r.Before + 1
	out := n.run(t, "reclaim").ok(t)
	require.Contains(t, out, "the store shrank by 0.0 MiB (0 bytes)")
	require.Contains(t, out, "\nnothing was freed; the store still holds data that was deleted or overwritten in the "+
		"last 10m0s")
	r.After, r.History = r.Before-5, 0
	require.Contains(t, n.run(t, "reclaim").ok(t),
		"\nlittle was freed; the store still holds data that named snapshots read\n")
}

// TestAnInterruptStopsAReclaim on the node, too.
func TestAnInterruptStopsAReclaim(t *testing.T) {
	n := start(t)
	ctx, interrupt := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	n.reclaim = func(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
		progress(0, 1)
		interrupt()
		<-ctx.Done()
		close(stopped)
		return server.Reclaimed{}, ctx.Err()
	}
	require.NotEqual(t, cli.ExitOK, cli.Main(ctx, cli.New(cli.Streams{In: nothing{}, Out: nothing{}, Err: nothing{}}),
		[]string{"reclaim", "--addr", n.addr}))
	<-stopped
}

// nothing is an empty input, and an output that is not looked at.
type nothing struct{}

func (nothing) Read([]byte) (int, error)    { return 0, nil }
func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// TestStatusShowsWhatCanBeReclaimed, unless it is next to nothing.
func TestStatusShowsWhatCanBeReclaimed(t *testing.T) {
	n := start(t)
	n.reclaimable = 1<<20 - 1
	require.NotContains(t, n.run(t, "status").ok(t), "reclaim")
	n.reclaimable = 150 << 20
	require.Contains(t, n.run(t, "status").ok(t),
		"\nabout 150.0 MiB of the store is deleted data; \"linchpin reclaim\" frees the space\n\nMEMBER")
	require.EqualValues(t, 150<<20, objects(t, n.run(t, "status", "-o", "json").ok(t))[0]["reclaimable_bytes"])
}
