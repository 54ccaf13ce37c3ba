package faults

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// leavesWithin is how long a client may wait for a silent node, and for the outcome of its
// call at another one, on a busy machine.
const leavesWithin = 6 * time.Second

// TestClientsLeaveAFrozenNode: a client whose node is stopped (SIGSTOP) turns to another one
// after 3 s. Its calls in flight, one-shots and interactive, end by then, if need be with an
// unknown outcome: the node may have decided them. Keys of other nodes are written as before.
func TestClientsLeaveAFrozenNode(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(100))
	addrs := c.Addrs()
	db := proc.Open(t, addrs)
	frozen := slices.Index(addrs, admin.New(db).Addr())
	require.GreaterOrEqual(t, frozen, 0)
	others := at[(frozen+1)%len(at)]
	ctx, stop := context.WithCancel(t.Context())
	slowest := make([]time.Duration, 4)
	after := make([]int, len(slowest))
	errs := make([]error, len(slowest))
	var all sync.WaitGroup
	var froze time.Time
	var mu sync.Mutex
	for n := range slowest {
		counter := client.NewCounter(others[n%len(others)])
		write := func() error { return counter.Add(t.Context(), db, 1) }
		if n%2 == 1 {
			write = func() error {
				return db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error { return counter.Add(ctx, tx, 1) })
			}
		}
		all.Go(func() {
			for ctx.Err() == nil && errs[n] == nil {
				began := time.Now()
				err := write()
				took := time.Since(began)
				slowest[n] = max(slowest[n], took)
				mu.Lock()
				if errors.Is(err, client.ErrOutcomeUnknown) && !froze.IsZero() && began.Before(froze) {
					err = nil // it was in flight, one of each writer
				}
				errs[n] = err
				if !froze.IsZero() && began.After(froze.Add(leavesWithin)) {
					after[n]++
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Second)
	require.NoError(t, c.Node(frozen).Freeze())
	mu.Lock()
	froze = time.Now()
	mu.Unlock()
	time.Sleep(leavesWithin + 2*time.Second) // it is about time
	require.NotEqual(t, addrs[frozen], admin.New(db).Addr())
	stop()
	all.Wait()
	require.NoError(t, c.Node(frozen).Thaw())
	for n, took := range slowest {
		require.NoError(t, errs[n])
		require.Less(t, took, leavesWithin, "writer %d", n)
		require.Greater(t, after[n], 20, "writer %d goes on", n)
	}
}
