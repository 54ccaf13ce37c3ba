package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// reclaimStore is a store with rows that do not compress.
type reclaimStore struct {
	*Store
	t *testing.T
	r *rand.Rand
}

func newReclaimStore(t *testing.T) *reclaimStore {
	return openReclaimStore(t, testOptions(t, vfs.NewMem()))
}

func openReclaimStore(t *testing.T, o Options) *reclaimStore {
	s, err := Open("store", o)
	require.NoError(t, err)
	return &reclaimStore{s, t, rand.New(rand.NewPCG(3, 4))}
}

const reclaimRow = 4096 // bytes

// write sets or deletes rows from i to end of a prefix.
func (s *reclaimStore) write(action entry.Action, prefix string, i, end int) {
	s.t.Helper()
	var entries []entry.Entry
	for ; i < end; i++ {
		e := entry.Entry{Action: action, Table: entry.TableVersion, Key: fmt.Appendf(nil, "%s/%04d", prefix, i), CSN: 1}
		if action == entry.Set {
			v := entry.Value{Version: kv.Version{Write: 1}, Payload: make([]byte, reclaimRow)}
			for i := range v.Payload {
				v.Payload[i] = byte(s.r.Uint32())
			}
			e.Value = v.Encode()
		} else {
			e.CSN = 2
		}
		entries = append(entries, e)
	}
	p, err := s.Append([]entry.Group{{Shard: 1, Entries: entries}})
	require.NoError(s.t, err)
	require.NoError(s.t, s.WaitDurable(p))
}

func (s *reclaimStore) has(key string) bool {
	s.t.Helper()
	res := s.Read(1, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(key), CSN: 9})
	require.NoError(s.t, res.Err)
	return len(res.Rows) == 1
}

// TestReclaimAllFreesDeletedRows: the estimate includes deletions in the memtable, and
// ReclaimAll frees what they deleted, and nothing else.
func TestReclaimAllFreesDeletedRows(t *testing.T) {
	const rows = 500
	s := newReclaimStore(t)
	defer func() { require.NoError(t, s.Close()) }()
	for i := 0; i < rows; i += 100 {
		s.write(entry.Set, "gone", i, i+100)
		s.write(entry.Set, "kept", i, i+100)
		require.NoError(t, s.db.Flush())
	}
	require.Less(t, s.Metrics().ReclaimableBytes, uint64(100*reclaimRow))
	s.write(entry.DeleteBelow, "gone", 0, rows)
	s.write(entry.Set, "kept", rows, rows+1)
	near := func(bytes uint64) bool { return bytes > rows*reclaimRow*7/10 && bytes < rows*reclaimRow*15/10 }
	require.True(t, near(s.Metrics().ReclaimableBytes), "%d", s.Metrics().ReclaimableBytes)

	total := -1
	r, err := s.ReclaimAll(t.Context(), func(done, of int) {
		require.LessOrEqual(t, done, of)
		total = of
		_, err := s.ReclaimAll(t.Context(), nil)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		require.ErrorContains(t, err, "another reclaim is running")
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, total, 0)
	require.Greater(t, r.Before-r.After, uint64(rows*reclaimRow*9/10))
	require.Less(t, s.Metrics().ReclaimableBytes, uint64(100*reclaimRow))
	for i := range rows {
		require.True(t, s.has(fmt.Sprintf("kept/%04d", i)))
		require.False(t, s.has(fmt.Sprintf("gone/%04d", i)))
	}
}

// TestReclaimableAfterFlushes: deletions are counted once, whether they are in a table next to the table of what they
// delete, in a memtable that waits for a flush, or in the newest one.
func TestReclaimableAfterFlushes(t *testing.T) {
	const rows = 400
	fs := &stuckFS{FS: vfs.NewMem(), stuck: make(chan struct{}), goOn: make(chan struct{})}
	o := testOptions(t, fs)
	o.MemTableBytes = 8 << 20 // so that a memtable is full when the test says so
	s := openReclaimStore(t, o)
	defer func() { require.NoError(t, s.Close()) }()
	s.write(entry.Set, "gone", 0, rows)
	flush := func() <-chan struct{} {
		flushed, err := s.db.AsyncFlush()
		require.NoError(t, err)
		return flushed
	}
	flush()
	<-fs.stuck
	s.write(entry.DeleteBelow, "gone", 0, rows/2)
	flushed := flush()
	s.write(entry.DeleteBelow, "gone", rows/2, rows)
	requireAll := func() {
		t.Helper()
		require.Eventually(t, func() bool { // statistics of a table follow it
			b := s.Metrics().ReclaimableBytes
			// pebble takes what is deleted to be as compressible as the keys of the deletions.
			return b > rows*reclaimRow/2 && b < rows*reclaimRow*11/10
		}, 10*time.Second, time.Millisecond)
	}
	close(fs.goOn)
	<-flushed
	requireAll()
	<-flush()
	requireAll()
	_, err := s.ReclaimAll(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Less(t, s.Metrics().ReclaimableBytes, uint64(rows*reclaimRow/10))
}

// TestReclaimAllLeavesOtherTables: only the tables of the last level that overlap deletions
// are compacted, although the table with the deletions spans all keys.
func TestReclaimAllLeavesOtherTables(t *testing.T) {
	const rows, part = 8000, 200
	s := newReclaimStore(t)
	defer func() { require.NoError(t, s.Close()) }()
	for i := 0; i < rows; i += 100 {
		s.write(entry.Set, "key", i, i+100)
	}
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff, 0}, false))
	s.write(entry.Set, "a", 0, 1)
	s.write(entry.DeleteBelow, "key", part, 2*part)
	s.write(entry.DeleteBelow, "key", rows-part, rows)
	s.write(entry.Set, "z", 0, 1)
	ranges := 0
	r, err := s.ReclaimAll(t.Context(), func(_, total int) { ranges = total })
	require.NoError(t, err)
	require.Equal(t, 2, ranges)
	require.Greater(t, r.Before-r.After, uint64(2*part*reclaimRow*9/10))
	require.False(t, s.has("key/0200"))
	require.True(t, s.has("key/0400"))
}

// TestRangesOfDeletions: a range deletion counts for each table that it overlaps.
func TestRangesOfDeletions(t *testing.T) {
	table := func(first, last string) (i pebble.SSTableInfo) {
		i.Smallest.UserKey, i.Largest.UserKey = []byte(first), []byte(last)
		return i
	}
	d := &deletionRanges{[]pebble.SSTableInfo{table("b", "d"), table("f", "h"), table("j", "l")}, make([]span, 4)}
	d.add([]byte("c"), []byte("c"))
	d.add([]byte("a"), []byte("k"))
	d.add([]byte("m"), []byte("n"))
	require.Equal(t, []span{{[]byte("a"), []byte("d")}, {[]byte("d"), []byte("h")}, {[]byte("h"), []byte("k")},
		{[]byte("m"), []byte("n")}}, d.of)
}

// TestReclaimAllEnds: with its context, and on a closed store.
func TestReclaimAllEnds(t *testing.T) {
	s := newReclaimStore(t)
	s.write(entry.Set, "gone", 0, 100)
	require.NoError(t, s.db.Flush())
	s.write(entry.DeleteBelow, "gone", 0, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.ReclaimAll(ctx, func(int, int) {})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Close())
	_, err = s.ReclaimAll(t.Context(), func(int, int) {})
	require.ErrorIs(t, err, errClosed)
}
