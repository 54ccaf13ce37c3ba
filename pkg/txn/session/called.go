package session

import (
	"bytes"
	"maps"
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// finding names what one operation finds at a key.
type finding struct {
	seq uint32
	key string
}

// pretended is the number of operations whose results nobody needs.
const pretended = math.MaxUint32

// called lists the keys that an operation sees and that the transaction has called
// methods on before, in this call of the gateway too.
func (s *Session) called(before []msg.Op, op *msg.Op) (keys [][]byte) {
	if op.IsCall() {
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

// asking is what one call of the gateway asks the shards. done counts the writes,
// of the buffer and then of the call, that the requests contain already, by key.
type asking struct {
	s    *Session
	ops  []msg.Op
	done map[string]int
}

// after is operation number i on a key, or the question what it finds there, with
// what the transaction has done to the key before and the shard has not been told
// in the same request. The conditions of this call of the gateway are not checked yet: the
// shard checks them in order, so that the failure of a later operation, which is executed as
// if they held, does not hide a condition that does not hold.
func (a *asking) after(i int, op *msg.Op) (out []msg.Op) {
	key := string(op.Key)
	n := len(a.s.buffer)
	for j := a.done[key]; j < n+i; j++ {
		w := &a.ops[max(j-n, 0)]
		if j < n {
			w = &a.s.buffer[j]
		}
		switch {
		case !w.Span().Contains(op.Key):
		case j >= n && !w.IsRange() && (w.Writes() || w.Kind == msg.OpRequire):
			out = append(out, *w)
		case w.Writes():
			out = append(out, pretend(w, op.Key))
		}
	}
	a.done[key] = n + i
	if op.Writes() {
		a.done[key]++
	}
	return append(out, *op)
}

// pretend is a write of a key whose result nobody needs. Writes in the buffer have no
// conditions left.
func pretend(w *msg.Op, key []byte) msg.Op {
	p := *w
	if w.Kind == msg.OpDeleteRange {
		p = msg.Op{Kind: msg.OpDelete, Key: key}
	}
	p.Seq = pretended
	return p
}

// finds is the question what operation number i finds at a key.
func (a *asking) finds(i int, key []byte) []msg.Op {
	op := &a.ops[i]
	a.s.after[finding{op.Seq, string(key)}] = entry.Value{}
	get := &msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: key, Stored: needsAll(op), Methods: uint64(adt.MethodsOf(op))}
	return a.after(i, get)
}

// forget drops what was asked for an operation that is not executed again.
func (s *Session) forget(op *msg.Op) {
	if !op.IsRange() {
		delete(s.after, finding{op.Seq, string(op.Key)})
		return
	}
	delete(s.rows, op.Seq)
	maps.DeleteFunc(s.after, func(f finding, _ entry.Value) bool { return f.seq == op.Seq })
}

// found takes what an operation finds, if that was the question.
func (s *Session) found(op *msg.Op, r *msg.Result) bool {
	at := finding{op.Seq, string(op.Key)}
	_, asked := s.after[at]
	if !asked || op.Kind != msg.OpGet {
		return false
	}
	v := value(r)
	v.Version = kv.Version{} // what the transaction itself has made has none yet
	s.after[at] = v
	return true
}
