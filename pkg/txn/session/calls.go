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

// lookup identifies the value that one operation finds at a key.
type lookup struct {
	seq uint32
	key string
}

// discarded is the number of operations whose results are not needed.
const discarded = math.MaxUint32

// calledKeys lists the keys that an operation reads and on which the transaction has called methods before, including
// earlier operations of the same request of the client.
//
// Example: after "add(x) on s", "scan [a, z)" needs the value of s from its shard, since the call may have made it
// exist.
func (s *Session) calledKeys(before []msg.Op, op *msg.Op) (keys [][]byte) {
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

// requestBuilder builds the requests for one call of the client. done counts, by key, the writes that the requests
// contain already: first those of the buffer, then those of the call.
type requestBuilder struct {
	s    *Session
	ops  []msg.Op
	done map[string]int
}

// withPreceding returns operation i on a key, or a get in its place, after all earlier operations of the transaction
// on the key that the request does not contain yet. The conditions of this call have not been checked: the shard
// checks them in order. Otherwise the failure of a later operation, executed as if they held, could hide that one
// does not.
//
// Example. Buffered: "add(x) on s". The call is "require s exists; len s; get s". The requests to the shard of s:
//
//	len s    add(x) (result discarded), require, len
//	get s    get: what precedes it is in the same request already
func (a *requestBuilder) withPreceding(i int, op *msg.Op) (out []msg.Op) {
	key := string(op.Key)
	n := len(a.s.buffer)
	for j := a.done[key]; j < n+i; j++ {
		w := &a.ops[max(j-n, 0)]
		if j < n {
			w = &a.s.buffer[j]
		}
		switch {
		case !w.Span().Contains(op.Key):
		// An operation of this call: its condition must be checked in order.
		case j >= n && !w.IsRange() && (w.Writes() || w.Kind == msg.OpRequire):
			out = append(out, *w)
		// A buffered write, or the effect of a range operation of this call on the key.
		case w.Writes():
			out = append(out, withoutResult(w, op.Key))
		}
	}
	a.done[key] = n + i
	if op.Writes() {
		a.done[key]++
	}
	return append(out, *op)
}

// withoutResult returns a write of a key whose result is not needed. Buffered writes have no conditions.
//
// A range deletion becomes the deletion of the key: the request is about this key only.
func withoutResult(w *msg.Op, key []byte) msg.Op {
	p := *w
	if w.Kind == msg.OpDeleteRange {
		p = msg.Op{Kind: msg.OpDelete, Key: key}
	}
	p.Seq = discarded
	return p
}

// lookUp returns the request for the value that operation i finds at a key.
//
// The shard returns what the operation finds after all earlier operations on the key, executed under the locks of
// this request but without effect: the writes are sent again with the commit.
func (a *requestBuilder) lookUp(i int, key []byte) []msg.Op {
	op := &a.ops[i]
	a.s.lookups[lookup{op.Seq, string(key)}] = entry.Value{}
	get := &msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: key, Stored: needsWholeValue(op), Methods: uint64(adt.MethodsOf(op))}
	return a.withPreceding(i, get)
}

// dropReads drops the reads that belong to an operation which will not be executed again.
func (s *Session) dropReads(op *msg.Op) {
	if !op.IsRange() {
		delete(s.lookups, lookup{op.Seq, string(op.Key)})
		return
	}
	delete(s.rows, op.Seq)
	maps.DeleteFunc(s.lookups, func(f lookup, _ entry.Value) bool { return f.seq == op.Seq })
}

// storeLookup stores the value that an operation finds, if the result is that of a lookup.
func (s *Session) storeLookup(op *msg.Op, r *msg.Result) bool {
	at := lookup{op.Seq, string(op.Key)}
	_, requested := s.lookups[at]
	if !requested || op.Kind != msg.OpGet {
		return false
	}
	v := valueOf(r)
	v.Version = kv.Version{} // a value that the transaction itself has made has none yet
	s.lookups[at] = v
	return true
}
