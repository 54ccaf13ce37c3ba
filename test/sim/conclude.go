package sim

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// What a client is told of a failure, and makes of it. The first register and the
// last are often written together, with one value; the first is on the hot shard if
// any is. Who has read one of them asks for the other to hold the same. If that
// fails, and the client believes it, there has to be an instant at which it was so.

// twins writes one value to both.
func (c *client) twins() []msg.Op {
	v := c.value()
	return []msg.Op{{Kind: msg.OpPut, Key: regKey(0), Value: v}, {Kind: msg.OpPut, Key: c.lastRegister(), Value: v}}
}

func (c *client) lastRegister() []byte { return regKey(c.w.opt.Registers - 1) }

// concluding asks for what must hold by what the attempt has read, nil if it has
// read nothing that it could be concluded from. At times it reads that.
func (x *interaction) concluding() []msg.Op {
	w := x.c.w
	if x.ro || !w.chance(w.opt.Mix.Conclude) {
		return nil
	}
	first, last := regKey(0), x.c.lastRegister()
	for _, call := range x.t.calls {
		for i := range call.results {
			op, r := &call.ops[i], &call.results[i]
			switch {
			case op.Kind != msg.OpGet:
			case string(op.Key) == string(first):
				return []msg.Op{x.expecting(last, r)}
			case string(op.Key) == string(last):
				return []msg.Op{x.expecting(first, r)}
			}
		}
	}
	return []msg.Op{{Kind: msg.OpGet, Key: first}}
}

// expecting is an operation on a key that fails, or is wrong, unless it is as
// another was read.
func (x *interaction) expecting(key []byte, read *msg.Result) msg.Op {
	what := x.c.w.rng.IntN(4)
	switch {
	case !read.Found: // told by the key's shard
		size, err := adt.Call(key, "set", "len", nil)
		if err != nil {
			panic(err)
		}
		return size
	case what == 0:
		return msg.Op{Kind: msg.OpAdd, Key: key, Delta: 1} // told at the commit
	case what == 1:
		return msg.Op{Kind: msg.OpPut, Key: key, Value: x.c.value(), Expect: msg.ExpectValue, ExpectValue: read.Value}
	}
	return msg.Op{Kind: msg.OpRequire, Key: key, Expect: msg.ExpectValue, ExpectValue: read.Value}
}

// concludes reports whether a failure tells of the values in the store, and not of
// what others did meanwhile.
func concludes(f *msg.Failure) bool {
	if f == nil || f.Reason != msg.ReasonRequest {
		return false
	}
	switch kv.Kind(f.Kind) {
	case kv.KindConditionFailed, kv.KindWrongType, kv.KindOutOfRange, kv.KindNotFound:
		return true
	}
	return false
}

// believe has the judge look for an instant at which all that the attempt was told,
// its failure too, was so.
func (x *interaction) believe() {
	x.t.rolledBack, x.t.observed, x.t.end = true, x.how.At.IsZero(), x.c.w.now
	x.c.w.sum.Concluded++
}
