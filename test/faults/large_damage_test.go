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

// TestDamagedLargeValueIsReported: a bit of a value of 1 MiB is flipped. Every read of it fails within 100
// ms, also concurrent ones, and meanwhile all other keys can be read from disk and written.
func TestDamagedLargeValueIsReported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := proc.NewSingle(t, dir)
	n.Start(t)
	r := rand.NewChaCha8([32]byte{5})
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	keys := proc.Keys(40)
	values := map[string][]byte{}
	for i, k := range keys {
		v := make([]byte, kv.MaxValueBytes)
		if i%2 == 1 {
			v = v[:1<<10]
		}
		_, err := r.Read(v) // not compressible
		require.NoError(t, err)
		values[k] = v
		require.NoError(t, db.Put(proc.Context(t), k, v))
	}
	require.Zero(t, n.Stop(t))
	damaged := keys[20]
	flipBitOf(t, dir, values[damaged][700<<10:][:32])
	n.Start(t)

	db = proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	const readers, times = 16, 5
	var mu sync.Mutex
	var latencies []time.Duration
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for range times {
				begin := time.Now()
				_, _, err := db.Get(t.Context(), damaged)
				latency := time.Since(begin)
				if !errors.Is(err, client.ErrCorrupt) || !strings.Contains(err.Error(), "checksum mismatch") {
					t.Errorf("a read of the damaged value returned %v", err)
				}
				mu.Lock()
				latencies = append(latencies, latency)
				mu.Unlock()
			}
		})
	}
	neighbours := 0
	for _, k := range keys {
		v, _, err := db.Get(proc.Context(t), k)
		if err != nil { // in the damaged block
			requireKind(t, err, client.KindCorrupt, "checksum mismatch")
			require.True(t, k == damaged || len(values[k]) < 8<<10, "%s has its own block", k)
			neighbours++
			continue
		}
		require.True(t, bytes.Equal(values[k], v), "%s: wrong value", k)
		put(t, db, "new", k)
	}
	wg.Wait()
	require.LessOrEqual(t, neighbours, 8, "keys in one block")
	slices.Sort(latencies)
	t.Logf("damage was reported within %v (p50), %v (max) to %d concurrent readers", latencies[len(latencies)/2],
		latencies[len(latencies)-1], readers)
	require.Less(t, latencies[len(latencies)/2], 100*time.Millisecond)
	err := db.Execute(proc.Context(t), client.PutOp(damaged, nil), client.RequireOp(damaged, client.IfExists()))
	requireKind(t, err, client.KindCorrupt, "checksum mismatch")
}

// flipBitOf flips a bit of bytes that are stored in a table below dir.
func flipBitOf(t *testing.T, dir string, stored []byte) {
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
	require.True(t, found, "no table has the bytes")
}
