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

// TestFileLimitKeepsStoreServing: a node with a low limit of open files reserves some for its store, and
// closes connections beyond the rest. Connected clients are served, whatever they write. When connections
// end, new ones are accepted.
func TestFileLimitKeepsStoreServing(t *testing.T) {
	t.Parallel()
	n := proc.NewSingle(t, filepath.Join(t.TempDir(), "store"))
	n.MaxFiles = 256
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	put(t, db, "before", proc.Keys(5)...)
	var conns []net.Conn
	t.Cleanup(func() { proc.CloseAll(conns) })
	for {
		conn, err := proc.DialIdle(n.Addr, proc.WaitTimeout)
		if err != nil {
			break
		}
		conns = append(conns, conn)
		require.Less(t, len(conns), n.MaxFiles, "no connection is rejected")
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := client.Open(short, []string{n.Addr})
	require.ErrorIs(t, err, client.ErrUnavailable)

	requireValues(t, db, "before", proc.Keys(5)...)
	large := make([]byte, 512<<10)
	for i := range 60 { // more than a memtable, so that files are created
		require.NoError(t, db.Put(proc.Context(t), fmt.Sprintf("large/%d", i), large))
	}
	proc.CloseAll(conns)
	awaitMetric(t, n, "linchpin_connections", func(v float64) bool { return v < 10 })
	requireValues(t, proc.Open(t, []string{n.Addr}), "before", proc.Keys(5)...)
	awaitMetric(t, n, "linchpin_connections_rejected_total", func(v float64) bool { return v >= 1 })
}

// manyIdle is the number of connections of TestIdleConnectionsHaveBoundedMemory, idleBytes the bound of the
// memory of each.
const (
	manyIdle  = 10_000
	idleBytes = 128 << 10
)

// TestIdleConnectionsHaveBoundedMemory: 10,000 idle connections use bounded memory and do not affect other
// clients. After they are closed, their files and goroutines are gone.
func TestIdleConnectionsHaveBoundedMemory(t *testing.T) {
	// The default budget of a machine with less than 10 GiB admits fewer connections.
	n := proc.NewSingle(t, filepath.Join(t.TempDir(), "store"), "--memory-budget", "6GiB")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	put(t, db, "value", proc.Keys(5)...)
	before, err := n.Metrics(proc.Context(t))
	require.NoError(t, err)
	if most := before["process_max_fds"]; most < manyIdle+2000 {
		t.Skipf("the limit of open files is %v, which is too low", most)
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
	with, err := n.Metrics(proc.Context(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, with["linchpin_connections"], float64(manyIdle))
	resident := (with["process_resident_memory_bytes"] - before["process_resident_memory_bytes"]) / manyIdle
	t.Logf("each connection uses %.1f KiB of memory and %.2f goroutines", resident/1024,
		(with["go_goroutines"]-before["go_goroutines"])/manyIdle)
	require.Less(t, resident, float64(idleBytes))
	requireValues(t, db, "value", proc.Keys(5)...)
	put(t, proc.Open(t, []string{n.Addr}), "value", proc.Keys(5)...)

	proc.CloseAll(conns)
	awaitMetric(t, n, "linchpin_connections", func(v float64) bool { return v < 20 })
	awaitMetric(t, n, "go_goroutines", func(v float64) bool { return v < before["go_goroutines"]+50 })
	awaitMetric(t, n, "process_open_fds", func(v float64) bool { return v < before["process_open_fds"]+50 })
}
