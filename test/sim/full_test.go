package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// fullness counts what the test has seen on disks without free space.
type fullness struct {
	// full and low count periods: of disks that admitted no write, and of disks that admitted only deletions. refused
	// counts pieces.
	full, low int
	refused   uint64
}

// TestFullDisks has disks run low on free space, and out of it, under clients of all kinds. The histories are checked
// as in all runs, and:
// - What was prepared when space ran out is decided long before space returns.
// - A full disk admits no new write, and a low one admits only deletions.
// - Readers are served.
// - Afterwards all clients continue, and nothing is left over.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	var seen fullness
	sum := sumOf(t, 24, func(seed int64) Options {
		o := drawUpdates(seed)
		o.Shards, o.Nodes, o.Clients, o.Txns = 3, 3, 8, 120
		o.Straggle, o.Dup, o.Loss, o.ReadErrors, o.Crashes, o.Cuts, o.Mix.Vanish = 0, 0.05, 0.01, 0, 0, 0, 0
		o.Sync, o.DiskRead = min(o.Sync, time.Millisecond), min(o.DiskRead, 100*time.Microsecond)
		o.Mix.OneShotRead, o.Mix.Think = 6, 15*time.Millisecond
		// The period is several times longer than a lease, than the time for which views block an update (50 ms and a
		// snapshot round), and than the retries of lost messages take.
		o.Fills, o.FillFor, o.Lease = 20, 400*time.Millisecond, 30*time.Millisecond
		o.GraphOnly, o.onFillEnd = seed%2 == 0, seen.onFillEnd
		return o
	}, func(w *sim) { seen.refused += w.refusedForSpace() })
	t.Logf("%d commits, %d aborted, %d disks without space: %d full, %d low; "+
		"%d pieces refused; %d deletions and %d readers served there",
		sum.Committed, sum.Aborted, sum.Fills, seen.full, seen.low, seen.refused, sum.FullDeletes, sum.FullReads)
	require.Greater(t, seen.full, 50)
	require.Greater(t, seen.low, 50)
	require.Greater(t, seen.refused, uint64(500))
	require.Greater(t, sum.FullDeletes, 10)
	require.Greater(t, sum.FullReads, 100)
}

// onFillEnd checks that what was prepared when the disk became full is decided.
func (f *fullness) onFillEnd(w *sim, d *world.Disk) {
	if d.Level == shard.DiskLow {
		f.low++
		return
	}
	f.full++
	for _, s := range d.Shards {
		if n := s.M.Status(0).Prepared; n > 0 {
			w.Fail("%v: %d prepared updates are undecided long after the disk became full", s.ID, n)
		}
	}
}
