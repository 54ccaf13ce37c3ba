package readers_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/bench/readers"
)

// TestReadersWithoutLocksAreNotAbortedAndLockingOnesHoldNothing on a few hot
// keys.
func TestReadersWithoutLocksAreNotAbortedAndLockingOnesHoldNothing(t *testing.T) {
	var mixes []workload.NamedOptions
	for _, locality := range []float64{0, 50} {
		o, err := workload.Published("sss", 3)
		require.NoError(t, err)
		o.Keys, o.Skew, o.Locality, o.Count, o.Duration, o.Seed = 50, 1.2, locality, 1500, 0, 3
		mixes = append(mixes, workload.NamedOptions{Name: "small", Options: o})
	}
	rows, err := readers.Run(t.Context(), readers.Options{Dir: t.TempDir(), Rounds: 2, Mixes: mixes,
		Progress: io.Discard})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for _, r := range rows {
		require.Zero(t, r.Snapshot.ReadAborts, "%v", r.Snapshot.Why)
		require.NotZero(t, r.Locking.ReadAborts)
		require.Zero(t, r.Locking.HeldPercent)
		require.Positive(t, r.Snapshot.HeldPercent)
		require.Zero(t, r.Snapshot.Failed+r.Locking.Failed)
		require.LessOrEqual(t, r.Low, r.Ratio)
		require.LessOrEqual(t, r.Ratio, r.High)
	}
	var b strings.Builder
	require.NoError(t, readers.Write(&b, rows))
	require.Equal(t, 2, strings.Count(b.String(), "\nlocking "), b.String())
	for _, line := range strings.Split(b.String(), "\n") {
		require.LessOrEqual(t, len(line), 80, line)
	}
}
