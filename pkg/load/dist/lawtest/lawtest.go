// Package lawtest tests draws against the law that they are meant to follow,
// for the tests of generators.
package lawtest

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// minExpected is how many draws a bin must stand for: below some five the
// statistic no longer follows its law. Somewhat arbitrary.
const minExpected = 25

// ChiSquare holds counts against the probabilities of the same places, which
// add up to 1. Neighbours are taken together until each bin expects enough. It
// gives the statistic and the value that a right generator exceeds once in ten
// thousand times. It panics if there is but one bin, which nothing can fail.
func ChiSquare(observed []uint64, probability []float64) (statistic, limit float64) {
	draws := 0.0
	for _, n := range observed {
		draws += float64(n)
	}
	var bins []bin
	var b bin
	for i, n := range observed {
		b.observed += float64(n)
		b.expected += probability[i] * draws
		if b.expected >= minExpected {
			bins, b = append(bins, b), bin{}
		}
	}
	if len(bins) < 2 {
		panic(fmt.Sprintf("lawtest: %v draws fill %d bins: nothing is tested", draws, len(bins)))
	}
	last := &bins[len(bins)-1]
	last.observed += b.observed
	last.expected += b.expected
	for _, b := range bins {
		statistic += (b.observed - b.expected) * (b.observed - b.expected) / b.expected
	}
	return statistic, distuv.ChiSquared{K: float64(len(bins) - 1)}.Quantile(1 - 1e-4)
}

type bin struct{ observed, expected float64 }
