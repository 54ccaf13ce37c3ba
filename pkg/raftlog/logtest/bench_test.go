package logtest_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"
	"golang.org/x/sys/unix"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// writer is what is measured.
type writer interface {
	// write writes records and returns their position. notify has a function called when a position is on the disk.
	write(b *testing.B, records []raftlog.Record) uint64
	notify(b *testing.B, f func(at uint64))
	syncs() uint64
	written() uint64
}

// rowsWriter is the log as rows of the engine.
type rowsWriter struct {
	rows  *pebblestore.Store
	store *raftlog.Store
	logs  []*raftlog.Log
}

func newRows(b *testing.B) writer {
	rows, err := pebblestore.Open(b.TempDir(), pebblestore.ForLog())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, rows.Close()) })
	w := &rowsWriter{rows: rows, store: raftlog.New(rows, raftlog.Options{})}
	for i := range kv.ShardID(8) {
		l, err := w.store.Open(i)
		require.NoError(b, err)
		w.logs = append(w.logs, l)
	}
	w.warm(b)
	return w
}

// warm writes until the write-ahead log uses files again whose blocks are allocated, as it always does later.
func (w *rowsWriter) warm(b *testing.B) {
	for i := range 4*pebblestore.ForLog().MemTableBytes>>20 + 4 { // four memtables
		e := raftpb.Entry{Index: i + 1, Term: 1, Data: make([]byte, 1<<20)}
		w.write(b, []raftlog.Record{{Shard: 7, Replica: 1, Write: &consensus.Write{
			HardState: raftpb.HardState{Term: 1, Commit: i}, Entries: []raftpb.Entry{e}}}})
	}
	p := w.write(b, []raftlog.Record{{Shard: 7, Replica: 2, Write: &consensus.Write{}}})
	require.NoError(b, w.store.WaitDurable(engine.Position(p)))
}

// keptEntries is how many entries are left by a truncation.
const keptEntries = 1000

func (w *rowsWriter) write(b *testing.B, records []raftlog.Record) uint64 {
	for i := range records {
		r := &records[i]
		if last := r.Write.HardState.Commit; last > keptEntries {
			r.Truncate = w.logs[r.Shard].Truncation(consensus.Position(last-keptEntries), consensus.Position(last-keptEntries))
		}
	}
	p, err := w.store.Write(records)
	require.NoError(b, err)
	return uint64(p)
}

func (w *rowsWriter) notify(_ *testing.B, f func(at uint64)) {
	w.rows.NotifyDurable(func(p engine.Position) { f(uint64(p)) })
}

func (w *rowsWriter) syncs() uint64 { return w.rows.Stats().Syncs }

func (w *rowsWriter) written() uint64 {
	m := w.rows.Metrics()
	return m.WALBytesWritten + m.FlushedBytes + m.CompactedBytes
}

// segments is the least that a log of segments does, at its best: it appends to files whose blocks are allocated, and
// keeps where each entry is.
type segments struct {
	files [2]*os.File
	at    atomic.Int64
	count atomic.Uint64
	due   chan struct{}
	buf   []byte
	where map[kv.ShardID][]int64
}

const segmentBytes = 64 << 20

func newSegments(b *testing.B) writer {
	s := &segments{where: map[kv.ShardID][]int64{}}
	dir := b.TempDir()
	for i := range s.files {
		f, err := os.Create(filepath.Join(dir, string(rune('a'+i))))
		require.NoError(b, err)
		_, err = f.Write(make([]byte, segmentBytes))
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		b.Cleanup(func() { require.NoError(b, f.Close()) })
		s.files[i] = f
	}
	return s
}

func (s *segments) write(b *testing.B, records []raftlog.Record) uint64 {
	at := s.at.Load()
	s.buf = append(s.buf[:0], make([]byte, 8)...)
	for i := range records {
		r := &records[i]
		s.buf = binary.AppendUvarint(binary.AppendUvarint(s.buf, uint64(r.Shard)), r.Write.HardState.Commit)
		for j := range r.Write.Entries {
			e := &r.Write.Entries[j]
			s.where[r.Shard] = append(s.where[r.Shard], at+int64(len(s.buf)))
			s.buf = binary.AppendUvarint(binary.AppendUvarint(s.buf, e.Index), uint64(len(e.Data)))
			s.buf = binary.LittleEndian.AppendUint32(s.buf, crc32.Checksum(e.Data, castagnoli))
			s.buf = append(s.buf, e.Data...)
		}
		if n := len(s.where[r.Shard]); n > 2*keptEntries {
			s.where[r.Shard] = append([]int64(nil), s.where[r.Shard][n-keptEntries:]...)
		}
	}
	binary.LittleEndian.PutUint32(s.buf, uint32(len(s.buf)))
	binary.LittleEndian.PutUint32(s.buf[4:], crc32.Checksum(s.buf[8:], castagnoli))
	if at%segmentBytes+int64(len(s.buf)) > segmentBytes {
		at += segmentBytes - at%segmentBytes
	}
	_, err := s.files[at/segmentBytes%2].WriteAt(s.buf, at%segmentBytes)
	require.NoError(b, err)
	at += int64(len(s.buf))
	s.at.Store(at)
	select {
	case s.due <- struct{}{}:
	default:
	}
	return uint64(at)
}

