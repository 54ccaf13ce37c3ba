package workload_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// slowAtTheEnd responds after 10 ms, and after 5 s when the run is about to be
// interrupted.
func slowAtTheEnd(stuck *atomic.Bool) *loadtest.Store {
	return &loadtest.Store{Before: func(ctx context.Context, _ uint64, _ []workload.Op) (workload.Reply, error) {
		d := 10 * time.Millisecond
		if stuck.Load() {
			d = 5 * time.Second
		}
		return workload.Reply{Attempts: 1}, slow(ctx, d)
	}}
}

// An interrupted run is over when it is interrupted. That what was in flight
// took seconds to end is no part of what was measured.
func TestAnInterruptedRunIsMeasuredUpToTheInterruption(t *testing.T) {
	for _, rate := range []float64{0, 200} {
		synctest.Test(t, func(t *testing.T) {
			var stuck atomic.Bool
			time.AfterFunc(1990*time.Millisecond, func() { stuck.Store(true) })
			ctx, cancel := context.WithTimeout(t.Context(), 2005*time.Millisecond)
			defer cancel()
			begun := time.Now()
			var phases []workload.Phase
			res := mustRun(t, ctx, slowAtTheEnd(&stuck), workload.Options{Clients: 10, Rate: rate,
				Scanning:  workload.Scanning{Scanners: 1, ScanPace: 100},
				Duration:  time.Minute,
				Reporting: workload.Reporting{Progress: func(s workload.Snapshot) { phases = append(phases, s.Phase) }}})
			require.GreaterOrEqual(t, time.Since(begun), 6990*time.Millisecond, "what was in flight was waited for")
			require.True(t, res.Interrupted)
			require.InDelta(t, 2.005, res.ElapsedS, 0.001)
			want := rate
			if rate == 0 {
				want = 1000
			}
			require.InEpsilon(t, want, res.All.ThroughputPer, 0.02)
			require.Zero(t, res.Backlog, "nothing was due and not started")
			require.InDelta(t, 200, res.Scans.Pairs, 110)
			require.InEpsilon(t, float64(res.Scans.Pairs)/2.005, res.Scans.PairsPer, 0.01)
			require.LessOrEqual(t, res.Scans.PairsPer, 101.0, "scans end, too")
			require.Equal(t, workload.Draining, phases[len(phases)-2])
		})
	}
}

// An interruption of a run that only waits for what is in flight changes nothing.
func TestARunIsNotInterruptedAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		res := mustRun(t, ctx, taking(700*time.Millisecond), workload.Options{Clients: 1, Duration: time.Second})
		require.False(t, res.Interrupted, "the measured part was over at 1 s, and the last transaction ended at 1.4 s")
		require.InDelta(t, 1, res.ElapsedS, 0.001)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		defer cancel()
		res := mustRun(t, ctx, taking(700*time.Millisecond), workload.Options{Clients: 1, Duration: time.Second})
		require.False(t, res.Interrupted, "not even while it is waited for")
		require.Equal(t, uint64(2), res.All.Committed)
	})
}

func TestARunInterruptedBeforeItBeganMeasuredNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r, err := workload.New(taking(10*time.Millisecond),
			workload.Options{Clients: 1, Warmup: time.Second, Duration: time.Second})
		require.NoError(t, err)
		res, err := r.Run(ctx)
		require.ErrorIs(t, err, workload.ErrNothingCommitted)
		require.True(t, res.Interrupted)
		require.Zero(t, res.ElapsedS)
		require.Zero(t, res.All.ThroughputPer)
	})
}
