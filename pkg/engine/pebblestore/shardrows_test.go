package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginetest"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// changesFS calls a function before each operation that changes a file or a directory.
type changesFS struct {
	vfs.FS
	before func()
}

func (fs *changesFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	fs.before()
	f, err := fs.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &changesFile{f, fs}, nil
}

func (fs *changesFS) Rename(from, to string) error {
	fs.before()
	return fs.FS.Rename(from, to)
}

func (fs *changesFS) Link(from, to string) error {
	fs.before()
	return fs.FS.Link(from, to)
}

func (fs *changesFS) Remove(name string) error {
	fs.before()
	return fs.FS.Remove(name)
}

func (fs *changesFS) OpenDir(name string) (vfs.File, error) {
	d, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &changesFile{d, fs}, nil
}

type changesFile struct {
	vfs.File
	fs *changesFS
}

func (f *changesFile) Write(p []byte) (int, error) {
	f.fs.before()
	return f.File.Write(p)
}

func (f *changesFile) Sync() error {
	f.fs.before()
	return f.File.Sync()
}

func (f *changesFile) SyncData() error {
	f.fs.before()
	return f.File.SyncData()
}

// replaceWithCrash replaces the rows of shard 2 by those of shard 1, and stops the machine before the operation with
// number stop. It returns what is left, and the chunks of before and after; nothing if there are fewer operations. With
// flushed, the rows of before are in a table.
func replaceWithCrash(t *testing.T, o Options, stop int64, flushed bool) (left *vfs.MemFS, before, after [][]byte) {
	mem := vfs.NewCrashableMem()
	var mu sync.Mutex // pebble deletes files in the background
	ops, counting := int64(0), false
	rng := rand.New(rand.NewPCG(uint64(stop), 1))
	fs := &changesFS{FS: mem, before: func() {
		mu.Lock()
		defer mu.Unlock()
		if counting {
			ops++
		}
		if counting && ops == stop {
			left = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		}
	}}
	o.FS = fs
	s, err := Open("store", o)
	require.NoError(t, err)
	for shard := range crashShards {
		p, err := s.Append([]entry.Group{{Shard: kv.ShardID(shard + 1), Entries: enginetest.AllTables(shard)}})
		require.NoError(t, err)
		if !o.Unlogged {
			require.NoError(t, s.WaitDurable(p))
		}
	}
	if flushed {
		require.NoError(t, s.db.Flush())
	}
	before, after = enginetest.Chunks(t, s, 2), enginetest.Chunks(t, s, 1)
	count := func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		counting = on
	}
	count(true)
	p, err := enginetest.Replace(s, 2, after)
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p))
	count(false)
	if left == nil && stop < 0 {
		left = mem.CrashClone(vfs.CrashCloneCfg{})
	}
	require.NoError(t, s.Close())
	return left, before, after
}

// TestCrashWhileReplacing: a crash leaves the rows of before or those of after, whole, and no file of a replacement
// that did not happen. When Replace has returned, it is the rows of after.
func TestCrashWhileReplacing(t *testing.T) {
	for _, flushed := range []bool{true, false} {
		t.Run(fmt.Sprint("rows in a table: ", flushed), func(t *testing.T) {
			old := 0
			for stop := int64(1); ; stop++ {
				left, before, after := replaceWithCrash(t, testOptions(t, nil), stop, flushed)
				if left == nil {
					require.Greater(t, stop, int64(8), "a table, its sync, and the manifest")
					break
				}
				again, err := Open("store", testOptions(t, left))
				require.NoError(t, err, "operation %d", stop)
				got := enginetest.Chunks(t, again, 2)
				require.Contains(t, [][][]byte{before, after}, got, "operation %d", stop)
				require.Equal(t, after, enginetest.Chunks(t, again, 1))
				if len(got) == len(before) && string(got[0]) == string(before[0]) {
					old++
				}
				requireNoIncoming(t, left)
				require.NoError(t, again.Close())
			}
			require.NotZero(t, old, "some crashes are before the replacement")
			left, _, after := replaceWithCrash(t, testOptions(t, nil), -1, flushed)
			again, err := Open("store", testOptions(t, left))
			require.NoError(t, err)
			require.Equal(t, after, enginetest.Chunks(t, again, 2))
			require.NoError(t, again.Close())
		})
	}
}

