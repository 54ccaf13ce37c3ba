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

// slowRead is how much longer each read of a table of the slow node takes, and patient
// how long somebody waits for one that does not come back.
const (
	slowRead = 100 * time.Millisecond
	patient  = 1500 * time.Millisecond
)

// TestSlowReads: a node's disk reads slowly, and then not at all. What is only slow is
// served, late, and strictly serializably; what does not come back fails when the caller's
// deadline passes. What other nodes hold alone, and what the slow one has in memory, waits
// for neither. Metrics and the log tell of both; with a good disk everything is there.
func TestSlowReads(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, proc.Options{})
	slow := c.Node(2)
	args := slices.Clip(slow.Args)
	c.Start(t)
	keys := keysOf(90)
	at := c.KeysByNode(t, keys)
	db := proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	put(t, db, "before", keys...)
	restart := func(delay time.Duration) { // so that nothing is in memory
		slow.Args = append(args, "--delay-read", delay.String())
		slow.Start(t)
		c.WaitConnected(t)
	}
	require.Zero(t, slow.Stop(t))
	restart(slowRead)
	begin := time.Now()
	got(t, db, "before", at[2][0])
	took := time.Since(begin)
	require.GreaterOrEqual(t, took, slowRead)
	fast := time.Hour
	for _, k := range append(slices.Clone(at[0]), at[2][0], at[2][0]) { // the last are in memory by now
		begin := time.Now()
		got(t, db, "before", k)
		fast = min(fast, time.Since(begin))
	}
	t.Logf("a read takes %v, from the slow disk %v", fast.Round(time.Microsecond), took.Round(time.Millisecond))
	require.Less(t, fast, slowRead)
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 1, Timeout: 20 * time.Second})
	run.Await(t, 50)
	forget(t, db, keys...)
	run.Finish(t)
	m, err := slow.Metrics(soon(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, m["linchpin_store_read_duration_seconds_sum"], slowRead.Seconds())
	put(t, db, "after", keys...)

	require.Zero(t, slow.Stop(t))
	restart(time.Hour)
	stuck := make(chan error, len(at[2]))
	for i, k := range at[2] {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), patient)
			defer cancel()
			ops := []client.Op{client.GetOp(k), client.PutOp(at[0][i%len(at[0])], []byte("half"))}
			stuck <- db.Execute(ctx, ops[:1+i%2]...) // alone, and with another node's
		}()
	}
	for range at[2] {
		err := waitFor(t, stuck, proc.WaitTimeout, "a read that stands still")
		ends := []client.Kind{client.KindDeadlineExceeded, client.KindOutcomeUnknown}
		require.Contains(t, ends, client.KindOf(err), "%v", err)
	}
	got(t, db, "after", slices.Concat(at[0], at[1])...)
	put(t, db, "others", slices.Concat(at[0], at[1])...)
	awaitOutput(t, slow, "slow store reads")
	awaitMetric(t, slow, "linchpin_shard_cache_misses_in_flight", func(v float64) bool { return v > 0 })

	slow.Kill() // it would wait for its disk
	slow.Args = args
	slow.Start(t)
	c.WaitConnected(t)
	got(t, db, "after", at[2]...)
	got(t, db, "others", slices.Concat(at[0], at[1])...)
	put(t, db, "again", keys...)
}
