package faults

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestDamagedTableBlockIsReported: a node starts with a damaged block in a table. Reads of its keys fail
// with an error that names the key and the file. All other keys can be read and written.
func TestDamagedTableBlockIsReported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := proc.NewSingle(t, dir)
	n.Start(t)
	r := rand.New(rand.NewPCG(1, 9))
	keys := proc.Keys(600)
	values := map[string][]byte{}
	var ops []client.Op
	for _, k := range keys {
		v := make([]byte, 512) // not compressible
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		values[k] = v
		ops = append(ops, client.PutOp(k, v))
	}
	require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(proc.Context(t), ops...))
	require.Zero(t, n.Stop(t))
	damaged := "file " + flipInLargestTable(t, dir)
	n.Start(t)

	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	var unreadable, intact []string
	for _, k := range keys {
		v, _, err := db.Get(proc.Context(t), k)
		if err != nil {
			e := requireKind(t, err, client.KindCorrupt, damaged)
			require.Equal(t, k, e.Key)
			unreadable = append(unreadable, k)
			continue
		}
		require.True(t, bytes.Equal(values[k], v), "%s: wrong value", k)
		intact = append(intact, k)
	}
	require.NotEmpty(t, unreadable, "no key is in the damaged block")
	require.Greater(t, len(intact), len(keys)/2)
	t.Logf("of %d keys, %d were in the damaged block", len(keys), len(unreadable))
	put(t, db, "new", intact[0])
	err := db.Execute(proc.Context(t), client.GetOp(intact[1]), client.GetOp(unreadable[0]))
	requireKind(t, err, client.KindCorrupt, damaged)
	err = db.Execute(proc.Context(t), client.PutOp(intact[1], nil), client.RequireOp(unreadable[0], client.IfExists()))
	requireKind(t, err, client.KindCorrupt, damaged)
	require.True(t, bytes.Equal(values[intact[1]], value(t, db, intact[1])), "a failed transaction was applied")
	awaitMetric(t, n, "linchpin_store_corruptions_total", func(v float64) bool { return v > 0 })
	awaitOutput(t, n, "has a damaged file")
}

// flipInLargestTable flips a bit in the middle of the largest table below dir, which is in a data block,
// and returns the number of the file.
func flipInLargestTable(t *testing.T, dir string) string {
	t.Helper()
	name, size := "", int64(0)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sst") {
			if info, err := d.Info(); err == nil && info.Size() > size {
				name, size = path, info.Size()
			}
		}
		return err
	}))
	require.NotEmpty(t, name)
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	raw[len(raw)/2] ^= 0x10
	require.NoError(t, os.WriteFile(name, raw, 0o600))
	return strings.TrimSuffix(filepath.Base(name), ".sst")
}

// flipValue flips a bit of a value in each table below dir that has a value among many others: its block has nothing
// that a node needs to start.
func flipValue(t *testing.T, dir string, values [][]byte) {
	t.Helper()
	const beside, most = 20, 16 << 10 // values on each side, and the bytes of those on one
	flipped := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sst") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var places []int
		for _, v := range values {
			if at := bytes.Index(raw, v); at >= 0 {
				places = append(places, at)
			}
		}
		slices.Sort(places)
		for i := beside; i+beside < len(places); i++ {
			if places[i+beside]-places[i] < most && places[i]-places[i-beside] < most {
				raw[places[i]] ^= 0x10
				flipped++
				return os.WriteFile(path, raw, 0o600)
			}
		}
		return nil
	}))
	require.NotZero(t, flipped, "no table has the values")
}
