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
// times a second, and told of once; with room it is made, and nothing is lost.
func TestNoRoomForTables(t *testing.T) {
	disk := &tableless{FS: vfs.NewMem()}
	o := testOptions(t, disk)
	var mu sync.Mutex
	var told []string
	o.Logf = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf(format, args...))
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
	for _, text := range told {
		if strings.Contains(text, "will be tried again") {
			count++
		}
	}
	require.Equal(t, 1, count, "told: %q", told)
}
