package mvcc

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// add is blind. It is refused where it might leave 64 bits whichever of the
// undecided adds commit, so that a visible add never does.
func (x *execution) add(op *msg.Op) *msg.Failure {
	p := x.own(op.Key)
	if p != nil && p.Kind != entry.EffectAdd {
		_, f := x.addGet(op)
		return f
	}
	v, f := x.value(op.Key)
	if f == nil {
		v, f = x.plus(op.Key, v, op.Delta)
	}
	if f != nil {
		return f
	}
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
		low, high := reach(p)
		e.Low, e.High = min(low, sum), max(high, sum)
	}
	x.write(e)
	return nil
}

// PendingAdds sums the undecided adds among intents, leaving out txn's own. The
// sums stop at the ends of 64 bits.
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
		if i.Txn != txn && i.Effect.Kind == entry.EffectAdd {
			l, h := reach(i.Effect)
			low, high = clamp(low, l), clamp(high, h)
		}
	}
	return low, high
}

// reach is how far a transaction's adds to a counter go below and above where
// they began. Each of them has to stay within 64 bits, wherever in the order of
// decisions the transaction comes, so that their sum alone does not tell.
func reach(e *entry.Effect) (low, high int64) {
	return min(e.Low, e.Delta, 0), max(e.High, e.Delta, 0)
}
