package pebblestore

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// tableless is a disk that has room for logs alone while it is full.
type tableless struct {
	vfs.FS
	full  atomic.Bool
	tries atomic.Int64
}

func (d *tableless) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") && d.full.Load() {
		d.tries.Add(1)
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name, category)
}

// TestNoRoomForTables: while a flush finds no room it is tried again a few
// times a second, and logged once; with room it is made, and nothing is lost.
func TestNoRoomForTables(t *testing.T) {
	disk := &tableless{FS: vfs.NewMem()}
	o := testOptions(t, disk)
	var mu sync.Mutex
	var logged []string
	o.Logf = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, fmt.Sprintf(format, args...))
	}
	s, err := Open("store", o)
	require.NoError(t, err)
	for n := 1; n <= 20; n++ {
		p, err := s.Append(numbered(n, 200))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	disk.full.Store(true)
	begin := time.Now()
	flushed, err := s.db.AsyncFlush()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return disk.tries.Load() >= 4 }, 30*time.Second, time.Millisecond)
	took := time.Since(begin)
	require.Greater(t, took, 2*pauseAfterFailure, "four tries took %v", took)
	p, err := s.Append(numbered(21, 200)) // the log has room
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p))

	disk.full.Store(false)
	select {
	case <-flushed:
	case <-time.After(30 * time.Second):
		t.Fatal("there is room, and nothing is flushed")
	}
	require.Equal(t, 21, survivors(t, s))
	require.NoError(t, s.Close())
	mu.Lock()
	defer mu.Unlock()
	count := 0
	for _, text := range logged {
		if strings.Contains(text, "is retried") {
			count++
		}
	}
	require.Equal(t, 1, count, "logged: %q", logged)
}

// TestNoRoomForTablesWithoutALog: WaitDurable says so at once. Nothing is lost meanwhile, and with room it succeeds.
func TestNoRoomForTablesWithoutALog(t *testing.T) {
	disk := &tableless{FS: vfs.NewMem()}
	s, err := Open("store", unlogged(testOptions(t, disk)))
	require.NoError(t, err)
	disk.full.Store(true)
	p, err := s.Append(numbered(1, 200))
	require.NoError(t, err)
	require.ErrorContains(t, s.WaitDurable(p), "free space on its disk")
	p, err = s.Append(numbered(2, 200))
	require.NoError(t, err)
	disk.full.Store(false)
	require.NoError(t, s.WaitDurable(p))
	require.Equal(t, 2, survivors(t, s))
	require.NoError(t, s.Close())
}

// usage is a disk that says how much it has free.
type usage struct {
	tableless
	free uint64
}

func (d *usage) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free, TotalBytes: 1 << 30}, nil
}

// TestCloseWithoutRoom: where there is no room for tables a store is closed at once, and
// opened again it has everything, whether it knew of it before or found out.
func TestCloseWithoutRoom(t *testing.T) {
	for name, free := range map[string]uint64{"known before": 100 << 10, "found out": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			disk := &usage{tableless: tableless{FS: vfs.NewMem()}, free: free}
			o := testOptions(t, disk)
			var mu sync.Mutex
			var logged strings.Builder
			o.Logf = func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&logged, format+"\n", args...)
			}
			s, err := Open("store", o)
			require.NoError(t, err)
			for n := 1; n <= 20; n++ {
				appendDurably(t, s, n, 200)
			}
			disk.full.Store(true)
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			select {
			case err := <-closed:
				require.NoError(t, err)
			case <-time.After(30 * time.Second):
				t.Fatal("the store is still being closed")
			}
			mu.Lock()
			require.Contains(t, logged.String(), "the next start replays the log")
			mu.Unlock()
			names, err := disk.List("store")
			require.NoError(t, err)
			require.NotContains(t, names, closedFile, "its log is not empty")

			disk.full.Store(false)
			disk.free = 1 << 30
			s, err = Open("store", o)
			require.NoError(t, err)
			require.Equal(t, 20, survivors(t, s))
			require.NoError(t, s.Close())
			names, err = disk.List("store")
			require.NoError(t, err)
			require.Contains(t, names, closedFile)
		})
	}
}
