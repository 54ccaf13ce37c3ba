package faults

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestOutOfFiles: a node that may have few files keeps some for its store, and
// closes the connections for which there is none. Who is connected is served,
// however much is written; when others go, there is room for new ones.
func TestOutOfFiles(t *testing.T) {
	t.Parallel()
	n := single(t, filepath.Join(t.TempDir(), "store"))
	n.MaxFiles = 256
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	put(t, db, "before", keysOf(5)...)
	var conns []net.Conn
	t.Cleanup(func() { proc.CloseAll(conns) })
	for {
		conn, err := proc.DialIdle(n.Addr, proc.WaitTimeout)
		if err != nil {
			break
		}
		conns = append(conns, conn)
		require.Less(t, len(conns), n.MaxFiles, "no connection is refused")
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := client.Open(short, []string{n.Addr})
	require.ErrorIs(t, err, client.ErrUnavailable)

	got(t, db, "before", keysOf(5)...)
	large := make([]byte, 512<<10)
	for i := range 60 { // more than a memtable: files are made
		require.NoError(t, db.Put(soon(t), fmt.Sprintf("large/%d", i), large))
	}
	proc.CloseAll(conns)
	awaitMetric(t, n, "linchpin_connections", func(v float64) bool { return v < 10 })
	got(t, proc.Open(t, []string{n.Addr}), "before", keysOf(5)...)
	awaitMetric(t, n, "linchpin_connections_rejected_total", func(v float64) bool { return v >= 1 })
}

// manyIdle is how many connections TestManyIdleConnections opens, and
// idleBytes is how much memory each may take.
const (
	manyIdle  = 10_000
	idleBytes = 128 << 10
)

// TestManyIdleConnections: ten thousand connections on which nothing happens
// cost memory, which is counted, and nobody else; when they have gone, so have
// their files and goroutines.
func TestManyIdleConnections(t *testing.T) {
	// By default a machine of less than ten GiB has places for fewer.
	n := single(t, filepath.Join(t.TempDir(), "store"), "--memory-budget", "6GiB")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	put(t, db, "value", keysOf(5)...)
	before, err := n.Metrics(soon(t))
	require.NoError(t, err)
	if most := before["process_max_fds"]; most < manyIdle+2000 {
		t.Skipf("processes may have %v files here, which are too few", most)
	}
	conns := make([]net.Conn, manyIdle)
	var dialers errgroup.Group
	dialers.SetLimit(32)
	for i := range conns {
		dialers.Go(func() (err error) {
			conns[i], err = proc.DialIdle(n.Addr, proc.WaitTimeout)
			return err
		})
	}
	err = dialers.Wait()
	t.Cleanup(func() { proc.CloseAll(conns) })
	require.NoError(t, err)
	with, err := n.Metrics(soon(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, with["linchpin_connections"], float64(manyIdle))
	resident := (with["process_resident_memory_bytes"] - before["process_resident_memory_bytes"]) / manyIdle
	t.Logf("each takes %.1f KiB of memory and %.2f goroutines", resident/1024, (with["go_goroutines"]-before["go_goroutines"])/manyIdle)
	require.Less(t, resident, float64(idleBytes))
	got(t, db, "value", keysOf(5)...)
	put(t, proc.Open(t, []string{n.Addr}), "value", keysOf(5)...)

	proc.CloseAll(conns)
	awaitMetric(t, n, "linchpin_connections", func(v float64) bool { return v < 20 })
	awaitMetric(t, n, "go_goroutines", func(v float64) bool { return v < before["go_goroutines"]+50 })
	awaitMetric(t, n, "process_open_fds", func(v float64) bool { return v < before["process_open_fds"]+50 })
}
