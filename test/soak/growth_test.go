package soak

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// series returns samples of a quantity once a minute, with noise, outliers, and a leak per second.
func series(seed uint64, minutes int, level, noise, leak float64) (out []Sample) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range minutes {
		at := time.Duration(i) * time.Minute
		s := Sample{At: at, Value: level + noise*r.NormFloat64() + leak*at.Seconds()}
		if r.IntN(8) == 0 {
			s.Value += 20 * noise * r.Float64()
		}
		out = append(out, s)
	}
	return out
}

// TestLeaksAreDetected: a goroutine per second, a descriptor in ten seconds, and 100 KiB per second or
// more, in 20 minutes or in 6.
func TestLeaksAreDetected(t *testing.T) {
	for seed := range uint64(200) {
		for name, leak := range map[string]float64{goroutines: 1, descriptors: 0.1, heap: 0.1, resident: 0.4, inUse: 0.2,
			disk: 0.4} {
			q := quantityOf(name)
			v := CheckGrowth(series(seed, 30, q.usual, q.usual/100, leak), q.limit)
			require.True(t, v.Enough && !v.Flat, "%s: %v", name, v)
			v = CheckGrowth(series(seed, 30, q.usual, q.usual/100, 0), q.limit)
			require.True(t, v.Enough && v.Flat, "%s: %v", name, v)
		}
		q := quantityOf(goroutines)
		v := CheckGrowth(series(seed, 6, q.usual, 2, 1), q.limit)
		require.True(t, v.Enough && !v.Flat, "in 6 minutes: %v", v)
	}
}

// TestRestartsAreNoLeaks: after a restart a process has its initial size again, and its growth during the
// warmup is no leak. A leak in every run is one.
func TestRestartsAreNoLeaks(t *testing.T) {
	limit := Limit{Growth: 10, Settle: 2 * time.Minute}
	samplesOf := func(leak float64) (out []Sample) {
		for i := range 40 {
			age := i % 10
			v := 100 + leak*float64(age)
			if age < 2 {
				v -= 50 // during the warmup
			}
			out = append(out, Sample{At: time.Duration(i) * time.Minute, Run: i / 10, Value: v})
		}
		return out
	}
	v := CheckGrowth(samplesOf(0), limit)
	require.True(t, v.Enough && v.Flat, "%v", v)
	require.Equal(t, 4, v.Runs)
	v = CheckGrowth(samplesOf(5), limit)
	require.False(t, v.Flat, "%v", v)
	require.InDelta(t, 300, v.PerHour, 1)
}

func TestTooFewSamplesAreNoVerdict(t *testing.T) {
	v := CheckGrowth(series(1, minSamples-1, 1, 0, 100), Limit{})
	require.True(t, v.Flat)
	require.False(t, v.Enough)
	require.Equal(t, "too few samples", v.String())
}
