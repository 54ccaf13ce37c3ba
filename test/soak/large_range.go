package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// largeRange is a range of keys that does not change.
type largeRange struct {
	mu sync.Mutex
	// entries is the number of entries that slow readers have read.
	entries int
}

const (
	rangeKeys       = 2000
	rangeValueBytes = 1 << 10
)

func rangeKey(i int) string { return fmt.Sprintf("wide/%04d", i) }

func rangeValue(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	v := make([]byte, rangeValueBytes)
	for j := range v {
		v[j] = byte(r.Uint32())
	}
	return v
}

// createLargeRange writes the range.
func createLargeRange(t testing.TB, db *client.DB) *largeRange {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for i := 0; i < rangeKeys; {
		var ops []client.Op
		for ; len(ops) < 200 && i < rangeKeys; i++ {
			ops = append(ops, client.PutOp(rangeKey(i), rangeValue(i)))
		}
		if err := db.Execute(ctx, ops...); err != nil {
			t.Fatal(err)
		}
	}
	return &largeRange{}
}

// read scans the range through one node, and reads an entry after each pause. It requires the right entries
// in order, whether the scan completes or not.
func (w *largeRange) read(ctx context.Context, t testing.TB, addr string, pause time.Duration) {
	db, err := client.Open(ctx, []string{addr})
	if err != nil {
		return // the node is down or unreachable
	}
	defer db.Close()
	i := 0
	for e, err := range db.Scan(ctx, client.Prefix("wide/"), client.PageSize(100)) {
		if err != nil {
			w.requireExplained(t, ctx, err)
			break
		}
		if e.Key != rangeKey(i) || !slices.Equal(e.Value, rangeValue(i)) {
			t.Errorf("a slow reader read %q instead of %s", e.Key, rangeKey(i))
			return
		}
		i++
		workload.Sleep(ctx, pause)
		if ctx.Err() != nil {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries += i
}

// requireExplained requires that the error of a scan is explained by a fault.
func (w *largeRange) requireExplained(t testing.TB, ctx context.Context, err error) {
	if ctx.Err() == nil && !slices.Contains(expected, string(client.KindOf(err))) {
		t.Errorf("a slow reader failed: %v", err)
	}
}
