package txn

import (
	"bytes"
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// What calls of data types make of a key only its shard can tell: the gateway does
// not have the value. So an operation that comes after such calls is not evaluated
// here but asked about, together with everything that the transaction has done to
// the key before.

// finding names what one operation finds at a key.
type finding struct {
	seq uint32
	key string
}

// pretended is the number of operations whose results nobody needs.
const pretended = math.MaxUint32

// called lists the keys that an operation sees and that the transaction has called
// methods on before, in this call of the gateway too.
func (s *session) called(before []msg.Op, op *msg.Op) (keys [][]byte) {
	if op.IsCall() || op.Kind == msg.OpLockRange {
		return nil
	}
	span := op.Span()
	note := func(w *msg.Op) {
		if !w.IsCall() || !w.Writes() || !span.Contains(w.Key) {
			return
		}
		for _, k := range keys {
			if bytes.Equal(k, w.Key) {
				return
			}
		}
		keys = append(keys, w.Key)
	}
	for i := range s.buffer {
		note(&s.buffer[i])
	}
	for i := range before {
		note(&before[i])
	}
	return keys
}

// askAfter is an operation with what the transaction has done to its key before.
func (s *session) askAfter(before []msg.Op, op *msg.Op) (out []msg.Op) {
	pretend := func(w *msg.Op) {
		if !w.Writes() || !w.Span().Contains(op.Key) {
			return
		}
		p := *w
		p.Expect, p.ExpectValue, p.ExpectVersion = msg.ExpectNothing, nil, kv.Version{}
		if w.Kind == msg.OpDeleteRange {
			p = msg.Op{Kind: msg.OpDelete, Key: op.Key}
		}
		p.Seq = pretended
		out = append(out, p)
	}
	for i := range s.buffer {
		pretend(&s.buffer[i])
	}
	for i := range before {
		pretend(&before[i])
	}
	return append(out, *op)
}

// found takes what an operation finds.
func (s *session) found(op *msg.Op, r *msg.Result) {
	v := entry.Value{Type: entry.TypeDeleted}
	if r.Found {
		v.Type, v.Payload = entry.Type(r.Type), r.Value
	}
	s.after[finding{op.Seq, string(op.Key)}] = v
}
