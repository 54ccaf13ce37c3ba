package mvcc

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// add executes a blind increment. It fails if the counter could exceed 64 bits for some outcome of
// the undecided increments, so an increment that was accepted never fails when it becomes visible.
//
// Example, with a counter at 2^63 - 4, and T1: add 2, undecided.
//
//	T2: add 2      rejected: if T1 commits, 2^63 does not fit. It is an error although T1 may abort.
//	T3: add -5     accepted
func (x *execution) add(op *msg.Op) *msg.Failure {
	p := x.ownEffect(op.Key)
	// The piece has written the key before, for example put and then add. It holds mode write, so
	// the sum is known and the result is an ordinary write.
	if p != nil && p.Kind != entry.EffectAdd {
		_, f := x.addGet(op)
		return f
	}
	v, f := x.value(op.Key)
	if f == nil {
		v, f = x.addDelta(op.Key, v, op.Delta)
	}
	if f != nil {
		return f
	}
	// The saturated sums stand for everything beyond int64, so a saturated sum is rejected even if
	// it would fit.
	low, high := x.view.Pending(op.Key)
	n, _ := adt.DecodeCounter(v.Payload)
	if _, ok := adt.Sum(n, high); !ok || high == math.MaxInt64 {
		return fail(kv.KindOutOfRange, op.Key, "with the increments in flight, the counter could exceed 64 bits")
	}
	if _, ok := adt.Sum(n, low); !ok || low == math.MinInt64 {
		return fail(kv.KindOutOfRange, op.Key, "with the decrements in flight, the counter could exceed 64 bits")
	}
	e := entry.Effect{Key: op.Key, Kind: entry.EffectAdd, Type: uint32(adt.Counter), Delta: op.Delta}
	if p != nil {
		e.Expires = p.Expires
		sum, ok := adt.Sum(p.Delta, op.Delta)
		if !ok {
			return fail(kv.KindOutOfRange, op.Key, "the transaction's own increments exceed 64 bits")
		}
		e.Delta = sum
		low, high := extremes(p)
		e.Low, e.High = min(low, sum), max(high, sum)
	}
	x.addEffect(e)
	return nil
}

// PendingAdds returns the least and greatest sum of the undecided increments among intents, without
// those of txn. The sums saturate at the limits of int64.
func PendingAdds(intents []Intent, txn kv.TxnRef) (low, high int64) {
	clamp := func(a, b int64) int64 {
		if s, ok := adt.Sum(a, b); ok {
			return s
		}
		if a < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	for _, i := range intents {
		// The own intents are in the value already, and those that are no increments exclude mode
		// add.
		if i.Txn != txn && i.Effect.Kind == entry.EffectAdd {
			l, h := extremes(i.Effect)
			low, high = clamp(low, l), clamp(high, h)
		}
	}
	return low, high
}

// extremes returns the lowest and highest intermediate sum of a transaction's increments, relative
// to the value before the first. Every intermediate sum must fit into 64 bits for each order of
// decisions, so the total alone does not suffice: +2^62 and then -2^62+10 adds up to 10, but needs
// space for 2^62.
func extremes(e *entry.Effect) (low, high int64) {
	return min(e.Low, e.Delta, 0), max(e.High, e.Delta, 0)
}
