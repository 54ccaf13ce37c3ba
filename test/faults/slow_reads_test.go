package faults

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// slowRead is the delay of each table read of the slow node, readTimeout the timeout of reads that do not
// return.
const (
	slowRead    = 100 * time.Millisecond
	readTimeout = 1500 * time.Millisecond
)

// TestSlowReadsDelayOnlyTheirNode: the disk of a node reads slowly, and then not at all. Slow reads succeed
// late, with strictly serializable results; reads that do not return fail at their deadline. Keys of other
// nodes, and keys of the slow node that are in memory, are not delayed. Metrics and the log report both.
// After a restart with a good disk all data is there.
func TestSlowReadsDelayOnlyTheirNode(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{Replicas: 1})
	slow := c.Node(2)
	args := slices.Clip(slow.Args)
	c.Start(t)
	keys := proc.Keys(90)
	at := c.KeysByNode(t, keys)
	db := proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	put(t, db, "before", keys...)
	restart := func(delay time.Duration) { // so that no key is in memory
		slow.Args = append(args, "--delay-read", delay.String())
		slow.Start(t)
		c.WaitConnected(t)
	}
	require.Zero(t, slow.Stop(t))
	restart(slowRead)
	begin := time.Now()
	requireValues(t, db, "before", at[2][0])
	slowest := time.Since(begin)
	require.GreaterOrEqual(t, slowest, slowRead)
	fast := time.Hour
	for _, k := range append(slices.Clone(at[0]), at[2][0], at[2][0]) { // the last two are in memory by now
		begin := time.Now()
		requireValues(t, db, "before", k)
		fast = min(fast, time.Since(begin))
	}
	t.Logf("a read takes %v, from the slow disk %v", fast.Round(time.Microsecond), slowest.Round(time.Millisecond))
	require.Less(t, fast, slowRead)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: 20 * time.Second})
	run.Await(t, 50)
	deleteKeys(t, db, keys...)
	run.Finish(t)
	m, err := slow.Metrics(proc.Context(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, m["linchpin_store_read_duration_seconds_sum"], slowRead.Seconds())
	put(t, db, "after", keys...)

	require.Zero(t, slow.Stop(t))
	restart(time.Hour)
	stuck := make(chan error, len(at[2]))
	for i, k := range at[2] {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
			defer cancel()
			ops := []client.Op{client.GetOp(k), client.PutOp(at[0][i%len(at[0])], []byte("half"))}
			stuck <- db.Execute(ctx, ops[:1+i%2]...) // alone, or with a key of another node
		}()
	}
	for range at[2] {
		err := awaitResult(t, stuck, proc.WaitTimeout, "a read that does not return")
		ends := []client.Kind{client.KindDeadlineExceeded, client.KindOutcomeUnknown}
		require.Contains(t, ends, client.KindOf(err), "%v", err)
	}
	requireValues(t, db, "after", slices.Concat(at[0], at[1])...)
	put(t, db, "others", slices.Concat(at[0], at[1])...)
	awaitOutput(t, slow, "slow store reads")
	awaitMetric(t, slow, "linchpin_shard_cache_misses_in_flight", func(v float64) bool { return v > 0 })

	slow.Kill() // a clean shutdown would wait for the disk
	slow.Args = args
	slow.Start(t)
	c.WaitConnected(t)
	requireValues(t, db, "after", at[2]...)
	requireValues(t, db, "others", slices.Concat(at[0], at[1])...)
	put(t, db, "again", keys...)
}