// TestCrashWhileReplacingWithoutALog: what was in memory before may be lost, but rows are never mixed, and those of
// after are there when WaitDurable has returned.
func TestCrashWhileReplacingWithoutALog(t *testing.T) {
	empty := [][]byte{(&engine.ChunkEncoder{}).Chunk()}
	for stop := int64(1); stop > 0; stop++ {
		left, before, after := replaceWithCrash(t, unlogged(testOptions(t, nil)), stop, false)
		if left == nil {
			require.Greater(t, stop, int64(8), "a table, its sync, and the manifest")
			left, _, after = replaceWithCrash(t, unlogged(testOptions(t, nil)), -1, false)
			before, empty, stop = after, after, -1
		}
		again, err := Open("store", unlogged(testOptions(t, left)))
		require.NoError(t, err, "operation %d", stop)
		require.Contains(t, [][][]byte{empty, before, after}, enginetest.Chunks(t, again, 2), "operation %d", stop)
		requireNoIncoming(t, left)
		require.NoError(t, again.Close())
	}
}

func requireNoIncoming(t *testing.T, fs vfs.FS) {
	names, err := fs.List("store")
	require.NoError(t, err)
	for _, n := range names {
		require.False(t, strings.HasPrefix(n, incoming), n)
	}
}

// TestAbandonedReplacement: Close removes the tables of a replacement that does not take place.
func TestAbandonedReplacement(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("store", testOptions(t, fs))
	require.NoError(t, err)
	_, err = s.Append([]entry.Group{{Shard: 1, Entries: enginetest.AllTables(1)}})
	require.NoError(t, err)
	w, err := s.ReplaceShard(2)
	require.NoError(t, err)
	require.NoError(t, w.Add(enginetest.Chunks(t, s, 1)[0]))
	require.Equal(t, "1", string(w.Replica()))
	_, err = w.Replace()
	require.Error(t, err, "the last chunk is missing")
	require.NoError(t, w.Close())
	requireNoIncoming(t, fs)
	require.NoError(t, s.Close())
}

// stuckFS holds up the first table that a flush creates, until it may go on.
type stuckFS struct {
	vfs.FS
	stuck, goOn chan struct{}
	once        sync.Once
}

func (fs *stuckFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, tableSuffix) && !strings.Contains(name, incoming) {
		fs.once.Do(func() {
			close(fs.stuck)
			<-fs.goOn
		})
	}
	return fs.FS.Create(name, c)
}

// TestReplacementDuringFlush: a replacement between the rows that a flush writes cancels it if it writes several
// tables. pebble repeats it, and WaitDurable waits for that: it is no error, which would end the process.
func TestReplacementDuringFlush(t *testing.T) {
	fs := &stuckFS{FS: vfs.NewMem(), stuck: make(chan struct{}), goOn: make(chan struct{})}
	o := unlogged(testOptions(t, fs))
	o.MemTableBytes = 16 << 20
	s, err := Open("store", o)
	require.NoError(t, err)
	var large []entry.Entry
	for i := range byte(8) {
		value := make([]byte, 1<<20)
		rand.NewChaCha8([32]byte{i}).Read(value)
		large = append(large, entry.Entry{Action: entry.Set, Table: entry.TableState, Key: []byte{i}, Value: value})
	}
	p, err := s.Append([]entry.Group{{Shard: 1, Entries: large}, {Shard: 3, Entries: enginetest.AllTables(3)}})
	require.NoError(t, err)
	flushed := make(chan error, 1)
	go func() { flushed <- s.WaitDurable(p) }()
	<-fs.stuck
	rows := enginetest.Chunks(t, s, 3)
	_, err = enginetest.Replace(s, 2, rows)
	close(fs.goOn)
	require.NoError(t, err)
	require.NoError(t, <-flushed)
	require.Equal(t, rows, enginetest.Chunks(t, s, 2))
	require.NoError(t, s.Close())
}

// TestReplacementByManyTables: the rows are more than one table has.
func TestReplacementByManyTables(t *testing.T) {
	o := unlogged(testOptions(t, nil))
	o.MemTableBytes = 16 << 20
	s, err := Open(t.TempDir(), o)
	require.NoError(t, err)
	rows := enginetest.AllTables(1)
	for i := range byte(2*incomingBytes/(1<<20) + 2) {
		rows = append(rows, entry.Entry{Action: entry.Set, Table: entry.TableVersion, Key: []byte("large"),
			CSN: kv.CSN(i) + 1, Value: make([]byte, 1<<20)})
		if i%8 == 0 {
			_, err = s.Append([]entry.Group{{Shard: 1, Entries: rows}})
			require.NoError(t, err)
			rows = nil
		}
	}
	want := enginetest.Chunks(t, s, 1)
	for range 2 { // the second one replaces many tables
		p, err := enginetest.Replace(s, 2, want)
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
		require.Equal(t, want, enginetest.Chunks(t, s, 2))
	}
	require.NoError(t, s.Close())
}
