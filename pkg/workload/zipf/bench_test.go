package zipf

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkRank gives the time of a draw at several skews and sizes, its
// source's own cost of a few nanoseconds included.
func BenchmarkRank(b *testing.B) {
	for _, n := range []uint64{1000, 1_000_000, MaxKeys} {
		for _, s := range []float64{0, 0.5, 0.99, 1, 1.2, 2} {
			b.Run(fmt.Sprintf("s=%v/n=%d", s, n), func(b *testing.B) {
				z, err := NewSampler(n, s)
				if err != nil {
					b.Fatal(err)
				}
				r := rand.New(rand.NewPCG(1, 2))
				for b.Loop() {
					z.Rank(r)
				}
			})
		}
	}
}

// BenchmarkPick adds the scattering and the offset.
func BenchmarkPick(b *testing.B) {
	for _, n := range []uint64{1_000_000, 1 << 24, MaxKeys} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, err := NewPicker(Options{Keys: n, Skew: 1.2, Shuffle: true, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				p.Pick(r, 3)
			}
		})
	}
}

// BenchmarkNewSampler shows that the start costs the same at every size.
func BenchmarkNewSampler(b *testing.B) {
	for _, n := range []uint64{1, MaxKeys} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := NewSampler(n, 1.2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
