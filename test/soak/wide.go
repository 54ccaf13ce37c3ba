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
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// wide is a range of keys that stays as it is.
type wide struct {
	mu sync.Mutex
	// taken is how many pairs slow readers have got.
	taken int
}

const (
	wideKeys  = 2000
	wideBytes = 1 << 10
)

func wideKey(i int) string { return fmt.Sprintf("wide/%04d", i) }

func wideValue(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	v := make([]byte, wideBytes)
	for j := range v {
		v[j] = byte(r.Uint32())
	}
	return v
}

// makeWide writes the range.
func makeWide(t testing.TB, db *client.DB) *wide {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
	defer cancel()
	for i := 0; i < wideKeys; {
		var ops []client.Op
		for ; len(ops) < 200 && i < wideKeys; i++ {
			ops = append(ops, client.PutOp(wideKey(i), wideValue(i)))
		}
		if err := db.Execute(ctx, ops...); err != nil {
			t.Fatal(err)
		}
	}
	return &wide{}
}

// read scans the range through one node, and takes a pair after each pause.
// However that ends, what it got are the first pairs, and all of them if it ends
// well.
func (w *wide) read(ctx context.Context, t testing.TB, addr string, pause time.Duration) {
	db, err := client.Open(ctx, []string{addr})
	if err != nil {
		return // the node is down or cut off
	}
	defer db.Close()
	i := 0
	for e, err := range db.Scan(ctx, client.Prefix("wide/"), client.PageSize(100)) {
		if err != nil {
			w.ended(t, ctx, err)
			break
		}
		if e.Key != wideKey(i) || !slices.Equal(e.Value, wideValue(i)) {
			t.Errorf("a slow reader got %q in the place of %s", e.Key, wideKey(i))
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
	w.taken += i
}

// ended requires that a scan was ended by what a fault explains.
func (w *wide) ended(t testing.TB, ctx context.Context, err error) {
	if ctx.Err() == nil && !slices.Contains(expected, string(client.KindOf(err))) {
		t.Errorf("a slow reader failed: %v", err)
	}
}
