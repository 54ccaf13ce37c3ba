package adt

import (
	"math"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Numbers that are summed are exact decimals of 6 places, kept as whole
// millionths: floating-point sums depend on the order, so that their additions
// do not commute.

// exactOf is a number in millionths. It fails for numbers with more than 6
// decimal places, or beyond 9.2 million millions.
func exactOf(f float64) (int64, error) {
	if n := math.Round(f * 1e6); math.Abs(n) < 1<<50 && n/1e6 == f {
		return int64(n), nil
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	whole, places, _ := strings.Cut(text, ".")
	if len(places) > 6 {
		return 0, Errorf(kv.KindInvalid, "%v has more than 6 decimal places; round it first", f)
	}
	n, err := strconv.ParseInt(whole+places+"000000"[len(places):], 10, 64)
	if err != nil {
		return 0, Errorf(kv.KindInvalid, "%v is too great: numbers go up to 9.2e12, either way", f)
	}
	return n, nil
}

// inexact is the nearest number to millionths.
func inexact(n int64) float64 {
	if n > -1<<53 && n < 1<<53 {
		return float64(n) / 1e6 // both exact, so rounded once
	}
	sign := ""
	u := uint64(n)
	if n < 0 {
		sign, u = "-", -u
	}
	f, _ := strconv.ParseFloat(sign+strconv.FormatUint(u/1e6, 10)+"."+strconv.FormatUint(1e6+u%1e6, 10)[1:], 64)
	return f
}
