package faults

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestFlippedByteInATable: a node starts with a damaged block in a table. What
// that holds is refused with the key and the file; all else is served and
// written, before and after.
func TestFlippedByteInATable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := single(t, dir)
	n.Start(t)
	r := rand.New(rand.NewPCG(1, 9))
	keys := keysOf(600)
	values := map[string][]byte{}
	var ops []client.Op
	for _, k := range keys {
		v := make([]byte, 512) // which does not compress
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		values[k] = v
		ops = append(ops, client.PutOp(k, v))
	}
	require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(soon(t), ops...))
	require.Zero(t, n.Stop(t))
	damaged := "file " + flipInLargestTable(t, dir)
	n.Start(t)

	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	var lost, kept []string
	for _, k := range keys {
		v, _, err := db.Get(soon(t), k)
		if err != nil {
			e := failsAs(t, err, client.KindCorrupt, damaged)
			require.Equal(t, k, e.Key)
			lost = append(lost, k)
			continue
		}
		require.True(t, bytes.Equal(values[k], v), "%s is not what was written", k)
		kept = append(kept, k)
	}
	require.NotEmpty(t, lost, "the flipped byte is in nobody's block")
	require.Greater(t, len(kept), len(keys)/2)
	t.Logf("of %d keys, %d were in the damaged block", len(keys), len(lost))
	put(t, db, "new", kept[0])
	err := db.Execute(soon(t), client.GetOp(kept[1]), client.GetOp(lost[0]))
	failsAs(t, err, client.KindCorrupt, damaged)
	err = db.Execute(soon(t), client.PutOp(kept[1], nil), client.RequireOp(lost[0], client.IfExists()))
	failsAs(t, err, client.KindCorrupt, damaged)
	require.True(t, bytes.Equal(values[kept[1]], value(t, db, kept[1])), "half a transaction was applied")
	awaitMetric(t, n, "linchpin_store_corruptions_total", func(v float64) bool { return v > 0 })
	awaitOutput(t, n, "has a damaged file")
}

// flipInLargestTable flips a bit in the middle of the largest table below dir,
// where its rows are, and gives the file's number.
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
