package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestReadersAreNeverAborted has readers of all kinds and updates run on a few keys, with lost and duplicated messages.
// Updates abort each other; readers block them and wait for them. No reader is aborted, unless read-only transactions
// take locks. Snapshot rounds wait until lost messages have been retried: a view that reads on a shard that is missing
// from its snapshot would be aborted.
func TestReadersAreNeverAborted(t *testing.T) {
	run := func(reads txn.Reads) (sum Summary, holds, waits uint64) {
		sum = sumOf(t, 40, func(seed int64) Options {
			o := drawUpdates(seed)
			o.Reads, o.Plan, o.Lease = reads, txn.Plan([]txn.Plan{txn.PlanAny, txn.PlanParallel, txn.PlanHotLast}[seed%3]),
				time.Second
			o.Order, o.Shards, o.Nodes, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = txn.HotLast, 3, 3, 4, 1, 2, 10,
				15
			o.Straggle, o.Loss, o.Dup, o.ReadErrors, o.MaxWaiters, o.Crashes, o.Cuts = 0, 0.02, 0.1, 0, 0, 0, 0
			o.Mix = Mix{OneShot: 10, OneShotRead: 8, Interactive: 2, InteractiveRead: 4, Scan: 1, MaxOps: 4,
				Think: time.Millisecond, Ops: OpMix{Get: 6, Put: 8, Add: 2, Scan: 1, Require: 1}}
			o.Round = txn.RoundTimes{Wait: 300 * time.Millisecond, Lease: time.Second}
			o.MoveEvery = time.Duration(seed%2) * 50 * time.Millisecond
			return o
		}, func(w *sim) {
			for _, sh := range w.shards {
				q := sh.M.Status(0).Queues
				holds, waits = holds+q.Holds, waits+q.Waits
			}
		})
		return sum, holds, waits
	}
	sum, holds, waits := run(txn.SnapshotReads)
	t.Logf("%d readers, %d aborted; %d commits, %d updates aborted; %d updates held, %d readers waited", sum.Readers,
		sum.ReaderAborts, sum.Committed, sum.Aborted, holds, waits)
	require.Zero(t, sum.ReaderAborts)
	require.Greater(t, sum.Readers, 1000)
	require.Greater(t, sum.Committed, 1000)
	require.Greater(t, holds, uint64(100))
	require.Greater(t, waits, uint64(100))
	locking, _, _ := run(txn.LockingReads)
	t.Logf("locking readers: %d, %d attempts aborted", locking.Readers, locking.ReaderAborts)
	require.NotZero(t, locking.ReaderAborts)
}
