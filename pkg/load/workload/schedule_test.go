package workload

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// With few transactions a second, the time after the last one is as much a part
// of the run as that before it.
func TestAnOpenLoopLastsForItsWholeDuration(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			r, err := New(answering{}, Options{Clients: 3, Rate: rate, Warmup: 2 * time.Second, Duration: 10 * time.Second})
			require.NoError(t, err)
			res, err := r.Run(t.Context())
			require.NoError(t, err)
			require.InDelta(t, 10, res.ElapsedS, 0.001)
			require.InDelta(t, rate, res.All.ThroughputPer, 0.01)
			require.False(t, res.Interrupted)
		})
	}
}

// The second ticket of a rate this low is due after the end of the run,
// and not in the past.
func TestALowRateIsNoRateWithoutBound(t *testing.T) {
	for _, rate := range []float64{1e-3, 1e-10, 1e-300, math.SmallestNonzeroFloat64} {
		start := time.Now()
		w := window{begin: start, end: start.Add(time.Second)}
		l := newOpenLoop(w, start, rate, 0)
		require.Equal(t, start, l.at(0))
		require.True(t, l.at(1).After(w.end), "rate %v: ticket 1 at %v", rate, l.at(1))
		require.Equal(t, uint64(1), l.due(w.end), "rate %v", rate)
	}
	begun := time.Now()
	p := pacer{perS: 1e-10, begun: begun, count: 1}
	require.True(t, p.due().After(begun.Add(time.Hour)))
}

func TestACountTooLargeForAWarmupIsNoSmallOne(t *testing.T) {
	start := time.Now()
	l := newOpenLoop(window{begin: start.Add(time.Second)}, start, 100, math.MaxUint64-5)
	require.Equal(t, uint64(math.MaxUint64), l.last)
}

// answering is a store that takes a millisecond.
type answering struct{ Store }

func (answering) Execute(ctx context.Context, _ []Op) (Reply, error) {
	Sleep(ctx, time.Millisecond)
	return Reply{}, nil
}
