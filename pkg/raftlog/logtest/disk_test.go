package logtest_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/raftlog/logtest"
)

// hooked is a file system that calls a function before each operation that changes a file of the write-ahead log, or
// the directory. An error of the function is the operation's.
type hooked struct {
	vfs.FS
	before func(op string) error
}

func (fs *hooked) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.before("create"); err != nil {
		return nil, err
	}
	f, err := fs.FS.Create(name, c)
	return fs.wrap(f, err, name)
}

func (fs *hooked) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.before("create"); err != nil {
		return nil, err
	}
	f, err := fs.FS.ReuseForWrite(from, to, c)
	return fs.wrap(f, err, to)
}

func (fs *hooked) wrap(f vfs.File, err error, name string) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return &hookedFile{f, fs}, nil
}

func (fs *hooked) Rename(from, to string) error {
	if err := fs.before("rename"); err != nil {
		return err
	}
	return fs.FS.Rename(from, to)
}

func (fs *hooked) Unwrap() vfs.FS { return fs.FS }

type hookedFile struct {
	vfs.File
	fs *hooked
}

func (f *hookedFile) Write(p []byte) (int, error) {
	if err := f.fs.before("write"); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *hookedFile) Sync() error {
	if err := f.fs.before("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *hookedFile) SyncData() error {
	if err := f.fs.before("sync"); err != nil {
		return err
	}
	return f.File.SyncData()
}

// TestCrashAtEveryOperation stops the machine before each write and sync of the store's files. What is left is a prefix
// of the writes, with all that were durable, and the store goes on with it.
func TestCrashAtEveryOperation(t *testing.T) {
	const writes = 25
	for stop := int64(1); ; stop++ {
		mem := vfs.NewCrashableMem()
		var ops, durable atomic.Int64
		var left *vfs.MemFS
		var atLeast int64
		rng := rand.New(rand.NewPCG(uint64(stop), 1))
		fs := &hooked{FS: mem, before: func(string) error {
			if ops.Add(1) == stop {
				atLeast = durable.Load()
				left = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			}
			return nil
		}}
		rows, err := pebblestore.Open("log", options(t, fs))
		require.NoError(t, err)
		h := logtest.NewHistory(&disk{Store: rows, t: t}, 3)
		wants := []string{h.Want()}
		for i := range writes {
			h.Write(t)
			wants = append(wants, h.Want())
			durable.Store(int64(i + 1))
		}
		require.NoError(t, rows.Close())
		if left == nil {
			require.Greater(t, stop, int64(2*writes), "each write is written and synced")
			return
		}
		again, err := pebblestore.Open("log", options(t, left))
		require.NoError(t, err, "operation %d", stop)
		s := raftlog.New(again, raftlog.Options{})
		require.Contains(t, wants[atLeast:], logtest.ReadAll(t, s), "operation %d, after %d durable writes", stop, atLeast)
		require.NoError(t, again.Close())
	}
}

// TestFailedWriteIsFinal: if a write or an fsync fails, nothing is reported as durable after it, and no further record
// is accepted, also if there is space again (R6.3).
func TestFailedWriteIsFinal(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		t.Run(op, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var full atomic.Bool
			fs := &hooked{FS: mem, before: func(o string) error {
				if o == op && full.Load() {
					return syscall.ENOSPC
				}
				return nil
			}}
			o := options(t, fs)
			var ended atomic.Int64
			o.OnFatal = func(error) { ended.Add(1) }
			rows, err := pebblestore.Open("log", o)
			require.NoError(t, err)
			d := &disk{Store: rows, t: t}
			h := logtest.NewHistory(d, 3)
			for range 10 {
				h.Write(t)
			}
			want := h.Want()
			full.Store(true)
			require.Error(t, h.TryWrite(t))
			full.Store(false)
			require.Error(t, h.TryWrite(t))
			require.EqualValues(t, 1, ended.Load(), "the process ends")
			left := mem.CrashClone(vfs.CrashCloneCfg{})
			_ = rows.Close() // it has failed
			again, err := pebblestore.Open("log", options(t, left))
			require.NoError(t, err)
			require.Equal(t, want, logtest.ReadAll(t, raftlog.New(again, raftlog.Options{})))
			require.NoError(t, again.Close())
		})
	}
}

// TestSlowSync: while an fsync takes long, nothing written is durable, and records are written and read. One fsync more
// makes all of them durable (R6.2).
func TestSlowSync(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var slow atomic.Bool
	begun, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs := &hooked{FS: mem, before: func(op string) error {
		if op == "sync" && slow.Load() {
			once.Do(func() { close(begun) })
			<-end
		}
		return nil
	}}
	rows, err := pebblestore.Open("log", options(t, fs))
	require.NoError(t, err)
	h := logtest.NewHistory(&disk{Store: rows, t: t}, 3)
	h.Write(t)
	durable := h.Want()
	slow.Store(true)
	first, err := h.Append(t)
	require.NoError(t, err)
	<-begun
	waited := make(chan error, 1)
	go func() { waited <- rows.WaitDurable(first) }()
	syncs := rows.Stats().Syncs
	last := first
	for range 20 {
		last, err = h.Append(t)
		require.NoError(t, err)
		require.Equal(t, h.Want(), logtest.ReadAll(t, h.Store()))
	}
	select {
	case err := <-waited:
		t.Fatalf("it is durable before the fsync has ended: %v", err)
	default:
	}
	again, err := pebblestore.Open("log", options(t, mem.CrashClone(vfs.CrashCloneCfg{})))
	require.NoError(t, err)
	require.Equal(t, durable, logtest.ReadAll(t, raftlog.New(again, raftlog.Options{})))
	require.NoError(t, again.Close())
	close(end)
	require.NoError(t, <-waited)
	require.NoError(t, rows.WaitDurable(last))
	require.LessOrEqual(t, rows.Stats().Syncs-syncs, uint64(3), "one fsync for all that has been written meanwhile")
	require.NoError(t, rows.Close())
}
