package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestReadersWhileNodesDrain has nodes drain and stop one after the other while readers
// of all kinds and updates meet on a few keys. What readers saw was so, also where they
// could not be pinned, or began anew.
func TestReadersWhileNodesDrain(t *testing.T) {
	var sum Summary
	for seed := range int64(60) {
		o := drawUpdates(seed)
		plans := []txn.Plan{txn.PlanAny, txn.PlanAtOnce, txn.PlanHotLast}
		o.Reads, o.Plan, o.Lease, o.Order = txn.SnapshotReads, plans[seed%3], time.Second, txn.HotLast
		o.Shards, o.Nodes, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 3, 4, 1, 2, 10, 25
		o.Crashes, o.Cuts, o.Drains, o.Down = 0, 0, 4, 100*time.Millisecond
		o.OpenBudget, o.HoldBound = time.Duration(1+seed%5)*time.Millisecond, time.Duration(1+seed%3)*time.Millisecond
		o.CrowdFor, o.Machines = 20*time.Millisecond, int(1+seed%4)
		o.Mix = Mix{OneShot: 8, OneShotRead: 8, Interactive: 2, InteractiveRead: 10, Scan: 1, MaxOps: 4, Think: time.Millisecond,
			Ops: OpMix{Get: 6, Put: 8, Add: 2, Scan: 1, Require: 1}}
		s, err := Run(o)
		require.NoError(t, err, "seed %d", seed)
		sum.add(s)
	}
	// A view that has left a shard and can have no state forgets what it has read, or the judge complains.
	// Readers whose node goes away begin anew; hardly any is told of an aborted attempt.
	require.Less(t, 100*sum.ReaderAborts, sum.Readers)
	t.Logf("%d drains; %d readers, %d aborted; %d commits, %d updates aborted",
		sum.Drains, sum.Readers, sum.ReaderAborts, sum.Committed, sum.Aborted)
	require.Greater(t, sum.Drains, 60)
	require.Greater(t, sum.Readers, 2000)
}
