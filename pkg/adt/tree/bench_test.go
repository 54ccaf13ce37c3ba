package tree

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
)

func benchmarked(b *testing.B, each func(b *testing.B, m Map[int, struct{}], n int)) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("of=%d", n), func(b *testing.B) {
			i := 0
			m, _ := Build(&Order[int, struct{}]{Compare: cmp.Compare[int]}, n,
				func() (int, struct{}, error) { i += 2; return i, struct{}{}, nil })
			b.ReportAllocs()
			each(b, m, n)
		})
	}
}

func BenchmarkPut(b *testing.B) {
	benchmarked(b, func(b *testing.B, m Map[int, struct{}], n int) {
		for b.Loop() {
			m.Put(2*rand.IntN(n)+1, struct{}{})
		}
	})
}

func BenchmarkDelete(b *testing.B) {
	benchmarked(b, func(b *testing.B, m Map[int, struct{}], n int) {
		for b.Loop() {
			m.Delete(2 * rand.IntN(n))
		}
	})
}

func BenchmarkGet(b *testing.B) {
	benchmarked(b, func(b *testing.B, m Map[int, struct{}], n int) {
		for b.Loop() {
			m.Get(rand.IntN(2 * n))
		}
	})
}

func BenchmarkAt(b *testing.B) {
	benchmarked(b, func(b *testing.B, m Map[int, struct{}], n int) {
		for b.Loop() {
			m.At(rand.IntN(n))
		}
	})
}

func BenchmarkSlice(b *testing.B) {
	benchmarked(b, func(b *testing.B, m Map[int, struct{}], n int) {
		for b.Loop() {
			m.Slice(rand.IntN(n), n)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Build(&Order[int, struct{}]{Compare: cmp.Compare[int]}, 100_000,
			func() (int, struct{}, error) { i++; return i, struct{}{}, nil })
	}
}
