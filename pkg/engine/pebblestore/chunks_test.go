package pebblestore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// manifest makes a file of records as pebble writes its manifest, and returns
// where each record begins.
func manifest(t *testing.T, sizes ...int) (b []byte, starts []int) {
	var w strings.Builder
	rw := record.NewWriter(&w)
	for i, n := range sizes {
		require.NoError(t, rw.Flush())
		starts = append(starts, w.Len())
		_, err := rw.WriteRecord(slices.Repeat([]byte{byte(i + 1)}, n))
		require.NoError(t, err)
	}
	require.NoError(t, rw.Close())
	return []byte(w.String()), starts
}

func TestManifestDamage(t *testing.T) {
	for name, sizes := range map[string][]int{
		"short":                                  {40, 300, 5, 900},
		"over blocks":                            {40, 20_000, 20_000, 70_000, 300, 1},
		"ends at a block":                        {recordBlock - 2*manifestHeader - 100, 100, 100},
		"leaves a block with less than a header": {recordBlock - manifestHeader - 3, 100},
	} {
		t.Run(name, func(t *testing.T) {
			b, starts := manifest(t, sizes...)
			last := starts[len(starts)-1]
			require.True(t, manifestWhole(b))
			for at := 0; at < last; at += 1 + last/25 {
				if zeros(block(b, at)) {
					continue // the unused end of a block
				}
				for _, mask := range []byte{0x01, 0x80, 0xff} {
					b[at] ^= mask
					require.False(t, manifestWhole(b), "byte %d of %d ^ %02x", at, len(b), mask)
					b[at] ^= mask
				}
			}
			for _, at := range starts {
				require.True(t, manifestWhole(b[:at]), "the records from %d on are not there", at)
				require.True(t, manifestWhole(b[:min(len(b), at+20)]), "the record at %d is cut", at)
				cut := append(slices.Clone(b[:at]), make([]byte, 700)...)
				require.True(t, manifestWhole(cut), "the record at %d is zeros", at)
			}
			// The last record, in full but wrong, is damage too, but for its
			// length.
			b[lastChunk(chunkFormat{}, b)+manifestHeader] ^= 1
			require.False(t, manifestWhole(b))
		})
	}
}

// logOf appends batches to a store without closing it and gives its log.
func logOf(t *testing.T, batches, padding int) (b []byte, num uint32) {
	fs := vfs.NewMem()
	o := testOptions(t, fs)
	o.MemTableBytes = 64 << 20
	s, err := Open("store", o)
	require.NoError(t, err)
	for n := 1; n <= batches; n++ {
		p, err := s.Append(numbered(n, padding))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	for name, b := range takeImage(t, fs) {
		if _, err := fmt.Sscanf(name, "%d.log", &num); err == nil && strings.HasSuffix(name, ".log") && len(b) > 0 {
			require.NoError(t, s.Close())
			return b, num
		}
	}
	t.Fatal("there is no log")
	return nil, 0
}

func TestLogDamage(t *testing.T) {
	for name, c := range map[string]struct{ batches, padding int }{
		"within a block":        {10, 10},
		"over blocks":           {60, 700},
		"batches above a block": {5, 12_000},
	} {
		t.Run(name, func(t *testing.T) {
			b, num := logOf(t, c.batches, c.padding)
			f := chunkFormat{log: true, num: num}
			var starts []int
			at := 0
			f.walk(b, func(chunk []byte) {
				if n, ok := noteOf(chunk); ok {
					require.EqualValues(t, len(starts)+1, n.at)
					require.EqualValues(t, len(starts), n.durable)
					starts = append(starts, at)
				}
				at += len(chunk)
				if left := recordBlock - at%recordBlock; left < syncedHeader && at < len(b) && zeros(block(b, at)) {
					at += left
				}
			})
			require.Len(t, starts, c.batches)
			require.True(t, logWhole(b, num))
			last := starts[len(starts)-1]
			for at := 0; at < last; at += 1 + last/200 {
				if zeros(block(b, at)) {
					continue // the unused end of a block
				}
				b[at] ^= 1
				require.False(t, logWhole(b, num), "byte %d of %d", at, last)
				b[at] ^= 1
			}
			require.True(t, logWhole(b[:last+3], num), "the end is cut")
			// A later life of the same file: the old batches follow the new.
			require.True(t, logWhole(append(slices.Clone(b), b...), num+1))
		})
	}
}

// A crash may keep a late batch and lose an earlier one, if neither was known
// to be durable. That is no damage.
func TestHolesBeforeTheFirstSyncAreNotDamage(t *testing.T) {
	b, num := logOf(t, 8, 10)
	f := chunkFormat{log: true, num: num}
	var at int
	var starts []int
	f.walk(b, func(chunk []byte) {
		starts = append(starts, at)
		at += len(chunk)
	})
	require.False(t, logWhole(hole(b, starts[3], starts[4]), num), "the fifth says that the fourth is durable")
	require.True(t, logWhole(hole(b, starts[7], len(b)), num), "nobody says that the last is")
	require.True(t, logWhole(hole(b, 0, len(b)), num))
}

func hole(b []byte, from, to int) []byte {
	b = slices.Clone(b)
	clear(b[from:to])
	return b
}
