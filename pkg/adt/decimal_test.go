package adt

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestDecimalsMatchText: a number with up to 15 digits, 6 of them decimal places, is returned digit
// by digit.
func TestDecimalsMatchText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-decimalDigits+1, decimalDigits-1).Draw(t, "millionths")
		f, _ := new(big.Rat).SetFrac64(n, decimalOne).Float64()
		got, err := toDecimal(f)
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.Equal(t, f, fromDecimal(n))
	})
}

// TestDoublesConvertLikeTheirText compares with the shortest text of any double.
func TestDoublesConvertLikeTheirText(t *testing.T) {
	few := rapid.Custom(func(t *rapid.T) float64 {
		return float64(rapid.Int64().Draw(t, "n")) / math.Pow10(rapid.IntRange(0, 9).Draw(t, "places"))
	})
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), few).Draw(t, "f")
		exact, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
		require.True(t, ok)
		exact.Mul(exact, big.NewRat(decimalOne, 1))
		n, err := toDecimal(f)
		if exact.IsInt() && exact.Num().IsInt64() {
			require.NoError(t, err)
			require.Equal(t, exact.Num().Int64(), n, "%v", f)
		} else {
			require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v is %d millionths", f, n)
		}
	})
	for _, n := range []int64{math.MaxInt64, math.MinInt64, 1 << 53, -1 << 53, 1<<53 - 1, 9007199254740993} {
		want, _ := new(big.Rat).SetFrac64(n, decimalOne).Float64()
		require.Equal(t, want, fromDecimal(n), "%d", n)
	}
	_, err := toDecimal(0.1234567)
	require.ErrorContains(t, err, "0.1234567 has more than 6 decimal places; round it to millionths")
	_, err = toDecimal(1e13)
	require.ErrorContains(t, err, "is out of range")
}
