package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// slowSync is the delay of each fsync of the slow node.
const slowSync = 150 * time.Millisecond

// TestSlowDiskDelaysOnlyItsNode: the fsyncs of one node take about a hundred times as long as usual.
// Transactions on other nodes are not delayed. All results are correct, no transaction with a sufficient
// timeout fails, and the metrics of the node show the delay.
func TestSlowDiskDelaysOnlyItsNode(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{})
	slow := c.Node(2)
	slow.Args = append(slow.Args, "--delay-fsync", slowSync.String())
	c.Start(t)
	at := c.KeysByNode(t, keysOf(20))
	db := proc.Open(t, []string{c.Node(0).Addr})
	fast := time.Hour
	for _, k := range at[0] {
		begin := time.Now()
		put(t, db, "fast", k)
		fast = min(fast, time.Since(begin))
	}
	begin := time.Now()
	put(t, db, "slow", at[2][0])
	slowWrite := time.Since(begin)
	t.Logf("a write takes %v, on the slow disk %v", fast.Round(time.Microsecond), slowWrite.Round(time.Millisecond))
	require.Less(t, fast, slowSync)
	require.GreaterOrEqual(t, slowWrite, slowSync)
	deleteKeys(t, db, append(at[0], at[2][0])...)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: 20 * time.Second})
	run.Await(t, 100)
	m, err := slow.Metrics(testContext(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t,
		m["linchpin_log_fsync_duration_seconds_sum"]/m["linchpin_log_fsync_duration_seconds_count"], slowSync.Seconds()/2)
	run.Finish(t)
}
