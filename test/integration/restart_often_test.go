package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestNodeKilledEveryTwoSecondsMakesProgress: each run of the node is as long as a reader's lease, and new
// readers register all the time. If a restarted shard waited for the leases of the forgotten readers before
// it accepted writes, no run would commit any.
func TestNodeKilledEveryTwoSecondsMakesProgress(t *testing.T) {
	t.Parallel()
	_, err := clock.Boot()
	require.NoError(t, err)
	n := proc.NewSingle(t, filepath.Join(t.TempDir(), "store"))
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	ctx, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	var all errgroup.Group
	for c := range 4 {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("key %d", c)
				try, cancel := context.WithTimeout(ctx, 5*time.Second)
				if db.Put(try, key, fmt.Append(nil, i)) == nil {
					written.Add(1)
				}
				_ = db.View(try, func(ctx context.Context, v *client.View) error {
					_, _, err := v.Get(ctx, key)
					return err
				})
				cancel()
			}
			return nil
		})
	}
	productive := 0
	const kills, some = 5, 20 // a run that waits for a whole lease writes nothing
	for range kills {
		n.Kill()
		before := written.Load()
		n.Start(t)
		time.Sleep(2 * time.Second) // the length of a run
		t.Logf("%d writes in this run", written.Load()-before)
		if written.Load() > before+some {
			productive++
		}
	}
	stop()
	require.NoError(t, all.Wait())
	require.GreaterOrEqual(t, productive, kills-1, "runs with writes")
}
