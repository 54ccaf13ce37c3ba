package adt

import (
	"math"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Exact decimals have at most 6 decimal places and are stored as millionths in 64 bits. The last bits of a sum
// of binary fractions depend on the order of the summands; sums of exact decimals do not, so they commute.

// decimalPlaces is the number of decimal places, and decimalOne is 1.
const (
	decimalPlaces = 6
	decimalOne    = 1_000_000
)

// decimalDigits limits the numbers, in millionths, that doubles represent exactly: all numbers with
// 15 digits.
//
// A double has 53 bits, enough for every decimal number with 15 digits. Above, neighbours in millionths can share
// one double, and the shortcut in toDecimal would return one of them at random.
const decimalDigits = 1_000_000_000_000_000

// toDecimal returns the decimal of a double: the shortest that reads back as the same double. It
// fails if that has more than 6 places or exceeds 9.2e12.
//
// The common case is arithmetic: a double with few digits is the quotient of two exact integers. Others are converted
// by their shortest text, which is what the client has written.
func toDecimal(f float64) (millionths int64, err error) {
	if scaled := math.Round(f * decimalOne); math.Abs(scaled) < decimalDigits && scaled/decimalOne == f {
		return int64(scaled), nil
	}
	whole, places, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), ".")
	if len(places) > decimalPlaces {
		return 0, Errorf(kv.KindInvalid, "%v has more than 6 decimal places; round it to millionths", f)
	}
	n, err := strconv.ParseInt(whole+places+strings.Repeat("0", decimalPlaces-len(places)), 10, 64)
	if err != nil {
		return 0, Errorf(kv.KindInvalid, "%v is out of range: decimals are between -9.2e12 and 9.2e12", f)
	}
	return n, nil
}

// fromDecimal returns the double nearest to a decimal. Up to 9e9 toDecimal is its inverse; above,
// doubles have fewer places than decimals.
func fromDecimal(millionths int64) float64 {
	if millionths > -1<<53 && millionths < 1<<53 {
		return float64(millionths) / decimalOne // both operands are exact, so the quotient is rounded once
	}
	f, _ := strconv.ParseFloat(strconv.FormatInt(millionths, 10)+"e-6", 64) // always valid
	return f
}
