package embed

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

const (
	reclaimValue = 100 << 10 // bytes
	reclaimBatch = 20        // keys in a transaction
)

// fill writes keys with values that do not compress, and deletes those of keep 0.
func fill(t *testing.T, db *client.DB, keys, keep int) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	key := func(i int) string { return fmt.Sprintf("k%04d", i) }
	for i := 0; i < keys; i += reclaimBatch {
		var ops []client.Op
		for j := i; j < i+reclaimBatch; j++ {
			v := make([]byte, reclaimValue)
			for b := range v {
				v[b] = byte(r.Uint32())
			}
			ops = append(ops, client.PutOp(key(j), v))
		}
		require.NoError(t, db.Execute(t.Context(), ops...))
	}
	for i := keep; i < keys; i += reclaimBatch {
		var ops []client.Op
		for j := i; j < i+reclaimBatch; j++ {
			ops = append(ops, client.DeleteOp(key(j)))
		}
		require.NoError(t, db.Execute(t.Context(), ops...))
	}
}

// sizeOf is the size of the files of a directory. Files may go meanwhile.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// TestReclaimShrinksTheDirectory: what was deleted and has left the history is shown, and
// freed; what was not deleted is there.
func TestReclaimShrinksTheDirectory(t *testing.T) {
	t.Parallel()
	const keys, keep, deleted = 400, 40, 360 * reclaimValue
	opt := Options{Protocol: Protocol{History: 300 * time.Millisecond, HistoryEvery: 50 * time.Millisecond},
		CacheBytes: 16 << 20}
	i, db := alone(t, opt)
	fill(t, db, keys, keep)
	a := admin.New(db)
	var st admin.Status
	require.Eventually(t, func() (ok bool) {
		var err error
		st, err = a.Status(t.Context())
		return err == nil && st.ReclaimableBytes > deleted*4/10
	}, 30*time.Second, 20*time.Millisecond)
	require.Less(t, st.ReclaimableBytes, int64(deleted*13/10))
	before, freed, steps := sizeOf(i.opt.Dir), int64(0), 0
	for begin := time.Now(); freed < deleted*8/10; { // until the history of all that was deleted has ended
		p, err := a.Reclaim(t.Context(), func(admin.ReclaimProgress) { steps++ })
		require.NoError(t, err)
		freed += p.Before - p.After
		require.Less(t, time.Since(begin), 30*time.Second)
	}
	require.Positive(t, steps)
	require.InDelta(t, before-sizeOf(i.opt.Dir), freed, 4<<20)
	n := 0
	for _, err := range db.Scan(t.Context(), client.Range{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, keep, n)
	st, err := a.Status(t.Context())
	require.NoError(t, err)
	require.Less(t, st.ReclaimableBytes, int64(deleted/10))
}

// TestReclaimKeepsTheHistory, and says so.
func TestReclaimKeepsTheHistory(t *testing.T) {
	_, db := alone(t, Options{Protocol: Protocol{History: time.Hour, HistoryEvery: 50 * time.Millisecond},
		CacheBytes: 16 << 20})
	fill(t, db, 40, 0)
	p, err := admin.New(db).Reclaim(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, p.Note, "in the last 1h0m0s")
}
