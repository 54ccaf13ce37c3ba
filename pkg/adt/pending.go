package adt

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// pendingRange is the range by which undecided increments may move a 64-bit integer, for every
// outcome and order. It saturates at the limits of int64, which stand for everything beyond. Each
// increment of a transaction counts as if it could commit alone: that is a wider range, and matters
// only near the limits.
//
// Example: +5 and -2 of two transactions are undecided. The number may have moved by -2 to +5.
type pendingRange struct{ low, high int64 }

// addUndecided adds the increments of other transactions. delta returns that of a call, 0 if the
// call concerns another number.
//
// HAZARD: calls of others were planned on another value than the visible one. Only the amounts that they add count,
// not what they would answer now.
func (r *pendingRange) addUndecided(others func(func([]msg.Call)), delta func(method uint32, args Args) int64) {
	others(func(calls []msg.Call) {
		for i := range calls {
			r.add(delta(calls[i].Method, calls[i].Args))
		}
	})
}

// add extends the range by one undecided increment, which may commit or not.
func (r *pendingRange) add(delta int64) {
	var ok bool
	if delta < 0 {
		r.low, ok = Sum(r.low, delta)
		if !ok {
			r.low = math.MinInt64
		}
		return
	}
	r.high, ok = Sum(r.high, delta)
	if !ok {
		r.high = math.MaxInt64
	}
}

// isUncertain reports whether the success of one more increment depends on the undecided ones.
// Without them its result is sum, or err.
//
//	all outcomes fit       the increment is granted beside the others
//	none is undecided      the result is certain: granted, or an error
//	else                   it waits until the others are decided
func (r *pendingRange) isUncertain(sum int64, err error) bool {
	return *r != pendingRange{} && (err != nil || !r.fits(sum))
}

// fits reports whether a number stays within 64 bits for every outcome.
func (r *pendingRange) fits(n int64) bool {
	_, up := Sum(n, r.high)
	_, down := Sum(n, r.low)
	return up && down && r.high < math.MaxInt64 && r.low > math.MinInt64
}
