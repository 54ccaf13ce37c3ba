package zipf

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAShuffleIsAPermutation(t *testing.T) {
	ns := []uint64{1000, 4095, 4096, 4097, 65_536, 65_537, 1_000_000}
	for n := uint64(1); n <= 70; n++ {
		ns = append(ns, n)
	}
	for _, n := range ns {
		for seed := range uint64(3) {
			s := NewShuffle(n, seed)
			seen := make([]bool, n)
			for i := range n {
				p := s.Of(i)
				require.True(t, p < n && !seen[p], "n=%d seed=%d: %d -> %d", n, seed, i, p)
				seen[p] = true
			}
			if n > 100_000 {
				break
			}
		}
	}
}

func TestAShuffleOfABillionIsUndoneByItsInverse(t *testing.T) {
	s := NewShuffle(MaxKeys, 9)
	r := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		i := r.Uint64N(MaxKeys)
		p := s.Of(i)
		require.Less(t, p, uint64(MaxKeys))
		require.Equal(t, i, s.Inverse(p))
	}
}

// The places of neighbouring ranks are tested like draws of a uniform law.
func TestAShuffleScattersNeighbours(t *testing.T) {
	const draws = 50_000
	for _, n := range []uint64{1_000_000, MaxKeys} {
		places, steps := newBins(n, 0, draws), newBins(n, 0, draws)
		s := NewShuffle(n, 11)
		for i := range uint64(draws) {
			places.add(s.Of(i))
			steps.add((s.Of(i+1) + n - s.Of(i)) % n)
		}
		for _, b := range []*bins{places, steps} {
			statistic, limit := b.chiSquare()
			require.Less(t, statistic, limit, "n=%d", n)
		}
	}
}

func TestSeedsGiveDifferentShuffles(t *testing.T) {
	a, b := NewShuffle(1000, 1), NewShuffle(1000, 2)
	same := 0
	for i := range uint64(1000) {
		if a.Of(i) == b.Of(i) {
			same++
		}
	}
	require.Less(t, same, 20, "two random permutations agree in about one place")
}

func TestTheHotSpotMovesToColdKeys(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		p, err := NewPicker(Options{Keys: 10_000, Skew: 1.2, Shuffle: shuffled, Seed: 5})
		require.NoError(t, err)
		hot := map[uint64]bool{}
		for moves := range uint64(50) {
			for rank := range uint64(20) {
				k := p.At(rank, moves)
				require.False(t, hot[k], "key %d is hot again after %d moves", k, moves)
				hot[k] = true
			}
		}
	}
}

func TestEveryMoveIsAPermutationThatRankUndoes(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 100} {
		for _, shuffled := range []bool{false, true} {
			p, err := NewPicker(Options{Keys: n, Shuffle: shuffled})
			require.NoError(t, err)
			for _, moves := range []uint64{0, 1, 2, 99, 1 << 40, ^uint64(0)} {
				seen := map[uint64]bool{}
				for rank := range n {
					k := p.At(rank, moves)
					require.Less(t, k, n)
					require.Equal(t, rank, p.Rank(k, moves))
					seen[k] = true
				}
				require.Len(t, seen, int(n))
			}
		}
	}
}

func TestRankOrderIsTheKeyOrder(t *testing.T) {
	p, err := NewPicker(Options{Keys: 100, Skew: 1})
	require.NoError(t, err)
	for rank := range uint64(100) {
		require.Equal(t, rank, p.At(rank, 0))
	}
}
