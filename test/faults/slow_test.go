package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// slowSync is how much longer each fsync of the slow node takes.
const slowSync = 150 * time.Millisecond

// TestSlowDisk: one node's fsyncs take a hundred times as long as usual. What
// others hold alone does not wait for it. Nothing is wrong because of it, and
// nothing fails with so much time; and the node's metrics show it.
func TestSlowDisk(t *testing.T) {
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
	took := time.Since(begin)
	t.Logf("a write takes %v, on the slow disk %v", fast.Round(time.Microsecond), took.Round(time.Millisecond))
	require.Less(t, fast, slowSync)
	require.GreaterOrEqual(t, took, slowSync)
	forget(t, db, append(at[0], at[2][0])...)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: 20 * time.Second})
	run.Await(t, 100)
	m, err := slow.Metrics(soon(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, m["linchpin_log_fsync_duration_seconds_sum"]/m["linchpin_log_fsync_duration_seconds_count"], slowSync.Seconds()/2)
	run.Finish(t)
}