// notify syncs in a goroutine of its own what has been written.
func (s *segments) notify(b *testing.B, f func(at uint64)) {
	s.due = make(chan struct{}, 1)
	go func() {
		for range s.due {
			to := s.at.Load()
			require.NoError(b, unix.Fdatasync(int(s.files[(to-1)/segmentBytes%2].Fd())))
			s.count.Add(1)
			f(uint64(to))
		}
	}()
	b.Cleanup(func() { close(s.due) })
}

func (s *segments) syncs() uint64   { return s.count.Load() }
func (s *segments) written() uint64 { return uint64(s.at.Load()) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BenchmarkLog writes what 64 clients have caused, each of which waits for the disk: increments of one counter, 300 B
// in one group, and puts of 128 B (200 B in all) in eight groups. What a group has is one entry.
func BenchmarkLog(b *testing.B) {
	for _, load := range []struct {
		name         string
		size, groups int
	}{{"counter", 300, 1}, {"puts", 200, 8}} {
		for _, kind := range []struct {
			name string
			open func(*testing.B) writer
		}{{"rows", newRows}, {"segments", newSegments}} {
			b.Run(load.name+"/"+kind.name, func(b *testing.B) { benchmark(b, kind.open(b), load.size, load.groups) })
		}
	}
}

const clients = 64

func benchmark(b *testing.B, w writer, size, groups int) {
	waiting := make(chan chan struct{}, clients)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	if b.N == 1 {
		return // only to find out how many to measure
	}
	b.ResetTimer()
	syncs, written := w.syncs(), w.written()
	for range clients {
		wg.Go(func() {
			done := make(chan struct{}, 1)
			for left.Add(-1) >= 0 {
				waiting <- done
				<-done
			}
		})
	}
	go func() {
		wg.Wait()
		close(waiting)
	}()
	serve(b, w, waiting, size, groups)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(w.syncs()-syncs)/b.Elapsed().Seconds(), "fsyncs/s")
	b.ReportMetric(float64(w.written()-written)/float64(b.N), "B/write")
}

// batch is clients that wait for a write.
type batch struct {
	at      uint64
	waiting []chan struct{}
}

// serve writes what waits as one batch, while the batch before it is synced.
func serve(b *testing.B, w writer, waiting chan chan struct{}, size, groups int) {
	var mu sync.Mutex
	var queue []batch
	inFlight := make(chan struct{}, 2)
	w.notify(b, func(at uint64) {
		mu.Lock()
		defer mu.Unlock()
		for len(queue) > 0 && queue[0].at <= at {
			for _, done := range queue[0].waiting {
				done <- struct{}{}
			}
			queue = queue[1:]
			<-inFlight
		}
	})
	last := make([]uint64, groups)
	next := 0
	for first := range waiting {
		inFlight <- struct{}{}
		of := batch{waiting: []chan struct{}{first}}
		for len(waiting) > 0 {
			of.waiting = append(of.waiting, <-waiting)
		}
		counts := make([]int, groups)
		for range of.waiting {
			counts[next%groups]++
			next++
		}
		mu.Lock()
		of.at = w.write(b, recordsOf(last, counts, size))
		queue = append(queue, of)
		mu.Unlock()
	}
}

// recordsOf makes one entry for each group that has writes.
func recordsOf(last []uint64, counts []int, size int) (records []raftlog.Record) {
	for g, n := range counts {
		if n == 0 {
			continue
		}
		last[g]++
		e := raftpb.Entry{Index: last[g], Term: 1, Data: make([]byte, n*size)}
		records = append(records, raftlog.Record{Shard: kv.ShardID(g), Replica: 2, Write: &consensus.Write{
			HardState: raftpb.HardState{Term: 1, Vote: 1, Commit: last[g] - 1}, Entries: []raftpb.Entry{e}}})
	}
	return records
}
