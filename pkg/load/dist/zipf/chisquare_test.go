package zipf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// powerSum is a^-s + ... + b^-s. Terms up to directTerms are added one by
// one, smallest first; the rest by the Euler-Maclaurin formula, whose first
// neglected term is far below the last bit there.
func powerSum(a, b uint64, s float64) float64 {
	const directTerms = 2000
	sum := 0.0
	if b > directTerms {
		lo, hi := float64(max(a, directTerms)), float64(b)
		f := func(x float64) float64 { return math.Pow(x, -s) }
		integral := math.Log(hi / lo)
		if s != 1 {
			integral = math.Pow(lo, 1-s) * math.Expm1((1-s)*math.Log(hi/lo)) / (1 - s)
		}
		sum = integral + (f(lo)+f(hi))/2 + s*(f(lo)/lo-f(hi)/hi)/12
		if a >= directTerms {
			return sum
		}
		b = directTerms - 1
	}
	for i := b; i >= a && i > 0; i-- {
		sum += math.Pow(float64(i), -s)
	}
	return sum
}

func TestPowerSumAgreesWithPlainSummation(t *testing.T) {
	for _, s := range []float64{0, 0.5, 0.99, 1, 1.0000001, 1.2, 2, 7} {
		for _, r := range [][2]uint64{{1, 1}, {1, 1999}, {1, 2000}, {1, 2001}, {1, 300_000}, {1999, 5000}, {2000, 2000},
			{12_345, 67_890}} {
			plain := 0.0
			for i := r[1]; i >= r[0]; i-- {
				plain += math.Pow(float64(i), -s)
			}
			require.InEpsilon(t, plain, powerSum(r[0], r[1], s), 1e-11, "s=%v %v", s, r)
		}
	}
}

// bins cuts the ranks 0..n-1 into pieces of at least minExpected draws each:
// single ranks while they are frequent enough, then ever longer runs, so that
// the tail is tested too.
type bins struct {
	n       uint64
	ends    []uint64 // bin i is [ends[i-1], ends[i])
	expect  []float64
	observe []float64
}

func newBins(n uint64, s float64, draws int) *bins {
	const minExpected, singles = 25, 20
	b := &bins{n: n}
	total := powerSum(1, n, s)
	// A run is at least this fraction of its start, so that the bins are few
	// over a billion keys, too.
	growth, from := 0.0, uint64(0)
	for from < n {
		size := max(1, uint64(float64(from)*growth))
		p := 0.0
		for {
			to := min(from+size, n)
			p = powerSum(from+1, to, s) / total * float64(draws)
			if rest := powerSum(to+1, n, s) / total * float64(draws); to < n && rest < minExpected {
				to, p = n, p+rest
			}
			if p >= minExpected || to == n {
				b.ends, b.expect = append(b.ends, to), append(b.expect, p)
				from = to
				break
			}
			size *= 2
		}
		if len(b.ends) > singles {
			growth = 0.1
		}
	}
	b.observe = make([]float64, len(b.ends))
	return b
}

func (b *bins) add(rank uint64) {
	b.observe[sort.Search(len(b.ends), func(i int) bool { return rank < b.ends[i] })]++
}

// chiSquare returns the chi-square statistic and the value that a right generator
// exceeds once in ten thousand times.
func (b *bins) chiSquare() (statistic, limit float64) {
	for i, e := range b.expect {
		statistic += (b.observe[i] - e) * (b.observe[i] - e) / e
	}
	freedom := float64(len(b.expect) - 1)
	if freedom == 0 {
		return statistic, 1e-9
	}
	return statistic, distuv.ChiSquared{K: freedom}.Quantile(1 - 1e-4)
}

var (
	skews = []float64{0, 0.5, 0.99, 1, 1 + 1e-9, 1.2, 2, 4}
	sizes = []uint64{1, 2, 3, 10, 1000, 1_000_000, MaxKeys}
)

func TestDrawsFollowTheLaw(t *testing.T) {
	const draws = 80_000
	for _, s := range skews {
		for _, n := range sizes {
			t.Run(fmt.Sprintf("s=%v,n=%d", s, n), func(t *testing.T) {
				z, err := NewSampler(n, s)
				require.NoError(t, err)
				r := rand.New(rand.NewPCG(7, n))
				b := newBins(n, s, draws)
				for range draws {
					b.add(z.Rank(r))
				}
				statistic, limit := b.chiSquare()
				require.Less(t, statistic, limit, "%d bins", len(b.ends))
			})
		}
	}
}

// wrong are mistakes that are easily made. The test above is worth something
// only if it would notice them.
var wrong = []struct {
	name  string
	skews []float64
	draws int
	draw  func(z *Sampler, r *rand.Rand) uint64
}{
	{"the skew is off by two per cent", []float64{0.5, 0.99, 1, 1.2, 2}, 200_000,
		func(z *Sampler, r *rand.Rand) uint64 {
			off, _ := NewSampler(z.n, z.skew*1.02)
			return off.Rank(r)
		}},
	{"inversion without rejection", []float64{2, 4}, 100_000,
		func(z *Sampler, r *rand.Rand) uint64 {
			k, _ := z.try(r.Float64())
			return k - 1
		}},
	// Two per cent too many of the second rank and hardly anything else: this
	// takes more draws to see.
	{"inversion without rejection near 1", []float64{1}, 3_000_000,
		func(z *Sampler, r *rand.Rand) uint64 {
			k, _ := z.try(r.Float64())
			return k - 1
		}},
	{"ranks are shifted by one", []float64{0.5, 0.99, 1, 1.2, 2}, 100_000,
		func(z *Sampler, r *rand.Rand) uint64 { return (z.Rank(r) + 1) % z.n }},
	{"the last tenth never comes", []float64{0, 0.5, 0.99, 1}, 100_000,
		func(z *Sampler, r *rand.Rand) uint64 { return z.Rank(r) % max(z.n*9/10, 1) }},
	{"uniform", []float64{0.5, 0.99, 1, 1.2, 2}, 100_000,
		func(z *Sampler, r *rand.Rand) uint64 { return r.Uint64N(z.n) }},
	{"the continuous law rounded down", []float64{0.5, 0.99, 1.2, 2}, 100_000,
		func(z *Sampler, r *rand.Rand) uint64 {
			top := math.Pow(float64(z.n)+1, 1-z.skew) - 1
			x := math.Pow(1+r.Float64()*top, 1/(1-z.skew))
			return min(uint64(x)-1, z.n-1)
		}},
}

func TestTheChiSquareTestCatchesWrongGenerators(t *testing.T) {
	const n = 1000
	for _, w := range wrong {
		for _, s := range w.skews {
			t.Run(fmt.Sprintf("%s,s=%v", w.name, s), func(t *testing.T) {
				z, err := NewSampler(n, s)
				require.NoError(t, err)
				r := rand.New(rand.NewPCG(7, n))
				bad, good := newBins(n, s, w.draws), newBins(n, s, w.draws)
				for range w.draws {
					bad.add(w.draw(z, r))
					good.add(z.Rank(r))
				}
				statistic, limit := bad.chiSquare()
				require.Greater(t, statistic, limit)
				statistic, limit = good.chiSquare()
				require.Less(t, statistic, limit, "the right one must pass with as many draws")
			})
		}
	}
}
