package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestMachinesShareSnapshots has the machines of gateways lend each other snapshots, with and without faults. All reads
// are consistent, and every snapshot is returned.
func TestMachinesShareSnapshots(t *testing.T) {
	t.Parallel()
	sum := sumOf(t, 60, func(seed int64) Options {
		o := Draw(seed)
		o.Machines, o.Slots, o.KeySlots = int(2+seed%3), 0, 0
		o.Reads, o.Lease = txn.SnapshotReads, time.Second
		o.Mix.OneShotRead, o.Mix.InteractiveRead, o.OpenBudget = 8, 8, time.Millisecond
		if seed%2 == 0 {
			o.Plan = txn.PlanSnapshot
		}
		return o
	}, func(*sim) {})
	t.Logf("%d snapshots lent; %d readers, %d aborted; %d crashes", sum.Lent, sum.Readers, sum.ReaderAborts, sum.Crashes)
	require.Greater(t, sum.Lent, 1000)
}
