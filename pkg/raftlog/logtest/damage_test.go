package logtest_test

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/raftlog/logtest"
)

// image is the files of a store.
type image map[string][]byte

func takeImage(t *testing.T, fs vfs.FS) image {
	names, err := fs.List("log")
	require.NoError(t, err)
	im := image{}
	for _, name := range names {
		f, err := fs.Open("log/" + name)
		require.NoError(t, err)
		im[name], err = io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return im
}

// disk makes a file system of the image with one byte changed.
func (im image) disk(t *testing.T, name string, at int) *vfs.MemFS {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("log", 0o755))
	for n, b := range im {
		b = slices.Clone(b) // writing may change it
		if n == name {
			b[at] ^= 1 << (at % 8)
		}
		f, err := fs.Create("log/"+n, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(b)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return fs
}

// read opens the store with a changed byte and reads all logs.
func (im image) read(t *testing.T, name string, at int) (got string, err error) {
	rows, err := pebblestore.Open("log", options(t, im.disk(t, name, at)))
	if err != nil {
		return "", raftlog.OpenError(err)
	}
	defer func() { _ = rows.Close() }() // which may meet the damage
	s := raftlog.New(rows, raftlog.Options{TailBytes: 1})
	for i := range kv.ShardID(logtest.Groups) {
		if _, err := s.Open(i); err != nil {
			return "", err
		}
	}
	return logtest.ReadAll(t, s), nil
}

// filled makes logs with tables and a write-ahead log. It returns the disk before the last write, after a crash, and
// after a clean shutdown.
func filled(t *testing.T) (before, crashed, closed image, want string) {
	d := newDisk(t)
	h := logtest.NewHistory(d, 7)
	for i := range 150 {
		if i == 149 {
			before = takeImage(t, d.fs)
		}
		h.Write(t)
		if i%50 == 40 {
			d.Reopen() // which writes tables
			h.Restart()
		}
	}
	crashed = takeImage(t, d.fs)
	d.Reopen()
	require.NoError(t, d.Close())
	closed = takeImage(t, d.fs)
	d.open()
	return before, crashed, closed, h.Want()
}

// TestFlippedByte changes one byte of each file at a time: the logs are as they were, or an error says that they are
// damaged. After a crash, the end of a file looks as if a write was torn: in the write-ahead log from the last write
// on, and in the manifest its last record.
func TestFlippedByte(t *testing.T) {
	before, crashed, closed, want := filled(t)
	for kind, im := range map[string]image{"closed": closed, "crashed": crashed} {
		t.Run(kind, func(t *testing.T) {
			tried, found := 0, map[string]int{}
			for _, name := range slices.Sorted(maps.Keys(im)) {
				end := len(im[name])
				if kind == "crashed" && strings.HasSuffix(name, ".log") {
					end = len(before[name])
				}
				if kind == "crashed" && strings.HasPrefix(name, "MANIFEST") {
					end /= 2
				}
				for at := 0; at < end; at += max(1, end/60) {
					tried++
					got, err := im.read(t, name, at)
					if err != nil {
						requireDamage(t, err)
						found[strings.TrimLeft(name, "0123456789-")]++
						continue
					}
					require.Equal(t, want, got, "%s, byte %d of %d", name, at, len(im[name]))
				}
			}
			require.Greater(t, tried, 200)
			require.NotZero(t, found[".sst"], "damage of tables is found: %v", found)
			if kind == "crashed" {
				require.NotZero(t, found[".log"], "damage of the write-ahead log is found: %v", found)
			}
		})
	}
}

func requireDamage(t *testing.T, err error) {
	var e *kv.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Kind == kv.KindCorrupt || e.Kind == kv.KindInvalid, "%v", err)
	if e.Kind == kv.KindCorrupt {
		require.Contains(t, e.Hint, "empty the node's directories", "%v", err)
	}
	require.NotEmpty(t, e.Hint, "%v", err)
}
