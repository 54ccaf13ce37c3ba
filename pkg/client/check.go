package client

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// checkOps rejects what no node accepts, and says which operation it is. The node checks all of it
// again; here it saves sending 16 MiB in vain.
func checkOps(ops []Op) error {
	if len(ops) == 0 {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "the transaction has no operations",
			Hint: "pass at least one"}
	}
	if len(ops) > kv.MaxTxnOps {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the transaction has %d operations", len(ops)),
			Hint: fmt.Sprintf("a transaction has at most %d; split it", kv.MaxTxnOps)}
	}
	total := 0
	for i, op := range ops {
		if op == nil {
			return &kv.Error{Kind: kv.KindInvalid, Op: i, Text: "the operation is nil", Hint: "pass what a builder has returned"}
		}
		if err := op.part().check(); err != nil {
			err.Op = i
			return err
		}
		total += opBytes(&op.part().op)
	}
	if total > kv.MaxTxnBytes {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("the transaction's keys and values have %d bytes", total),
			Hint: fmt.Sprintf("a transaction has at most %d bytes; split it", kv.MaxTxnBytes)}
	}
	return nil
}

func opBytes(o *msg.Op) int {
	n := len(o.Key) + len(o.End) + len(o.Value) + len(o.ExpectValue)
	for i := range o.Args {
		n += datumFrame + len(o.Args[i].Bytes)
	}
	return n
}

// datumFrame is what an argument counts in addition to its bytes.
const datumFrame = 16

func (o *operation) check() *kv.Error {
	if o.wrong != nil {
		again := *o.wrong
		return &again
	}
	return checkOp(&o.op)
}

func checkOp(o *msg.Op) *kv.Error {
	if o.Expect != msg.ExpectNothing && !takesCondition(o) {
		return &kv.Error{Kind: kv.KindInvalid, Text: "only put, delete and require take a condition", Key: o.Key,
			Hint: "add a RequireOp"}
	}
	if o.Expect == msg.ExpectVersion && o.ExpectVersion.IsZero() {
		return &kv.Error{Kind: kv.KindInvalid, Text: "the version of the condition is zero, which no write has", Key: o.Key,
			Hint: "pass the version of an Entry or a put; for a key that must not exist use IfAbsent"}
	}
	switch o.Kind {
	case msg.OpScan, msg.OpDeleteRange:
		return checkRange(o)
	}
	if err := kv.CheckClientKey(o.Key); err != nil {
		return err.(*kv.Error)
	}
	if err := kv.CheckValue(o.Key, o.Value); err != nil && !o.Stored {
		return err.(*kv.Error)
	}
	if err := kv.CheckValue(o.Key, o.ExpectValue); err != nil {
		return err.(*kv.Error)
	}
	if o.Kind == msg.OpDelete && o.Expect == msg.ExpectAbsent {
		return &kv.Error{Kind: kv.KindInvalid, Text: "a delete cannot be conditional on there being nothing to delete",
			Key: o.Key, Hint: "use RequireOp with IfAbsent"}
	}
	return nil
}

// takesCondition reports whether the operation has a condition on the wire. A Restore has
// none.
func takesCondition(o *msg.Op) bool {
	return o.Kind == msg.OpPut && !o.Stored || o.Kind == msg.OpDelete || o.Kind == msg.OpRequire
}

func checkRange(o *msg.Op) *kv.Error {
	// A bound may be the least key after the longest.
	if len(o.Key) > kv.MaxKeyBytes+1 || len(o.End) > kv.MaxKeyBytes+1 {
		return &kv.Error{Kind: kv.KindInvalid, Text: "a bound of the range is longer than a key can be",
			Hint: fmt.Sprintf("a key has at most %d bytes", kv.MaxKeyBytes)}
	}
	if span := kv.Range(o.Key, o.End); span.IsEmpty() {
		return &kv.Error{Kind: kv.KindInvalid, Text: "the range " + span.String() + " is empty",
			Hint: "its start must be less than its end"}
	}
	if o.Kind == msg.OpDeleteRange && len(o.Key) == 0 && len(o.End) == 0 {
		return &kv.Error{Kind: kv.KindInvalid, Text: "the range to delete has neither start nor end",
			Hint: "to delete every key, start at the key of one zero byte"}
	}
	if o.Limit > kv.MaxScanLimit {
		return &kv.Error{Kind: kv.KindInvalid, Text: "the limit of a scan is out of range",
			Hint: fmt.Sprintf("it is 1 to %d, or 0 for the greatest; continue at Page.Rest", kv.MaxScanLimit)}
	}
	return nil
}
