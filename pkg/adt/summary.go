package adt

import (
	"encoding/binary"
	"errors"
	"math/big"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Summary is the number of the type "summary": statistics of added numbers (Holt
// 2016, table 4.1). Its size does not depend on how many numbers were added.
//
// The numbers have up to 6 decimal places and a magnitude of up to 9.2e12. The sums of the numbers
// and of their squares are exact, so additions commute exactly; an answer is the nearest double.
//
//	                          add  inside  extremes  stats
//	add       a number         x     x        .         .
//	inside    a number between minimum and maximum
//	                           x     x        x         .
//	extremes  min, max         .     x        x         x
//	stats     all others       .     .        x         x
//
// Numbers are never removed, so a number that is between the extremes stays so.
//
// # Why the pairs commute
//
// Count, sum and sum of squares are sums of integers, minimum and maximum are the same in either order, and an addition
// returns nothing. All integers are exact: with doubles, (a + b) + c and a + (b + c) would differ in their last bit.
//
//	inside, extremes   the addition was between the extremes when it was planned, and they only move outwards
//	add, extremes      does not: the addition may be a new extreme
//	stats, any add     does not: it counts
const Summary entry.Type = 6

// Kinds of lock of a summary, as stored.
const (
	// summaryAdd: adds numbers that may change the extremes.
	summaryAdd Kind = iota + 1
	// summaryInside: adds numbers between the extremes, which stay.
	summaryInside
	// summaryExtremes: reads minimum or maximum.
	summaryExtremes
	// summaryStats: reads count, sums or what is computed from them.
	summaryStats
)

// summaryState has the extremes and the sum in millionths, and the squares in millionths of
// millionths.
type summaryState struct {
	count        uint64
	least, most  int64
	sum, squares *big.Int // immutable
}

// summaryForm is the first byte of the stored form.
const summaryForm = 1

func init() { Install(summarySpec()) }

// summarySpec declares the type.
func summarySpec() Spec[summaryState] {
	query := func(name, doc string, kind Kind, answer func(summaryState) []msg.Datum) MethodSpec[summaryState] {
		return MethodSpec[summaryState]{Name: name, Doc: doc, Kind: kind,
			Answer: func(s summaryState, _ Args) ([]msg.Datum, error) { return answer(s), nil }}
	}
	one := func(d func(*summaryState) msg.Datum) func(summaryState) []msg.Datum {
		return func(s summaryState) []msg.Datum {
			if s.count == 0 {
				return []msg.Datum{Nil()}
			}
			return []msg.Datum{d(&s)}
		}
	}
	return Spec[summaryState]{
		ID: Summary, Name: "summary",
		Doc:  "Statistics of numbers with up to 6 decimal places and a magnitude of up to 9.2e12.",
		Zero: func() summaryState { return summaryState{} }, Empty: func(s summaryState) bool { return s.count == 0 },
		Encode: encodeSummary, Decode: decodeSummary, Size: func(summaryState) int { return 64 },
		Kinds: []KindSpec{{"add", true}, {"inside", true}, {"extremes", false}, {"stats", false}},
		Commute: []Commutes{{summaryAdd, summaryAdd, Always}, {summaryAdd, summaryInside, Always},
			{summaryInside, summaryInside, Always},
			{summaryInside, summaryExtremes, Always}},
		Methods: []MethodSpec[summaryState]{
			{Name: "add", Doc: "Adds numbers.", Params: []Param{{Name: "x", Kind: msg.DatumFloat, Many: true}}, Kind: summaryAdd,
				Apply: addToSummary, Plan: planSummaryAdd, Combine: combineNumbers},
			query("count", "Returns the number of values.", summaryStats,
				func(s summaryState) []msg.Datum { return []msg.Datum{Int(int64(s.count))} }),
			query("sum", "Returns the sum.", summaryStats, func(s summaryState) []msg.Datum { return []msg.Datum{s.total()} }),
			query("mean", "Returns the mean, or nil.", summaryStats, one((*summaryState).mean)),
			query("min", "Returns the minimum, or nil.", summaryExtremes,
				one(func(s *summaryState) msg.Datum { return Float(fromDecimal(s.least)) })),
			query("max", "Returns the maximum, or nil.", summaryExtremes,
				one(func(s *summaryState) msg.Datum { return Float(fromDecimal(s.most)) })),
			query("variance", "Returns the population variance, or nil.", summaryStats, one((*summaryState).variance)),
			query("stats", "Returns count, sum, mean, min, max and variance.", summaryStats, func(s summaryState) []msg.Datum {
				if s.count == 0 {
					return []msg.Datum{Int(0), Float(0), Nil(), Nil(), Nil(), Nil()}
				}
				return []msg.Datum{Int(int64(s.count)), s.total(), s.mean(), Float(fromDecimal(s.least)),
					Float(fromDecimal(s.most)), s.variance()}
			}),
		},
	}
}

// combineNumbers combines two additions. The limit keeps the cost of a long transaction linear.
func combineNumbers(first, then Args) (Args, bool) {
	if len(first)+len(then) > 256 {
		return nil, false
	}
	return append(append(make(Args, 0, len(first)+len(then)), first...), then...), true
}

// planSummaryAdd plans add. If all numbers are between the extremes, reads of min and max do not
// conflict. The extremes only move outwards, so the weaker lock stays sufficient.
//
// Sums are exact (integers in millionths): with rounded sums two adds would not commute.
func planSummaryAdd(v *View[summaryState], a Args) Plan {
	s, need := v.State, summaryInside
	for i := range a {
		n, err := toDecimal(a[i].Float)
		if err != nil {
			return Plan{Err: err}
		}
		// The number changes an extreme, so it conflicts with reads of the extremes.
		if s.count == 0 || n < s.least || n > s.most {
			need = summaryAdd
		}
	}
	return As(need, 1, a)
}

// addToSummary applies add.
//
// The old sums are copied, since older versions of the value share them.
func addToSummary(s summaryState, a Args) (summaryState, error) {
	sum, squares := new(big.Int), new(big.Int)
	if s.count > 0 {
		sum.Set(s.sum)
		squares.Set(s.squares)
	}
	var x, square big.Int
	for i := range a {
		n, err := toDecimal(a[i].Float)
		if err != nil {
			return s, err
		}
		if s.count == 0 {
			s.least, s.most = n, n
		}
		s.count++
		s.least, s.most = min(s.least, n), max(s.most, n)
		sum.Add(sum, x.SetInt64(n))
		squares.Add(squares, square.Mul(&x, &x))
	}
	s.sum, s.squares = sum, squares
	return s, nil
}

// million is 1 in millionths.
var million = big.NewInt(1e6)

// ratio returns a quotient, rounded once.
func ratio(a, b *big.Int) msg.Datum {
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	return Float(f)
}

// total is the sum as the nearest double.
func (s *summaryState) total() msg.Datum {
	if s.count == 0 {
		return Float(0)
	}
	return ratio(s.sum, million)
}

// mean is the mean as the nearest double.
func (s *summaryState) mean() msg.Datum {
	n := new(big.Int).SetUint64(s.count)
	return ratio(s.sum, n.Mul(n, million))
}

// variance is the mean of the squares minus the square of the mean. It is computed exactly, so it
// is never negative.
//
// With n numbers, sum S and sum of squares Q, all in millionths, it is (n*Q - S*S) / (n*n), in millionths of
// millionths.
func (s *summaryState) variance() msg.Datum {
	n := new(big.Int).SetUint64(s.count)
	above := new(big.Int).Mul(n, s.squares)
	above.Sub(above, new(big.Int).Mul(s.sum, s.sum))
	below := new(big.Int).Mul(n, million)
	return ratio(above, below.Mul(below, below))
}

// encodeSummary writes the version, the count, the extremes, the sign of the sum, and the
// magnitudes of sum and squares with their lengths.
func encodeSummary(s summaryState) []byte {
	b := binary.AppendUvarint([]byte{summaryForm}, s.count)
	if s.count == 0 {
		return b
	}
	b = binary.AppendVarint(binary.AppendVarint(b, s.least), s.most)
	sign := byte(0)
	if s.sum.Sign() < 0 {
		sign = 1
	}
	b = append(b, sign)
	for _, n := range []*big.Int{s.sum, s.squares} {
		of := n.Bytes()
		b = append(binary.AppendUvarint(b, uint64(len(of))), of...)
	}
	return b
}

// decodeSummary is the inverse of encodeSummary.
func decodeSummary(b []byte) (s summaryState, err error) {
	if len(b) == 0 || b[0] != summaryForm {
		return s, errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	r := kv.Decoder{Rest: b[1:]}
	s.count = r.Uint()
	switch {
	case r.Failed:
		return s, errTruncated
	case s.count == 0:
		return s, nil
	}
	s.least, s.most = r.Int(), r.Int()
	sign := r.Byte()
	sum := r.Bytes()
	squares := r.Bytes()
	if r.Failed || len(r.Rest) > 0 {
		return s, errTruncated
	}
	s.sum, s.squares = new(big.Int).SetBytes(sum), new(big.Int).SetBytes(squares)
	if sign != 0 {
		s.sum.Neg(s.sum)
	}
	return s, nil
}

var errTruncated = errors.New("it is cut off, or not of this type")
