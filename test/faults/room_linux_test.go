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

// TestDeletionsMakeRoom: clients write until the disk has less free than the reserve and
// new writes are refused. Then they delete most of it, which is let in, and when nobody
// reads the past any more the node has room again by itself: it writes, and what was not
// deleted is as it was. With less than half of the reserve not even deletions are let in.
func TestDeletionsMakeRoom(t *testing.T) {
	t.Parallel()
	// Beside the tables there are up to nine files of the log, of 16 MiB each, which are
	// used again. A table of that size may still be under way when the reserve is touched,
	// and must not use up half of it. (Small caches have smaller ones, and merge them
	// earlier, so that what is free varies more.)
	const size, reserve = 224 << 20, 48 << 20
	dir := filepath.Join(t.TempDir(), "small")
	sandbox.MountSmall(t, dir, size)
	n := single(t, filepath.Join(dir, "store"), "--disk-reserve-mb", fmt.Sprint(reserve>>20), "--cache-mb", "128",
		"--history", "1s", "--history-every", "100ms")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	r := rand.NewChaCha8([32]byte{1})
	row := make([]byte, 128<<10)
	key := func(i int) string { return fmt.Sprintf("row/%05d", i) }
	written := 0
	for ; sandbox.Free(t, dir) >= reserve; written++ {
		_, err := r.Read(row) // which does not compress
		require.NoError(t, err)
		copy(row, key(written))
		err = db.Put(soon(t), key(written), row)
		if err != nil {
			failsAs(t, err, client.KindResourceExhausted, "writes other than deletions are rejected") // it was faster
			break
		}
		require.Less(t, written, 2000, "the disk never fills")
	}
	awaitMetric(t, n, "linchpin_store_full", isOne)
	failsAs(t, db.Put(soon(t), "new", nil), client.KindResourceExhausted, "writes other than deletions are rejected")
	giveBack := sandbox.Ballast(t, dir, reserve*3/8)
	awaitMetric(t, n, "linchpin_store_full", func(v float64) bool { return v == 2 })
	failsAs(t, db.Delete(soon(t), key(0)), client.KindResourceExhausted, "all writes are rejected")
	giveBack()
	awaitMetric(t, n, "linchpin_store_full", isOne)

	kept := 0
	for i := range written {
		if i%8 == 0 {
			kept++
			continue
		}
		require.NoError(t, db.Delete(soon(t), key(i)))
	}
	awaitMetric(t, n, "linchpin_store_full", isZero)
	put(t, db, "new", keysOf(10)...)
	for i := 0; i < written; i += 8 {
		require.Equal(t, key(i), string(value(t, db, key(i))[:len(key(i))]))
	}
	t.Logf("%d of %d rows are left, and the disk has %d MiB free", kept, written, sandbox.Free(t, dir)>>20)
	awaitOutput(t, n, "disk space recovered")
}
