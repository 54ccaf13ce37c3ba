package zipf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneSeedGivesOneSequence(t *testing.T) {
	z, err := NewSampler(1_000_000, 1.2)
	require.NoError(t, err)
	a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		require.Equal(t, z.Rank(a), z.Rank(b))
	}
}

// A change of this sequence would silently change every run that people
// repeat by its seed.
func TestTheSequenceOfASeedStaysWhatItWas(t *testing.T) {
	p, err := NewPicker(Options{Keys: 1_000_000, Skew: 0.99, Shuffle: true, Seed: 42})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(42, 0))
	var got []uint64
	for range 6 {
		got = append(got, p.Pick(r, 1))
	}
	require.Equal(t, []uint64{656778, 660319, 640417, 578392, 792960, 351252}, got)
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		n    uint64
		s    float64
	}{
		{"no keys", 0, 1},
		{"more keys than the bound", MaxKeys + 1, 1},
		{"negative skew", 10, -0.1},
		{"skew not a number", 10, math.NaN()},
		{"infinite skew", 10, math.Inf(1)},
	} {
		_, err := NewSampler(c.n, c.s)
		require.Error(t, err, c.name)
		_, err = NewPicker(Options{Keys: c.n, Skew: c.s})
		require.Error(t, err, c.name)
	}
}

// At every skew up to absurd ones a draw ends, stays in range and rarely
// needs a second number.
func TestExtremeSkewsStayInRangeAndAreRarelyRejected(t *testing.T) {
	const draws = 20_000
	for _, s := range []float64{1e-300, 1e-9, 0.001, 0.1, 0.5, 1 - 1e-12, 1, 1 + 1e-12, 1.5, 3, 10, 50, 700, 1e4, 1e300} {
		for _, n := range sizes {
			z, err := NewSampler(n, s)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(3, 4))
			rejected := 0
			for range draws {
				k, ok := z.try(r.Float64())
				require.True(t, k >= 1 && k <= n, "s=%v n=%d: %d", s, n, k)
				if !ok {
					rejected++
				}
			}
			require.Less(t, float64(rejected)/draws, 0.13, "s=%v n=%d", s, n)
		}
	}
}

func TestALargeSkewLeavesOnlyTheFirstKey(t *testing.T) {
	z, err := NewSampler(MaxKeys, 60)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		require.Zero(t, z.Rank(r))
	}
}

// The two helpers meet their series where they change over, and are smooth
// through 0.
func TestHelpersAreAccurateNearZero(t *testing.T) {
	for _, x := range []float64{0, 1e-300, 1e-15, 1e-9, smallArgument * 0.999999, smallArgument, smallArgument * 1.000001,
		1e-4} {
		for _, v := range []float64{x, -x} {
			require.InEpsilon(t, 1-v/2+v*v/3-v*v*v/4+v*v*v*v/5, log1pOver(v), 1e-15, "log1p at %g", v)
			require.InEpsilon(t, 1+v/2+v*v/6+v*v*v/24+v*v*v*v/120, expm1Over(v), 1e-15, "expm1 at %g", v)
		}
	}
}

func TestIntegralAndInverseUndoEachOther(t *testing.T) {
	for _, s := range []float64{0.001, 0.5, 1 - 1e-10, 1, 1 + 1e-10, 1.2, 2} {
		z, err := NewSampler(MaxKeys, s)
		require.NoError(t, err)
		for _, x := range []float64{0.75, 1, 1.5, 2, 1000.5, 1e6} {
			require.InEpsilon(t, x, z.inverse(z.integral(x)), 1e-6, "s=%v x=%v", s, x)
		}
	}
}

func FuzzDrawsStayInRange(f *testing.F) {
	f.Add(uint64(MaxKeys), 1.0, uint64(1), uint64(0))
	f.Add(uint64(1), 0.0, uint64(2), uint64(7))
	f.Add(uint64(1000), 1+1e-15, uint64(3), ^uint64(0))
	f.Fuzz(func(t *testing.T, n uint64, skew float64, seed, moves uint64) {
		p, err := NewPicker(Options{Keys: n, Skew: skew, Shuffle: seed%2 == 0, Seed: seed})
		if err != nil {
			require.True(t, n < 1 || n > MaxKeys || !(skew >= 0) || math.IsInf(skew, 0))
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			k := p.Pick(r, moves)
			require.Less(t, k, n)
			require.Equal(t, k, p.At(p.Rank(k, moves), moves))
		}
	})
}
