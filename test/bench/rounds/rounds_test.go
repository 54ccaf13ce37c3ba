package rounds_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

func TestRoundsTurnTheOrderAndPairTheRatios(t *testing.T) {
	var order []string
	variant := func(name string, xs ...float64) rounds.Variant {
		n := 0
		return rounds.Variant{Name: name, Run: func() (float64, error) {
			order = append(order, name)
			n++
			return xs[n-1], nil
		}}
	}
	s, err := rounds.Run(3, io.Discard, variant("a", 10, 1000, 30), variant("b", 5, 250, 10))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "b", "a", "a", "b"}, order)
	median, low, high := s.Ratio("a", "b")
	require.Equal(t, []float64{3, 2, 4}, []float64{median, low, high})
	require.Equal(t, 30.0, rounds.Median(s["a"]))
	require.Equal(t, 1.5, rounds.Median([]float64{2, 1}))

	var out bytes.Buffer
	require.NoError(t, rounds.Print(&out, "ops/s", s, []rounds.Target{{What: "a over b", Got: median, AtLeast: 2},
		{What: "a", Got: 30, AtMost: 29}}))
	require.Contains(t, out.String(), ">= 2.00 met")
	require.Contains(t, out.String(), "<= 29.0 MISSED")
}

func TestAVariantThatFailsEndsTheRun(t *testing.T) {
	boom := errors.New("boom")
	_, err := rounds.Run(2, io.Discard, rounds.Variant{Name: "v", Run: func() (float64, error) { return 0, boom }})
	require.ErrorIs(t, err, boom)
}

func TestTheLoopCountsWhatItMeasuresAndStopsAtAnError(t *testing.T) {
	var calls atomic.Int64
	l, err := rounds.Loop{Callers: 4, Measure: 20 * time.Millisecond, Latencies: true,
		Do: func(context.Context, int) error {
			calls.Add(1)
			return nil
		}}.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, l.Done)
	require.LessOrEqual(t, int64(l.Done), calls.Load())
	require.GreaterOrEqual(t, l.Took, 20*time.Millisecond)
	require.LessOrEqual(t, l.P50, l.P99)

	var over sync.WaitGroup
	over.Add(1)
	time.AfterFunc(500*time.Millisecond, over.Done)
	_, err = rounds.Loop{Callers: 1, Measure: time.Millisecond, Do: func(context.Context, int) error {
		over.Wait()
		return nil
	}}.Run(t.Context())
	require.ErrorContains(t, err, "nothing ended while it was measured")

	boom := errors.New("boom")
	_, err = rounds.Loop{Callers: 2, Measure: time.Minute,
		Do: func(context.Context, int) error { return boom }}.Run(t.Context())
	require.ErrorIs(t, err, boom)
}
