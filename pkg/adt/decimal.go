package adt

import (
	"math"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Exact decimals: numbers of at most 6 decimal places, as whole millionths in 64
// bits. Sums of binary fractions depend on their order, in the last bits; sums of
// these do not, so that they commute.

// decimalPlaces is how many there are, and decimalOne is 1.
const (
	decimalPlaces = 6
	decimalOne    = 1_000_000
)

// decimalDigits bounds numbers, in millionths, that doubles tell apart whatever
// their digits: all of 15 digits.
const decimalDigits = 1_000_000_000_000_000

// toDecimal gives the decimal that a double stands for: the shortest that reads
// back as it. The error says what is wrong if it has more than 6 places, or is
// beyond 9.2e12.
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

// fromDecimal gives the double that is nearest to a decimal. Up to 9e9 toDecimal
// gives the same decimal back; above, doubles have fewer places than decimals.
func fromDecimal(millionths int64) float64 {
	if millionths > -1<<53 && millionths < 1<<53 {
		return float64(millionths) / decimalOne // both are exact, and one rounding is the nearest
	}
	f, _ := strconv.ParseFloat(strconv.FormatInt(millionths, 10)+"e-6", 64) // digits, always
	return f
}
