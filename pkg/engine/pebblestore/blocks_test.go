package pebblestore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// quickly bounds the time until damage is reported.
const quickly = 100 * time.Millisecond

// large is a store with keys whose values do not compress.
type large struct {
	t      *testing.T
	keys   []string
	values map[string][]byte
	im     image
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n]
}

// newLarge writes count values of a size, with small ones between them, into a
// table.
func newLarge(t *testing.T, size, count int) *large {
	l := &large{t: t, values: map[string][]byte{}}
	r := rand.New(rand.NewPCG(uint64(size), 3))
	fs := vfs.NewMem()
	s, err := Open("store", testOptions(t, fs))
	require.NoError(t, err)
	for i := range count {
		for kind, n := range map[string]int{"large": size, "small": 64} {
			key := fmt.Sprintf("k%03d/%s", i, kind)
			v := entry.Value{Version: kv.Version{Write: 1}, Payload: noise(r, n)}.Encode()
			l.keys, l.values[key] = append(l.keys, key), v
			p, err := s.Append([]entry.Group{{Entries: []entry.Entry{
				{Action: entry.Set, Table: entry.TableVersion, Key: []byte(key), CSN: 1, Value: v}}}})
			require.NoError(t, err)
			require.NoError(t, s.WaitDurable(p))
		}
	}
	require.NoError(t, s.Close())
	slices.Sort(l.keys)
	l.im = takeImage(t, fs)
	return l
}

// flip flips a bit of a key's value where it is stored, so far from its end.
func (l *large) flip(key string, fromEnd int) {
	v := l.values[key]
	for name, b := range l.im {
		at := bytes.Index(b, v[len(v)-fromEnd-16:len(v)-fromEnd])
		if strings.HasSuffix(name, tableSuffix) && at >= 0 {
			b[at] ^= 0x10
			return
		}
	}
	l.t.Fatalf("the value of %s is in no table", key)
}

func (l *large) open() *Store {
	s, err := Open("store", testOptions(l.t, l.im.disk(l.t, "", 0, 0)))
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = s.Close() }) // which may meet the damage
	return s
}

func readOf(s *Store, key string) (entry.ReadResult, time.Duration) {
	begin := time.Now()
	res := s.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte(key), CSN: 1})
	return res, time.Since(begin)
}

// TestFlippedBitsInLargeValues: whatever the size of a value, that it is damaged
// is reported at once, each time, and values in other blocks are read as ever.
func TestFlippedBitsInLargeValues(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20} {
		t.Run(fmt.Sprintf("%d KiB", size>>10), func(t *testing.T) {
			const count = 12
			l := newLarge(t, size, count)
			damaged := []string{"k001/large", "k003/large", "k005/large", "k007/large", "k009/large", "k011/large"}
			for i, key := range damaged {
				l.flip(key, size*i/len(damaged))
			}
			s := l.open()
			for try := range 2 {
				var took []time.Duration
				for _, key := range damaged {
					res, d := readOf(s, key)
					require.Equal(t, kv.KindCorrupt, kv.KindOf(res.Err), "%s: %v", key, res.Err)
					require.ErrorContains(t, res.Err, "checksum mismatch")
					require.ErrorContains(t, res.Err, "file 0000")
					took = append(took, d)
				}
				// A busy machine may stop one of them for a while.
				require.Less(t, slices.Min(took), quickly, "read %d: %v", try+1, took)
			}
			lost := 0
			for _, key := range l.keys {
				res, _ := readOf(s, key)
				if res.Err != nil {
					require.Equal(t, kv.KindCorrupt, kv.KindOf(res.Err), "%s: %v", key, res.Err)
					lost++
					continue
				}
				require.Equal(t, l.values[key], res.Rows[0].Value, key)
			}
			require.GreaterOrEqual(t, lost, len(damaged))
			// A block has up to 8 KiB, or one large value, and small ones around it.
			require.LessOrEqual(t, lost, len(damaged)*(4+2*8<<10/size), "more than the damaged blocks is lost")
		})
	}
}

// TestSumsOfBlocks: what is checked is what pebble checks, and no other read of a
// table is taken for a block: footers alone have no sum.
func TestSumsOfBlocks(t *testing.T) {
	l := newLarge(t, 2<<10, 60)
	s := l.open()
	for _, key := range l.keys {
		res, _ := readOf(s, key)
		require.NoError(t, res.Err)
		require.Equal(t, l.values[key], res.Rows[0].Value)
	}
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, bytes.Repeat([]byte{0xff}, 20), false))
	require.NoError(t, readAll(s))
	require.Zero(t, s.Metrics().Corruptions)

	r := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		block := noise(r, blockTrailer+r.IntN(3000))
		sum := maskedSum(block[:len(block)-blockSum])
		block[len(block)-4], block[len(block)-3], block[len(block)-2], block[len(block)-1] = byte(sum), byte(sum>>8),
			byte(sum>>16), byte(sum>>24)
		require.True(t, blockWhole(block))
		block[r.IntN(len(block))] ^= 1 << r.IntN(8)
		require.False(t, blockWhole(block))
	}
	require.False(t, blockWhole(nil))
}

// TestCompactionsOfDamagedTables: where the youngest tables are damaged, their
// compaction is tried again and again, but not as often as it can be, and damage
// is logged once.
func TestCompactionsOfDamagedTables(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("store", testOptions(t, fs))
	require.NoError(t, err)
	n := 0
	flush := func(s *Store, tables int) {
		for range tables {
			n++
			p, err := s.Append(numbered(n, 4000))
			require.NoError(t, err)
			require.NoError(t, s.WaitDurable(p))
			require.NoError(t, s.db.Flush())
		}
	}
	flush(s, 14)
	require.NoError(t, s.Close())
	im := takeImage(t, fs)
	for name, b := range im {
		if strings.HasSuffix(name, tableSuffix) {
			b[100] ^= 1 // in its first block
		}
	}
	var logged atomic.Int64
	o := testOptions(t, im.disk(t, "", 0, 0))
	o.Logf = func(format string, args ...any) {
		if strings.Contains(fmt.Sprintf(format, args...), "has a damaged file") {
			logged.Add(1)
		}
	}
	s, err = Open("store", o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	begin := time.Now()
	flush(s, 8)
	require.Eventually(t, func() bool { return s.Metrics().CompactionsFailed >= 6 }, 30*time.Second, time.Millisecond)
	took, failed := time.Since(begin), s.Metrics().CompactionsFailed
	require.Less(t, failed, 2*(int64(took/pauseAfterDamage)+2), "in %v", took) // two run at a time
	require.Positive(t, logged.Load())
	require.LessOrEqual(t, logged.Load(), int64(14), "each table once")
}
