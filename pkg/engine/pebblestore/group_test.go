package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// gateFS holds the log's fsyncs until it is opened.
type gateFS struct {
	vfs.FS
	gate chan struct{}
}

func (fs *gateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	if err != nil || c != walCategory {
		return f, err
	}
	return &gateFile{f, fs.gate}, nil
}

type gateFile struct {
	vfs.File
	gate chan struct{}
}

func (f *gateFile) Sync() error     { <-f.gate; return f.File.Sync() }
func (f *gateFile) SyncData() error { <-f.gate; return f.File.SyncData() }

// TestManyBatchesShareAnFsync holds the disk, appends many batches, and lets
// it go: two fsyncs are enough, and positions become durable in order.
func TestManyBatchesShareAnFsync(t *testing.T) {
	const n = 500
	fs := &gateFS{FS: vfs.NewMem(), gate: make(chan struct{}, 1000)}
	for range 100 {
		fs.gate <- struct{}{} // for opening
	}
	o := testOptions(t, fs)
	o.MemTableBytes = 16 << 20
	s, err := Open("store", o)
	require.NoError(t, err)
	for len(fs.gate) > 0 {
		<-fs.gate
	}
	before := s.Stats().Syncs

	var mu sync.Mutex
	var order []engine.Position
	var wg sync.WaitGroup
	for i := 1; i <= n; i++ {
		p, err := s.Append([]entry.Group{{Entries: []entry.Entry{{Action: entry.Set, Table: entry.TableState,
			Value: fmt.Append(nil, i)}}}})
		require.NoError(t, err)
		res := s.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableState})
		require.Equal(t, fmt.Sprint(i), string(res.Rows[0].Value), "it is visible before it is durable")
		wg.Add(1)
		go func() {
			defer wg.Done()
			if s.WaitDurable(p) == nil {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, p)
				// What is durable for one is durable for all before it.
				require.GreaterOrEqual(t, s.durable.Load(), uint64(p))
			}
		}()
	}
	mu.Lock()
	require.Empty(t, order, "nothing is durable before the fsync")
	mu.Unlock()
	close(fs.gate)
	wg.Wait()
	require.Len(t, order, n)
	require.LessOrEqual(t, s.Stats().Syncs-before, uint64(3), "the batches that came during one fsync share the next")
	require.NotZero(t, s.Stats().Syncs-before)
	require.NoError(t, s.Close())
}

func TestSyncDelayIsAdded(t *testing.T) {
	const delay = 20 * time.Millisecond
	o := testOptions(t, vfs.NewMem())
	o.SyncDelay = delay
	s, err := Open("store", o)
	require.NoError(t, err)
	start := time.Now()
	p, err := s.Append(numbered(1, 10))
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p))
	require.GreaterOrEqual(t, time.Since(start), delay)

	s.Delays().Syncs(0)
	start = time.Now()
	const many = 200
	for i := range many {
		p, err = s.Append(numbered(1, 20+i))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	require.Less(t, time.Since(start), many*delay, "fsyncs are not delayed any more")
	require.NoError(t, s.Close())
}

func TestNoSyncDoesNotWait(t *testing.T) {
	fs := &gateFS{FS: vfs.NewMem(), gate: make(chan struct{}, 100)}
	for range 100 {
		fs.gate <- struct{}{}
	}
	o := testOptions(t, fs)
	o.NoSync = true
	s, err := Open("store", o)
	require.NoError(t, err)
	for len(fs.gate) > 0 {
		<-fs.gate
	}
	p, err := s.Append(numbered(1, 10))
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p), "although no fsync can run")
	close(fs.gate)
	require.NoError(t, s.Close())
}

