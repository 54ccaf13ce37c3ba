package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// someOps draws operations on random keys, on one shard only if oneShard is set.
func (c *client) someOps(n int, readOnly, oneShard bool) []msg.Op {
	w := c.w
	var ops []msg.Op
	home := kv.ShardID(0)
	for tries := 0; len(ops) < n; tries++ {
		op := c.someOp(readOnly)
		if oneShard && tries < 50 {
			if op.IsRange() {
				continue
			}
			s := w.Router.Shard(op.Key)
			if len(ops) == 0 {
				home = s
			} else if s != home {
				continue
			}
		}
		ops = append(ops, op)
	}
	return ops
}

// dump turns some gets of a one-shot into reads of the stored form.
func (c *client) dump(ops []msg.Op) {
	for i := range ops {
		op := &ops[i]
		if !c.w.Chance(c.w.opt.Mix.Dump) {
			continue
		}
		if op.IsCall() && !op.Writes() {
			*op = msg.Op{Kind: msg.OpGet, Key: op.Key}
		}
		op.Stored = op.Kind == msg.OpGet
	}
}

func (c *client) someOp(readOnly bool) msg.Op {
	w, m := c.w, c.w.opt.Mix.Ops
	if w.opt.Expiring && !readOnly && w.Rng.IntN(6) == 0 {
		return c.expiringOp()
	}
	if w.opt.Objects > 0 && w.Rng.IntN(3) > 0 {
		return c.someCall(readOnly)
	}
	weights := []int{m.Get, m.Require, m.Scan, m.Put, m.Delete, m.Condition, m.Add, m.AddGet, m.DeleteRange}
	if readOnly {
		weights = weights[:3]
	}
	sum := 0
	for _, x := range weights {
		sum += x
	}
	if sum == 0 {
		return msg.Op{Kind: msg.OpGet, Key: c.register()}
	}
	at, kind := w.Rng.IntN(sum), 0
	for at >= weights[kind] {
		at -= weights[kind]
		kind++
	}
	switch kind {
	case 0:
		return msg.Op{Kind: msg.OpGet, Key: c.anyKey(), ForUpdate: !readOnly && w.Rng.IntN(4) == 0}
	case 1:
		return c.expecting(msg.Op{Kind: msg.OpRequire, Key: c.anyKey()})
	case 2:
		n := w.Rng.IntN(8)
		op := msg.Op{Kind: msg.OpScan, Limit: uint32(n % 4), Reverse: n >= 4}
		op.Key, op.End = c.someRange()
		return op
	case 3:
		return msg.Op{Kind: msg.OpPut, Key: c.register(), Value: c.value()}
	case 4:
		return msg.Op{Kind: msg.OpDelete, Key: c.anyKey(), ReturnFound: w.Now()%2 == 0}
	case 5:
		op := msg.Op{Kind: msg.OpPut, Key: c.register(), Value: c.value()}
		if w.Rng.IntN(4) == 0 {
			op = msg.Op{Kind: msg.OpDelete, Key: c.anyKey()}
		}
		return c.expecting(op)
	case 6, 7:
		op := msg.Op{Kind: msg.OpAdd, Key: c.counter(), Delta: int64(w.Rng.IntN(20) - 5)}
		if kind == 7 {
			op.Kind = msg.OpAddGet
		}
		if m := w.Rng.IntN(3); c.w.opt.Mix.Huge && m > 0 {
			op.Delta += int64(2*m-3) << 61
		}
		return op
	}
	op := msg.Op{Kind: msg.OpDeleteRange}
	op.Key, op.End = c.someRange()
	return op
}

// expecting adds a condition to an operation, in most cases one that may hold.
func (c *client) expecting(op msg.Op) msg.Op {
	op.Expect = pick(c.w.Rng, msg.ExpectExists, msg.ExpectAbsent, msg.ExpectValue, msg.ExpectVersion)
	switch op.Expect {
	case msg.ExpectValue:
		op.ExpectValue = c.values[string(op.Key)]
		if op.ExpectValue == nil {
			op.Expect = msg.ExpectAbsent
		}
	case msg.ExpectVersion:
		op.ExpectVersion = c.versions[string(op.Key)]
		if op.ExpectVersion.IsZero() {
			op.Expect = msg.ExpectAbsent
		}
	}
	return op
}

// remember records versions and values for later conditions.
func (c *client) remember(call *callRecord) {
	see := func(key, value []byte, v kv.Version) {
		c.versions[string(key)], c.values[string(key)] = v, value
	}
	for i := range call.results {
		op, r := &call.ops[i], &call.results[i]
		switch {
		case op.Kind == msg.OpGet && r.Found:
			see(op.Key, r.Value, r.Version)
		case op.Kind == msg.OpPut:
			see(op.Key, op.Value, r.Version)
		}
		for _, p := range r.Pairs {
			see(p.Key, p.Value, p.Version)
		}
	}
}

