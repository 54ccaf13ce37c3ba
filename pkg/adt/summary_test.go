package adt_test

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestSummaryMatchesRationals: the reference model keeps all numbers and computes with rationals.
func TestSummaryMatchesRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &keyState{made: adt.Lookup(adt.Summary)}
		var all []*big.Rat
		for range drawInt(t, "steps", 0, 30) {
			var args []msg.Datum
			for range drawInt(t, "numbers", 1, 3) {
				n := rapid.OneOf(rapid.Int64Range(-5e6, 5e6), rapid.SampledFrom(
					[]int64{0, 1, -1, 9e18, -9e18, 123456789012345})).Draw(t, "millionths")
				f := nearest(big.NewRat(n, 1e6))
				args, all = append(args, adt.Float(f)), append(all, exactly(f))
			}
			_, failed, _ := k.call(t, "add", args...)
			require.Equal(t, kv.KindOK, failed)
			if rapid.Bool().Draw(t, "restore") {
				k.restore()
			}
		}
		want := []msg.Datum{adt.Int(int64(len(all))), adt.Float(0), adt.Nil(), adt.Nil(), adt.Nil(), adt.Nil()}
		if n := big.NewRat(int64(len(all)), 1); len(all) > 0 {
			sum, variance := new(big.Rat), new(big.Rat)
			for _, x := range all {
				sum.Add(sum, x)
			}
			mean := new(big.Rat).Quo(sum, n)
			for _, x := range all {
				d := new(big.Rat).Sub(x, mean)
				variance.Add(variance, d.Mul(d, d))
			}
			least := slices.MinFunc(all, (*big.Rat).Cmp)
			most := slices.MaxFunc(all, (*big.Rat).Cmp)
			for i, r := range []*big.Rat{sum, mean, least, most, variance.Quo(variance, n)} {
				want[i+1] = adt.Float(nearest(r))
			}
		}
		summary, _, _ := k.call(t, "stats")
		require.Equal(t, want, summary)
		for i, name := range []string{"count", "sum", "mean", "min", "max", "variance"} {
			one, _, _ := k.call(t, name)
			require.Equal(t, want[i:i+1], one, name)
		}
	})
}

// exactly returns a number as it is written in decimal.
func exactly(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	return r
}

func nearest(r *big.Rat) float64 { f, _ := r.Float64(); return f }

func TestSummaryRejectsInvalidNumbers(t *testing.T) {
	k := &keyState{made: adt.Lookup(adt.Summary)}
	for _, f := range []float64{0.1234567, 1e-7, 1e13, -1e13, 1e300, 0.30000000000000004, math.SmallestNonzeroFloat64} {
		_, failed, _ := k.call(t, "add", adt.Float(1), adt.Float(f))
		require.Equal(t, kv.KindInvalid, failed, "%v", f)
	}
	require.False(t, k.value.Exists(), "nothing was added")
	for _, f := range []float64{0.1, -0.000001, 9.2e12, math.Copysign(0, -1), 4503599627.370497, 9007199254.740993,
		1234567890123.25} {
		k := &keyState{made: adt.Lookup(adt.Summary)}
		_, failed, _ := k.call(t, "add", adt.Float(f))
		require.Equal(t, kv.KindOK, failed, "%v", f)
		sum, _, _ := k.call(t, "sum")
		require.Equal(t, f+0, sum[0].Float, "it comes back as it was")
	}
}

func TestSummaryLocksDependOnExtremes(t *testing.T) {
	k := &keyState{made: adt.Lookup(adt.Summary)}
	for _, row := range []struct {
		x    float64
		lock string
	}{{1, "add"}, {1, "inside"}, {3, "add"}, {2, "inside"}, {0.999999, "add"}, {3, "inside"}, {3.000001, "add"}} {
		_, _, lock := k.call(t, "add", adt.Float(row.x))
		require.Equal(t, row.lock, lock, "%v", row.x)
	}
}
