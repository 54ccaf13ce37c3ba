package sim

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// A failure reports values in the store to a client. The checks here find out whether that is consistent with
// the attempt's reads. The first and the last register are often written together, with one value; the first is on the
// hot shard if any register is. A client that has read one of them sends an operation on the other that fails unless
// the two are equal. If it fails, there must be an instant at which the reads and the failure hold together.

// writePair writes one value to both registers.
func (c *client) writePair() []msg.Op {
	v := c.value()
	return []msg.Op{{Kind: msg.OpPut, Key: regKey(0), Value: v}, {Kind: msg.OpPut, Key: c.lastRegister(), Value: v}}
}

func (c *client) lastRegister() []byte { return regKey(c.w.opt.Registers - 1) }

// impliedOps returns an operation on one register that succeeds by what the attempt has read of the other. It returns
// nil if the attempt has read neither; at times it then returns a read.
func (x *interaction) impliedOps() []msg.Op {
	w := x.c.w
	if x.readOnly || !w.Chance(w.opt.Mix.UseImplied) {
		return nil
	}
	first, last := regKey(0), x.c.lastRegister()
	for _, call := range x.t.calls {
		for i := range call.results {
			op, r := &call.ops[i], &call.results[i]
			switch {
			case op.Kind != msg.OpGet:
			case string(op.Key) == string(first):
				return []msg.Op{x.opExpecting(last, r)}
			case string(op.Key) == string(last):
				return []msg.Op{x.opExpecting(first, r)}
			}
		}
	}
	return []msg.Op{{Kind: msg.OpGet, Key: first}}
}

// opExpecting returns an operation on a key that fails, or returns something else, unless the key is as it was read.
func (x *interaction) opExpecting(key []byte, read *msg.Result) msg.Op {
	what := x.c.w.Rng.IntN(4)
	switch {
	case !read.Found: // reported by the key's shard
		size, err := adt.Call(key, "set", "len", nil)
		if err != nil {
			panic(err)
		}
		return size
	case what == 0:
		return msg.Op{Kind: msg.OpAdd, Key: key, Delta: 1} // reported at the commit
	case what == 1:
		return msg.Op{Kind: msg.OpPut, Key: key, Value: x.c.value(), Expect: msg.ExpectValue, ExpectValue: read.Value}
	}
	return msg.Op{Kind: msg.OpRequire, Key: key, Expect: msg.ExpectValue, ExpectValue: read.Value}
}

// isConclusive reports whether a failure depends on values in the store, and not on concurrent transactions.
func isConclusive(f *msg.Failure) bool {
	if f == nil || f.Reason != msg.ReasonRequest {
		return false
	}
	switch kv.Kind(f.Kind) {
	case kv.KindConditionFailed, kv.KindWrongType, kv.KindOutOfRange, kv.KindNotFound:
		return true
	}
	return false
}

// requireInstant requires an instant at which all results of the attempt hold, including its failure.
func (x *interaction) requireInstant() {
	x.t.rolledBack, x.t.observed, x.t.end = true, x.how.At.IsZero(), x.c.w.Now()
	x.c.w.sum.ImpliedFailures++
}
