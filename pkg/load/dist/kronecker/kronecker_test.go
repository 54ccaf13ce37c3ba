package kronecker

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/dist/lawtest"
)

// cells gives the exact probability of every cell of a matrix.
func cells(scale int) []float64 {
	n := 1 << scale
	p := make([]float64, n*n)
	for from := range n {
		for to := range n {
			low := bits.OnesCount(uint(^(from | to) & (n - 1)))
			both := bits.OnesCount(uint(from & to))
			one := scale - low - both
			p[from*n+to] = math.Pow(lowLow, float64(low)) * math.Pow(lowHigh, float64(one)) * math.Pow(1-lowLow-lowHigh-highLow,
				float64(both))
		}
	}
	return p
}

func chiSquare(scale int, draw func(r *rand.Rand) (uint64, uint64)) (statistic, limit float64) {
	n := 1 << scale
	counts := make([]uint64, n*n)
	r := rand.New(rand.NewPCG(3, 9))
	for range 400_000 {
		from, to := draw(r)
		counts[from*uint64(n)+to]++
	}
	return lawtest.ChiSquare(counts, cells(scale))
}

func TestCellsFollowTheLaw(t *testing.T) {
	for _, scale := range []int{1, 2, 4, 5} {
		statistic, limit := chiSquare(scale, func(r *rand.Rand) (uint64, uint64) { return cell(scale, r) })
		require.Less(t, statistic, limit, "scale %d", scale)
	}
}

// Hiding which numbers are low changes their names alone.
func TestEdgesAreHiddenCells(t *testing.T) {
	o := Options{Scale: 4, Seed: 8}
	counts := map[uint32]int{}
	drawn := 0
	for from := range Edges(o) {
		counts[from]++
		drawn++
		if drawn == 100_000 {
			break
		}
	}
	require.Len(t, counts, o.Vertices())
	var sorted []int
	for _, n := range counts {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	// The most active of sixteen vertices has (0.57+0.19)^4 of the edges.
	require.InEpsilon(t, 100_000*math.Pow(lowLow+lowHigh, scaleOf(o)), sorted[len(sorted)-1], 0.03)
	require.InEpsilon(t, 100_000*math.Pow(1-lowLow-lowHigh, scaleOf(o)), sorted[0], 0.15)
}

func scaleOf(o Options) float64 { return float64(o.Scale) }

func TestAGraphHasTheAverageAndNoEdgeTwice(t *testing.T) {
	for _, o := range []Options{{Scale: 6, Followers: 4, Seed: 1}, {Scale: 12, Followers: 16, Seed: 2},
		{Scale: 10, Followers: 16, MostFollowers: 64, Seed: 3}} {
		g, err := New(o)
		require.NoError(t, err)
		require.Equal(t, int(o.Followers)*o.Vertices(), g.Edges())
		most := 0
		for v := range o.Vertices() {
			most = max(most, len(g.Followers[v]))
			seen := map[uint32]bool{}
			for _, f := range g.Followers[v] {
				require.False(t, seen[f] || int(f) == v)
				seen[f] = true
				require.Contains(t, g.Following[f], uint32(v))
			}
		}
		if o.MostFollowers > 0 {
			require.Equal(t, o.MostFollowers, most)
			require.Positive(t, g.Left)
		} else {
			require.Zero(t, g.Left)
			require.Greater(t, float64(most), 4*o.Followers, "a power law has hubs")
		}
	}
}

// A change of this would change every run that is repeated by its seed.
func TestTheGraphOfASeedStaysWhatItWas(t *testing.T) {
	a, err := New(Options{Scale: 5, Followers: 2, Seed: 42})
	require.NoError(t, err)
	b, err := New(Options{Scale: 5, Followers: 2, Seed: 42})
	require.NoError(t, err)
	require.Equal(t, a, b)
	c, err := New(Options{Scale: 5, Followers: 2, Seed: 43})
	require.NoError(t, err)
	require.NotEqual(t, a, c)
	var first [][2]uint32
	for from, to := range Edges(Options{Scale: 16, Seed: 42}) {
		first = append(first, [2]uint32{from, to})
		if len(first) == 5 {
			break
		}
	}
	require.Equal(t, [][2]uint32{{0xef01, 0xd5b0}, {0xec81, 0x767b}, {0x5b92, 0x7c16}, {0xfc6f, 0x90d}, {0xb25b, 0xd486}},
		first)
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"no scale":                    {Followers: 1},
		"more than fits":              {Scale: MaxScale + 1, Followers: 1},
		"nobody follows":              {Scale: 5},
		"not a number":                {Scale: 5, Followers: math.NaN()},
		"nearly all follow all":       {Scale: 5, Followers: 5},
		"a negative bound":            {Scale: 5, Followers: 1, MostFollowers: -1},
		"a bound too near the middle": {Scale: 5, Followers: 2, MostFollowers: 3},
	} {
		_, err := New(o)
		require.Error(t, err, name)
	}
}