func TestMetrics(t *testing.T) {
	s, err := Open(t.TempDir(), testOptions(t, nil))
	require.NoError(t, err)
	for n := 1; n <= 300; n++ {
		p, err := s.Append(numbered(n, 2000))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	require.NoError(t, s.db.Flush())
	require.Equal(t, 300, survivors(t, s))
	m := s.Metrics()
	require.NotZero(t, m.WALBytesIn)
	require.NotZero(t, m.WALBytesWritten)
	require.NotNil(t, m.WALSyncLatency)
	require.NotZero(t, m.Flushes)
	require.NotZero(t, m.Tables)
	require.NotZero(t, m.TableBytes)
	require.NotZero(t, m.CacheHits+m.CacheMisses)
	require.NotZero(t, m.ReadAmplification)
	require.Zero(t, m.Corruptions)
	st := s.Stats()
	require.EqualValues(t, 300, st.Appends)
	require.EqualValues(t, 300*2*crashShards, st.Entries)
	require.GreaterOrEqual(t, st.Syncs, uint64(300), "one caller shares with nobody")
	require.Equal(t, st.Syncs, m.WALSyncs)
	require.NotZero(t, st.DiskBytes)
	require.NotZero(t, m.FlushedBytes)
	require.LessOrEqual(t, m.L0Sublevels, m.L0Tables)
	free, err := s.FreeBytes()
	require.NoError(t, err)
	require.NotZero(t, free)
	disk, err := s.Disk()
	require.NoError(t, err)
	require.GreaterOrEqual(t, disk.Size, disk.Free)
	require.NoError(t, s.Close())
	require.Zero(t, s.Metrics(), "a closed store has no numbers")
}

// TestOldReadersPassOverNewBlocks counts the blocks that a range read at an
// old CSN touches, with the versions after it in blocks of their own.
func TestOldReadersPassOverNewBlocks(t *testing.T) {
	o := testOptions(t, vfs.NewMem())
	o.CacheBytes = 64 << 20
	s, err := Open("store", o)
	require.NoError(t, err)
	for n := 1; n <= 1500; n++ {
		_, err := s.Append(numbered(n, 2000)) // key n at CSN n
		require.NoError(t, err)
	}
	require.NoError(t, s.db.Flush())
	require.NoError(t, s.db.Compact(context.Background(), []byte{0, 0, 0, 0}, []byte{0xff, 0xff, 0xff, 0}, false))
	touched := func(at kv.CSN) (blocks int64, rows int) {
		before := s.Metrics()
		res := s.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range(nil, nil), CSN: at})
		require.NoError(t, res.Err)
		m := s.Metrics()
		return m.CacheHits + m.CacheMisses - before.CacheHits - before.CacheMisses, len(res.Rows)
	}
	all, rows := touched(1500)
	require.Equal(t, 1500, rows)
	few, rows := touched(10)
	require.Equal(t, 10, rows)
	require.Less(t, few*5, all, "a reader at CSN 10 touches %d blocks, one at the end %d", few, all)
	require.NoError(t, s.Close())
}

func TestBatchAboveAMemtable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open("store", testOptions(t, fs))
	require.NoError(t, err)
	for n := 1; n <= 3; n++ {
		p, err := s.Append(numbered(n, 1<<20))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	again, err := Open("store", testOptions(t, fs.CrashClone(vfs.CrashCloneCfg{})))
	require.NoError(t, err)
	require.Equal(t, 3, survivors(t, again))
	require.NoError(t, again.Close())
	require.NoError(t, s.Close())
}

// TestFewDeletionsAreNoRange: what garbage collection deletes every day must
// not fill the memtable with range deletions.
func TestFewDeletionsAreNoRange(t *testing.T) {
	s, err := Open("store", testOptions(t, vfs.NewMem()))
	require.NoError(t, err)
	v := entry.Value{Version: kv.Version{Write: 1}}.Encode()
	versions := func(key string, n int) {
		for i := 1; i <= n; i++ {
			_, err := s.Append([]entry.Group{{Entries: []entry.Entry{{Action: entry.Set, Table: entry.TableVersion,
				Key: []byte(key), CSN: kv.CSN(i), Value: v}}}})
			require.NoError(t, err)
		}
	}
	ranges := func(key string, below kv.CSN) uint32 {
		b := s.db.NewBatch()
		defer b.Close()
		require.NoError(t, s.encoder.encode(b, s.note(false), []entry.Group{{Entries: []entry.Entry{{
			Action: entry.DeleteBelow,
			Table:  entry.TableVersion, Key: []byte(key), CSN: below}}}}))
		n := uint32(0)
		for r := b.Reader(); ; {
			kind, _, _, ok, err := r.Next()
			require.NoError(t, err)
			if !ok {
				return n
			}
			if kind == pebble.InternalKeyKindRangeDelete {
				n++
			}
		}
	}
	versions("few", fewVersions)
	versions("many", fewVersions+1)
	require.Zero(t, ranges("none", 9))
	require.Zero(t, ranges("few", 1000))
	require.EqualValues(t, 1, ranges("many", 1000))
	require.Zero(t, ranges("many", 3))
	require.NoError(t, s.Close())
}
