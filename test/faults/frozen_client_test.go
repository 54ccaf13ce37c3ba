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

// failoverBound bounds the time for which a client waits for a silent node, and for the outcome of its call
// at another one, on a busy machine.
const failoverBound = 6 * time.Second

// TestClientsLeaveFrozenNode: a client whose node is stopped with SIGSTOP connects to another one after 1.5
// s. Its calls in flight, one-shot and interactive, end by then, possibly with an unknown outcome, because
// the node may have decided them. Writes of keys of other nodes continue.
func TestClientsLeaveFrozenNode(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, proc.Keys(100))
	addrs := c.Addrs()
	db := proc.Open(t, addrs)
	frozen := slices.Index(addrs, admin.New(db).Addr())
	require.GreaterOrEqual(t, frozen, 0)
	otherKeys := at[(frozen+1)%len(at)]
	ctx, stop := context.WithCancel(t.Context())
	slowest := make([]time.Duration, 4)
	after := make([]int, len(slowest))
	errs := make([]error, len(slowest))
	var all sync.WaitGroup
	var frozenAt time.Time
	var mu sync.Mutex
	for n := range slowest {
		counter := client.NewCounter(otherKeys[n%len(otherKeys)])
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
				duration := proc.Elapsed(began)
				slowest[n] = max(slowest[n], duration)
				mu.Lock()
				if errors.Is(err, client.ErrOutcomeUnknown) && !frozenAt.IsZero() && began.Before(frozenAt) {
					err = nil // in flight, one of each writer
				}
				errs[n] = err
				if !frozenAt.IsZero() && began.After(frozenAt.Add(failoverBound)) {
					after[n]++
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Second)
	require.NoError(t, c.Node(frozen).Freeze())
	mu.Lock()
	frozenAt = time.Now()
	mu.Unlock()
	time.Sleep(failoverBound + 2*time.Second) // the time is what is tested
	require.NotEqual(t, addrs[frozen], admin.New(db).Addr())
	stop()
	all.Wait()
	require.NoError(t, c.Node(frozen).Thaw())
	for n, duration := range slowest {
		require.NoError(t, errs[n])
		require.Less(t, duration, failoverBound, "writer %d", n)
		require.Greater(t, after[n], 20, "writer %d continues", n)
	}
}
