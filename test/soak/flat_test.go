package soak

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// series draws a quantity once a minute, with noise, a wild one now and then,
// and a leak of so much a second.
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

// TestJudgeCatchesLeaks: a goroutine a second, a descriptor in ten seconds, and
// 100 KiB a second or more, in twenty minutes or in few.
func TestJudgeCatchesLeaks(t *testing.T) {
	for seed := range uint64(200) {
		for name, leak := range map[string]float64{goroutines: 1, descriptors: 0.1, heap: 0.1, resident: 0.4, inUse: 0.2, disk: 0.4} {
			q := quantityOf(name)
			v := Judge(series(seed, 30, q.usual, q.usual/100, leak), q.limit)
			require.True(t, v.Judged && !v.Flat, "%s: %v", name, v)
			v = Judge(series(seed, 30, q.usual, q.usual/100, 0), q.limit)
			require.True(t, v.Judged && v.Flat, "%s: %v", name, v)
		}
		q := quantityOf(goroutines)
		v := Judge(series(seed, 6, q.usual, 2, 1), q.limit)
		require.True(t, v.Judged && !v.Flat, "in few minutes: %v", v)
	}
}

// TestJudgePassesWhatStartsAnew: a restart brings a process back to where it
// began, and what it gathers at first is no leak. A leak in lives that end is.
func TestJudgePassesWhatStartsAnew(t *testing.T) {
	limit := Limit{Growth: 10, Settle: 2 * time.Minute}
	saw := func(leak float64) (out []Sample) {
		for i := range 40 {
			age := i % 10
			v := 100 + leak*float64(age)
			if age < 2 {
				v -= 50 // it is not warm yet
			}
			out = append(out, Sample{At: time.Duration(i) * time.Minute, Life: i / 10, Value: v})
		}
		return out
	}
	v := Judge(saw(0), limit)
	require.True(t, v.Judged && v.Flat, "%v", v)
	require.Equal(t, 4, v.Lives)
	v = Judge(saw(5), limit)
	require.False(t, v.Flat, "%v", v)
	require.InDelta(t, 300, v.PerHour, 1)
}

func TestJudgeOfTooLittle(t *testing.T) {
	v := Judge(series(1, leastSamples-1, 1, 0, 100), Limit{})
	require.True(t, v.Flat)
	require.False(t, v.Judged)
	require.Equal(t, "too few samples to tell", v.String())
}
