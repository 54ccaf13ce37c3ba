package adt

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// reach is how far undecided increments may take a number of 64 bits down and up,
// whichever of them come to be, and in whatever order. It stops at the ends of 64
// bits, which stand for all beyond. Increments of one transaction are taken as if
// each could come to be alone: that is further than they reach, and makes a
// difference only near the ends.
type reach struct{ low, high int64 }

// undecided adds the increments of others; delta tells that of a call, 0 if it is
// of another number.
func (r *reach) undecided(others func(func([]msg.Call)), delta func(method uint32, args Args) int64) {
	others(func(calls []msg.Call) {
		for i := range calls {
			r.add(delta(calls[i].Method, calls[i].Args))
		}
	})
}

func (r *reach) add(delta int64) {
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

// decide reports whether it depends on the undecided increments if one more can
// be made, which by itself comes to a sum, or to an error.
func (r *reach) decide(sum int64, err error) bool {
	return *r != reach{} && (err != nil || !r.holds(sum))
}

// holds reports whether a number stays within 64 bits.
func (r *reach) holds(n int64) bool {
	_, up := Sum(n, r.high)
	_, down := Sum(n, r.low)
	return up && down && r.high < math.MaxInt64 && r.low > math.MinInt64
}
