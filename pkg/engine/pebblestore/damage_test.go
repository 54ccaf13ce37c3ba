package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/enginetest"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// image is the files of a store.
type image map[string][]byte

// takeImage takes them again if the open store deletes a file meanwhile, as it does in
// the background with those that it no longer needs.
func takeImage(t *testing.T, fs vfs.FS) image {
	const tries = 100
	for range tries {
		im, err := readImage(fs)
		if err == nil {
			return im
		}
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	t.Fatalf("files were deleted during each of %d listings", tries)
	return nil
}

func readImage(fs vfs.FS) (image, error) {
	names, err := fs.List("store")
	if err != nil {
		return nil, err
	}
	im := image{}
	for _, n := range names {
		if im[n], err = readFile(fs, "store", n); err != nil {
			return nil, err
		}
	}
	return im, nil
}

// disk makes a filesystem of im, with one byte of one file changed.
func (im image) disk(t *testing.T, name string, at int, mask byte) *vfs.MemFS {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o755))
	for n, b := range im {
		b = slices.Clone(b) // writing may change it
		if n == name {
			b[at] ^= mask
		}
		f, err := fs.Create("store/"+n, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(b)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return fs
}

// check opens a store with a changed byte. It passes if the store says that
// it is damaged, when it is opened or when it is read, or if nothing is
// missing. It reports whether there was an error.
func (im image) check(t *testing.T, name string, at int, mask byte, batches int) bool {
	t.Helper()
	where := fmt.Sprintf("%s, byte %d of %d ^ %02x", name, at, len(im[name]), mask)
	named := func(err error) bool {
		k := kv.KindOf(err)
		require.True(t, k == kv.KindCorrupt || k == kv.KindInvalid, "%s: %v", where, err)
		var e *kv.Error
		require.ErrorAs(t, err, &e)
		require.NotEmpty(t, e.Hint, where)
		return true
	}
	o := testOptions(t, im.disk(t, name, at, mask))
	o.OnFatal = func(err error) { t.Errorf("%s: a damaged file ended the process: %v", where, err) }
	s, err := Open("store", o)
	if err != nil {
		return named(err)
	}
	defer s.Close() // it may fail: flushing can meet the damage
	if err := readAll(s); err != nil {
		return named(err)
	}
	require.Equal(t, batches, survivors(t, s), "%s: batches were lost silently", where)
	return false
}

// readAll reads every row and gives the first error.
func readAll(s *Store) error {
	for sh := range kv.ShardID(crashShards) {
		for _, r := range everyRead {
			if res := s.Read(sh, r); res.Err != nil {
				return res.Err
			}
		}
		if err := s.Recover(sh, ignore); err != nil {
			return err
		}
	}
	return nil
}

// filled makes a store with tables, several records in its manifest, and rows
// in its log only. It gives the disk as it is, and as it is after Close.
func filled(t *testing.T) (crashed, closed image, batches int) {
	fs := vfs.NewMem()
	o := testOptions(t, fs)
	s, err := Open("store", o)
	require.NoError(t, err)
	for batches = 1; batches <= 40; batches++ {
		p, err := s.Append(numbered(batches, 200))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
		if batches%12 == 0 {
			require.NoError(t, s.db.Flush())
		}
	}
	batches--
	crashed = takeImage(t, fs)
	require.NoError(t, s.Close())
	closed = takeImage(t, fs)
	return crashed, closed, batches
}

// TestFlippedByte changes one byte at a time, of every file, of a store that
// was closed and of one that was not.
func TestFlippedByte(t *testing.T) {
	crashed, closed, batches := filled(t)
	require.Contains(t, closed, closedFile)
	for kind, im := range map[string]image{"closed": closed, "crashed": crashed} {
		t.Run(kind, func(t *testing.T) {
			names := make([]string, 0, len(im))
			for n := range im {
				names = append(names, n)
			}
			slices.Sort(names)
			tried, met := 0, map[string]int{}
			for _, n := range names {
				size := len(im[n])
				end := size
				if kind == "crashed" && ambiguousEnd(t, n, im) > 0 {
					end = ambiguousEnd(t, n, im)
				}
				step := max(1, size/30)
				for at := 0; at < end; at += step {
					tried++
					if im.check(t, n, at, 1<<(at%8), batches) {
						met[strings.TrimLeft(n, "0123456789")]++
					}
				}
			}
			require.Greater(t, tried, 150)
			require.NotZero(t, met[".sst"], "damage of tables is met")
			require.NotZero(t, met[formatFile])
			if kind == "crashed" {
				require.NotZero(t, met[".log"], "damage of the log is met: %v", met)
			}
		})
	}
}

// ambiguousEnd is from where on damage of a log or manifest that was not
// closed looks like a torn write: the last batch whose durability no
// later one reports, or the last record. 0 for other files.
func ambiguousEnd(t *testing.T, name string, im image) int {
	switch b := im[name]; {
	case strings.HasSuffix(name, ".log"):
		var num, last uint32
		_, err := fmt.Sscanf(name, "%d.log", &num)
		require.NoError(t, err)
		for n := range im {
			var other uint32
			if _, err := fmt.Sscanf(n, "%d.log", &other); err == nil {
				last = max(last, other)
			}
		}
		if num < last {
			return 0 // it was closed when the next one was begun
		}
		return lastChunk(chunkFormat{log: true, num: num}, b)
	case strings.HasPrefix(name, "MANIFEST-"):
		return lastChunk(chunkFormat{}, b)
	}
	return 0
}

// lastChunk is the offset of the last chunk.
func lastChunk(f chunkFormat, b []byte) (last int) {
	at := 0
	f.walk(b, func(chunk []byte) {
		last = at
		at += len(chunk)
		if rest := block(b, min(at, len(b))); len(rest) < syncedHeader && zeros(rest) {
			at += len(rest) // the unused end of a block
		}
	})
	return last
}

// TestReplacementBesideDamageLosesNothing: bytes of a table with the rows of three shards are flipped, and those of the
// second are replaced. That is refused, or the others' rows are all there or cannot be read.
func TestReplacementBesideDamageLosesNothing(t *testing.T) {
	fs := vfs.NewMem()
	o := testOptions(t, fs)
	o.Unlogged = true
	s, err := Open("store", o)
	require.NoError(t, err)
	want := map[kv.ShardID][][]byte{}
	for sh := range kv.ShardID(3) {
		_, err := s.Append([]entry.Group{{Shard: sh, Entries: enginetest.AllTables(int(sh))}})
		require.NoError(t, err)
		want[sh] = enginetest.Chunks(t, s, sh)
	}
	require.NoError(t, s.Close())
	im, table := takeImage(t, fs), ""
	for name, b := range im {
		if strings.HasSuffix(name, ".sst") && len(b) > len(im[table]) {
			table = name
		}
	}
	refused := 0
	for at := 0; at < len(im[table]); at += 1 + len(im[table])/50 {
		o.FS = im.disk(t, table, at, 0x10)
		s, err := Open("store", o)
		if err != nil {
			continue
		}
		if err := replaceBy(s, want[1]); err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "empty the node's directory")
			refused++
		}
		for sh, chunks := range want {
			got, err := chunksOf(s, sh)
			require.True(t, err != nil || slices.EqualFunc(chunks, got, bytes.Equal),
				"byte %d of %d is damaged: the rows of shard %d are lost", at, len(im[table]), sh)
		}
		_ = s.Close() // flushing, too, can meet the damage
	}
	require.NotZero(t, refused)
}

// replaceBy replaces the rows of shard 1.
func replaceBy(s *Store, chunks [][]byte) error {
	w, err := s.ReplaceShard(1)
	if err != nil {
		return err
	}
	for _, c := range chunks {
		err = errors.Join(err, w.Add(c))
	}
	if err == nil {
		_, err = w.Replace()
	}
	return errors.Join(err, w.Close())
}

func chunksOf(s *Store, shard kv.ShardID) (chunks [][]byte, err error) {
	r, err := s.ReadShard(shard)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err != nil || c == nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
}
