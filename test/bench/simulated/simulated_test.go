package simulated_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// small is a contended run that takes a second at most.
func small(t testing.TB, reads txn.Reads) simulated.Options {
	w, err := workload.Published("sss", 4)
	require.NoError(t, err)
	w.Keys, w.Skew = 100, 0.9
	return simulated.Options{Nodes: 4, Clients: 5, Reads: reads, Workload: w, Seed: 7, Warm: 5 * time.Millisecond,
		Measure: 30 * time.Millisecond,
		Costs:   simulated.Costs{Message: 2 * time.Microsecond, Other: 3 * time.Microsecond}}
}

func both(t *testing.T, f func(t *testing.T, reads txn.Reads)) {
	for _, r := range []txn.Reads{txn.SnapshotReads, txn.LockingReads} {
		t.Run(r.String(), func(t *testing.T) { t.Parallel(); f(t, r) })
	}
}

// TestOneSeedIsOneRun runs twice and expects the same results to the last
// digit, and others of another seed.
func TestOneSeedIsOneRun(t *testing.T) {
	both(t, func(t *testing.T, reads txn.Reads) {
		o := small(t, reads)
		a, err := simulated.Run(o)
		require.NoError(t, err)
		b, err := simulated.Run(o)
		require.NoError(t, err)
		b.Options = a.Options // functions are not compared
		require.Equal(t, a, b)
		o.Seed++
		b, err = simulated.Run(o)
		require.NoError(t, err)
		require.NotEqual(t, a.Reads, b.Reads)
	})
}

// TestNothingIsLost: every transaction ends, and each value that an update has
// read was written by the one update that came before it on that key.
func TestNothingIsLost(t *testing.T) {
	both(t, func(t *testing.T, reads txn.Reads) {
		o := small(t, reads)
		o.Drain = true
		ended := 0
		written, replaced := map[string]bool{}, map[string]bool{}
		var seen []string
		o.Ended = func(w workload.Txn, d txn.Done) {
			ended++
			require.Nil(t, d.Failure)
			require.Len(t, d.Results, len(w.Ops))
			for i, op := range w.Ops {
				switch op.Kind {
				case workload.Read:
					seen = append(seen, string(d.Results[i].Value))
				case workload.ReadForUpdate:
					v := string(op.Key) + string(d.Results[i].Value)
					require.False(t, replaced[v], "two updates read, and replaced, one value")
					replaced[v] = true
				case workload.Write:
					written[string(op.Value)] = true
				}
			}
		}
		r, err := simulated.Run(o)
		require.NoError(t, err)
		require.Greater(t, r.Reads.Committed, 100)
		require.Greater(t, r.Updates.Committed, 100)
		require.Greater(t, ended, r.Reads.Committed+r.Updates.Committed)
		for _, v := range seen {
			require.True(t, v[0] == 0 || written[v], "a reader saw what nobody wrote")
		}
		if reads == txn.SnapshotReads {
			require.Zero(t, r.ReadAborts)
			require.Positive(t, r.Counts.Holds, "nothing was contended")
		} else {
			require.Positive(t, r.ReadAborts, "nothing was contended")
			require.Zero(t, r.Held)
		}
	})
}

// TestCoresBoundThroughput: with many clients and no contention, what is
// measured comes near to the bound, and does not pass it.
func TestCoresBoundThroughput(t *testing.T) {
	both(t, func(t *testing.T, reads txn.Reads) {
		o := small(t, reads)
		o.Workload.Keys, o.Workload.Skew, o.Clients = 2000, 0, 20
		bound, _, err := simulated.Bound(o)
		require.NoError(t, err)
		r, err := simulated.Run(o)
		require.NoError(t, err)
		require.Less(t, r.PerSecond, bound*1.02)
		require.Greater(t, r.PerSecond, bound*0.85)
		require.Greater(t, r.Busiest, 0.98)
	})
}