func (c *client) register() []byte {
	if c.w.opt.Counters > 0 && c.w.Rng.IntN(30) == 0 {
		return c.counter() // the wrong type, unless it was deleted
	}
	return regKey(c.w.Rng.IntN(c.w.opt.Registers))
}

func (c *client) counter() []byte {
	if c.w.opt.Counters == 0 || c.w.Rng.IntN(30) == 0 {
		return regKey(c.w.Rng.IntN(c.w.opt.Registers))
	}
	return counterKey(c.w.Rng.IntN(c.w.opt.Counters))
}

func (c *client) anyKey() []byte {
	if n := c.w.opt.Objects; n > 0 && c.w.Rng.IntN(4) == 0 {
		return objectKey(c.w.Rng.IntN(len(objectTypes)), c.w.Rng.IntN(n))
	}
	if i := c.w.Rng.IntN(c.w.opt.Registers + c.w.opt.Counters); i < c.w.opt.Counters {
		return counterKey(i)
	}
	return c.register()
}

// someRange draws a range between two keys, or up to the last key.
func (c *client) someRange() (start, end []byte) {
	start, end = c.anyKey(), c.anyKey()
	if bytes.Compare(start, end) > 0 {
		start, end = end, start
	}
	if c.w.Rng.IntN(3) == 0 {
		end = []byte{}
	} else if bytes.Equal(start, end) {
		end = kv.Next(end)
	}
	return start, end
}

// value returns a value that is written only once.
func (c *client) value() []byte {
	c.valueCount++
	return fmt.Appendf(nil, "v%d.%d", c.n, c.valueCount)
}

// cloneOps copies operations, since the gateway numbers them.
func cloneOps(ops []msg.Op) []msg.Op { return slices.Clone(ops) }

// describe formats operations for a trace.
func describe(ops []msg.Op) string {
	var b strings.Builder
	for i := range ops {
		op := &ops[i]
		if m, err := adt.Find(op); op.IsCall() && err == nil {
			fmt.Fprintf(&b, "%s.%s(%s%v) ", m.Type.Name, m.Name, op.Key, op.Args)
			continue
		}
		fmt.Fprintf(&b, "%v(%v", op.Kind, op.Span())
		if op.Expiry != 0 {
			fmt.Fprintf(&b, " expires %d", op.Expiry)
		}
		switch {
		case op.Kind == msg.OpPut:
			fmt.Fprintf(&b, "=%q", op.Value)
		case op.Delta != 0:
			fmt.Fprintf(&b, "%+d", op.Delta)
		case op.Limit != 0:
			fmt.Fprintf(&b, " limit %d", op.Limit)
		}
		switch op.Expect {
		case msg.ExpectNothing:
		case msg.ExpectValue:
			fmt.Fprintf(&b, " if =%q", op.ExpectValue)
		case msg.ExpectVersion:
			fmt.Fprintf(&b, " if at %v", op.ExpectVersion)
		default:
			fmt.Fprintf(&b, " if %v", op.Expect)
		}
		b.WriteString(") ")
	}
	return b.String()
}

// anchor is the key that each one-shot writes, and that never moves (Options.Anchored).
var anchor = regKey(0)

// isAnchor reports whether a key may not move.
func (w *sim) isAnchor(key []byte) bool { return w.opt.Anchored && string(key) == string(anchor) }

// anchored adds a write of the anchor to a one-shot.
func (c *client) anchored(ops []msg.Op) []msg.Op {
	writes := func(op msg.Op) bool { return !op.IsRange() && op.Writes() && c.w.isAnchor(op.Key) }
	if !c.w.opt.Anchored || slices.ContainsFunc(ops, writes) {
		return ops
	}
	return append(ops, msg.Op{Kind: msg.OpPut, Key: anchor, Value: c.value()})
}

// expiringOp draws an operation that sets or removes a deadline.
func (c *client) expiringOp() msg.Op {
	expiry := -1 - int64(c.w.Rng.IntN(maxTTL))
	switch c.w.Rng.IntN(8) {
	case 0:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey()}
	case 1, 2, 3:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey(), Expiry: expiry}
	}
	return msg.Op{Kind: msg.OpPut, Key: c.register(), Value: c.value(), Expiry: expiry}
}

func regKey(i int) []byte { return fmt.Appendf(nil, "r%d", i) }

func counterKey(i int) []byte { return fmt.Appendf(nil, "c%d", i) }

// objectKey returns a key that mostly holds a value of data type number n in objectTypes.
func objectKey(n, i int) []byte { return fmt.Appendf(nil, "t%d.%d", n, i) }
