package faults

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestFlippedBitInALargeValue: a bit of a value of a MiB is flipped. Who asks for it is
// told within 100 ms that it is damaged, each time and however many ask at once, and
// meanwhile all else is read from the disk and written as ever.
func TestFlippedBitInALargeValue(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := single(t, dir)
	n.Start(t)
	r := rand.NewChaCha8([32]byte{5})
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	keys := keysOf(40)
	values := map[string][]byte{}
	for i, k := range keys {
		v := make([]byte, kv.MaxValueBytes)
		if i%2 == 1 {
			v = v[:1<<10]
		}
		_, err := r.Read(v) // which does not compress
		require.NoError(t, err)
		values[k] = v
		require.NoError(t, db.Put(soon(t), k, v))
	}
	require.Zero(t, n.Stop(t))
	damaged := keys[20]
	flipWhere(t, dir, values[damaged][700<<10:][:32])
	n.Start(t)

	db = proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	const askers, times = 16, 5
	var mu sync.Mutex
	var told []time.Duration
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for range times {
				begin := time.Now()
				_, _, err := db.Get(t.Context(), damaged)
				took := time.Since(begin)
				if !errors.Is(err, client.ErrCorrupt) || !strings.Contains(err.Error(), "checksum mismatch") {
					t.Errorf("a damaged value was answered with %v", err)
				}
				mu.Lock()
				told = append(told, took)
				mu.Unlock()
			}
		})
	}
	neighbours := 0
	for _, k := range keys {
		v, _, err := db.Get(soon(t), k)
		if err != nil { // it is in the same block
			failsAs(t, err, client.KindCorrupt, "checksum mismatch")
			require.True(t, k == damaged || len(values[k]) < 8<<10, "%s has a block of its own", k)
			neighbours++
			continue
		}
		require.True(t, bytes.Equal(values[k], v), "%s is not what was written", k)
		put(t, db, "new", k)
	}
	wg.Wait()
	require.LessOrEqual(t, neighbours, 8, "keys in one block")
	slices.Sort(told)
	t.Logf("damage was told within %v (p50), %v (max) to %d askers at a time", told[len(told)/2], told[len(told)-1], askers)
	require.Less(t, told[len(told)/2], 100*time.Millisecond)
	err := db.Execute(soon(t), client.PutOp(damaged, nil), client.RequireOp(damaged, client.IfExists()))
	failsAs(t, err, client.KindCorrupt, "checksum mismatch")
}

// flipWhere flips a bit of bytes that stand in a table below dir.
func flipWhere(t *testing.T, dir string, stored []byte) {
	t.Helper()
	found := false
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || found || !strings.HasSuffix(path, ".sst") {
			return err
		}
		raw, err := os.ReadFile(path)
		at := bytes.Index(raw, stored)
		if err != nil || at < 0 {
			return err
		}
		found = true
		raw[at] ^= 0x10
		return os.WriteFile(path, raw, 0o600)
	}))
	require.True(t, found, "the bytes are in no table")
}
