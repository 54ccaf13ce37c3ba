package geometric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/dist/lawtest"
)

// places is how many places are counted one by one; the last stands for all
// that follow.
const places = 60

func chiSquare(p float64, n int, draw func(r *rand.Rand) int) (statistic, limit float64) {
	counts, law := make([]uint64, n), make([]float64, n)
	for k := range law {
		law[k] = p * math.Pow(1-p, float64(k))
	}
	law[n-1] = math.Pow(1-p, float64(n-1))
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		counts[min(draw(r), n-1)]++
	}
	return lawtest.ChiSquare(counts, law)
}

func TestPlacesFollowTheLaw(t *testing.T) {
	for _, p := range []float64{0.02, 0.3, 0.5, 0.9} {
		l, err := New(p)
		require.NoError(t, err)
		statistic, limit := chiSquare(p, places, l.Draw)
		require.Less(t, statistic, limit, "p=%v", p)
	}
}

func TestAListThatEndsCutsTheLawOff(t *testing.T) {
	const p, n = 0.3, 10
	l, err := New(p)
	require.NoError(t, err)
	counts, law := make([]uint64, n), make([]float64, n)
	for k := range law {
		law[k] = p * math.Pow(1-p, float64(k)) / (1 - math.Pow(1-p, n))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		counts[l.Within(r, n)]++
	}
	statistic, limit := lawtest.ChiSquare(counts, law)
	require.Less(t, statistic, limit)
}

func TestTheEndsOfTheRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sure, err := New(1)
	require.NoError(t, err)
	rare, err := New(1e-300)
	require.NoError(t, err)
	for range 1000 {
		require.Zero(t, sure.Draw(r))
		require.Equal(t, math.MaxInt32, rare.Draw(r))
		require.Zero(t, rare.Within(r, 1))
	}
	for _, p := range []float64{0, -1, 1.1, math.NaN()} {
		_, err := New(p)
		require.Error(t, err, "p=%v", p)
	}
}
