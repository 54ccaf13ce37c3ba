package faults

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

// TestDeletionsFreeDiskSpace: clients write until the free space is below the reserve and new writes are
// rejected. Deletions are accepted until the free space is below half of the reserve. After most keys are
// deleted and the history has expired, the node frees disk space by itself and accepts writes again. The
// remaining keys are unchanged.
func TestDeletionsFreeDiskSpace(t *testing.T) {
	t.Parallel()
	// Besides the tables there are up to nine log files of 16 MiB each, which are reused. A table of that size
	// may be written while the limit is reached, and must not use up half of the reserve. (Smaller caches have
	// smaller tables and merge them earlier, so the free space varies more.)
	const size, reserve = 224 << 20, 48 << 20
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, size)
	n := proc.NewSingle(t, filepath.Join(dir, "store"), "--disk-reserve-mb", fmt.Sprint(reserve>>20), "--cache-mb", "128",
		"--history", "1s", "--history-every", "100ms")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	r := rand.NewChaCha8([32]byte{1})
	row := make([]byte, 128<<10)
	key := func(i int) string { return fmt.Sprintf("row/%05d", i) }
	written := 0
	for ; sandbox.Free(t, dir) >= reserve; written++ {
		_, err := r.Read(row) // not compressible
		require.NoError(t, err)
		copy(row, key(written))
		err = db.Put(proc.Context(t), key(written), row)
		if err != nil { // the node has detected it before the test
			requireKind(t, err, client.KindResourceExhausted, "writes other than deletions are rejected")
			break
		}
		require.Less(t, written, 2000, "the disk does not fill")
	}
	awaitMetric(t, n, "linchpin_store_full", isOne)
	requireKind(t, db.Put(proc.Context(t), "new", nil), client.KindResourceExhausted,
		"writes other than deletions are rejected")
	remove := sandbox.Ballast(t, dir, reserve*3/8)
	awaitMetric(t, n, "linchpin_store_full", func(v float64) bool { return v == 2 })
	requireKind(t, db.Delete(proc.Context(t), key(0)), client.KindResourceExhausted, "all writes are rejected")
	remove()
	awaitMetric(t, n, "linchpin_store_full", isOne)

	remaining := 0
	for i := range written {
		if i%8 == 0 {
			remaining++
			continue
		}
		require.NoError(t, db.Delete(proc.Context(t), key(i)))
	}
	awaitMetric(t, n, "linchpin_store_full", isZero)
	put(t, db, "new", proc.Keys(10)...)
	for i := 0; i < written; i += 8 {
		require.Equal(t, key(i), string(value(t, db, key(i))[:len(key(i))]))
	}
	t.Logf("%d of %d rows remain; the disk has %d MiB free", remaining, written, sandbox.Free(t, dir)>>20)
	awaitOutput(t, n, "disk space recovered")
}
