package session

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// valueNeeds reports whether an operation needs the value of its key, and whether it writes the key afterwards.
//
//	get, require                     read lock, or a write lock if the client asks for it
//	add-get, expire                  write lock: the operation writes what it has read
//	put, delete with a condition     write lock
//	put, delete, add without one     none: the lock is acquired at the commit, by the shard
func valueNeeds(op *msg.Op) (needs, forUpdate bool) {
	switch op.Kind {
	case msg.OpGet, msg.OpRequire:
		return true, op.ForUpdate
	case msg.OpAddGet, msg.OpExpire:
		return true, true
	case msg.OpPut, msg.OpDelete:
		return op.Expect != msg.ExpectNothing || op.ReturnFound, true
	}
	return false, false
}

// needsWholeValue reports whether an operation needs the stored value, not only what is shown of it
// (mvcc.VisiblePayload).
func needsWholeValue(op *msg.Op) bool { return op.Stored || op.Expect == msg.ExpectValue }

// keysNeededWhole returns the keys whose stored value some operation needs; nil if there are none.
//
// Known before the first operation is looked at: a key is read once per call, in the form that all operations need.
func keysNeededWhole(ops []msg.Op) (keys map[string]bool) {
	for i := range ops {
		if needsWholeValue(&ops[i]) {
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[string(ops[i].Key)] = true
		}
	}
	return keys
}

// Placement is what NeededReads needs to know about keys and shards.
type Placement struct {
	Shards int
	Hot    kv.ShardID
	// Place returns the shard of a key.
	Place func(key []byte) kv.ShardID
	// Early reports whether a read of a key should write-lock it at once; nil for never.
	Early func(key []byte) bool
	// First is the shard that locks first where contended ranges are read for update. It write-locks its part, so that
	// the transactions queue there.
	First kv.ShardID
	// EarlyRange reports whether a range is contended in this way; nil for never.
	EarlyRange func(op *msg.Op) bool
}

// NeededReads returns the reads that ops still need, by shard: those under locks, and the optimistic ones, which are
// validated at the end.
//
// Example, in a transaction that has called add(x) on the set s before:
//
//	len s       the call itself is sent to the shard, after "add(x) on s", without a result of the latter
//	get s       a call precedes it: its value is looked up on the shard, after "add(x) on s"
//	get k       a get of k, under a read lock
//	put k 1     nothing
//	scan [a, b) a scan of each shard's part
func (s *Session) NeededReads(ops []msg.Op, w Placement) (locked, unlocked piece.Pieces) {
	whole := keysNeededWhole(ops)
	requested := map[string]bool{}
	a := requestBuilder{s: s, ops: ops, done: map[string]int{}}
	add := func(key []byte, more ...msg.Op) {
		p := locked.At(w.Place(key))
		p.Ops = append(p.Ops, more...)
	}
	for i := range ops {
		op := &ops[i]
		// This gateway cannot compute what a call has made of the value.
		called := s.calledKeys(ops[:i], op)
		for _, key := range called {
			add(key, a.lookUp(i, key)...)
		}
		free := op.Unlocked && s.Unlocked
		switch {
		case op.IsRange() && free:
			s.addRangeReads(op, w.Shards, &unlocked)
			continue
		case op.IsRange():
			s.addRangeReads(op, w.Shards, &locked)
			if w.EarlyRange != nil && !op.Unlocked && w.EarlyRange(op) && !op.Span().IsEmpty() {
				ops := locked.At(w.First).Ops
				ops[len(ops)-1].ForUpdate = true
			}
			continue
		case op.IsCall() && free:
			p := unlocked.At(w.Place(op.Key))
			p.Ops = append(p.Ops, a.withPreceding(i, op)...)
			continue
		case op.IsCall():
			// An update without a result is only buffered. Its lock is acquired at the commit, where it commutes.
			if op.Kind != msg.OpUpdate {
				add(op.Key, a.withPreceding(i, op)...)
			}
			continue
		}
		needs, forUpdate := valueNeeds(op)
		all := whole[string(op.Key)]
		if !needs || s.hasValue(op.Key, all) || len(called) > 0 || requested[string(op.Key)] || s.isDetermined(op.Key) {
			continue
		}
		// One lock request per key, with the strongest mode of the first operation that needs it. If a later one needs a
		// stronger mode, the commit acquires that: an upgrade, which does not queue.
		requested[string(op.Key)] = true
		forUpdate = forUpdate || !op.Unlocked && w.Early != nil && w.Early(op.Key)
		get := msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: op.Key, ForUpdate: forUpdate, Stored: all}
		get.Methods = uint64(adt.MethodsOf(op))
		// A key on the hot shard is read without a lock, which would be held across the client's round trips. If the
		// validation fails, the next attempt locks.
		if free && !forUpdate || s.Optimistic && op.Kind == msg.OpGet && !forUpdate && w.Place(op.Key) == w.Hot {
			p := unlocked.At(w.Place(op.Key))
			p.Ops = append(p.Ops, get)
			continue
		}
		add(op.Key, get)
	}
	return locked, unlocked
}

// addRangeReads adds a read of every shard's part of a range. An empty range has nothing to read or lock.
func (s *Session) addRangeReads(op *msg.Op, shards int, locked *piece.Pieces) {
	s.rows[op.Seq] = &mvcc.RangeRows{}
	if op.Span().IsEmpty() {
		return
	}
	for sh := range shards {
		p := locked.At(kv.ShardID(sh))
		p.Ops = append(p.Ops, s.rangeRead(op))
	}
}

// rangeRead returns the read for a range operation. The transaction's own deletes may remove rows from a scan, so its
// limit is raised by their number.
func (s *Session) rangeRead(op *msg.Op) msg.Op {
	out := msg.Op{Kind: msg.OpScan, Seq: op.Seq, Key: op.Key, End: op.End, Reverse: op.Reverse,
		Methods: uint64(adt.MethodsOf(op))}
	out.ForUpdate = op.ForUpdate || op.Kind == msg.OpDeleteRange
	if op.Kind != msg.OpScan {
		return out
	}
	out.Limit = uint32(piece.Limit(op))
	for i := range s.buffer {
		w := &s.buffer[i]
		switch {
		case (w.Kind == msg.OpDelete || w.IsCall()) && op.Span().Contains(w.Key): // a call may delete the value
			out.Limit++
		case w.Kind == msg.OpDeleteRange && op.Span().Overlaps(w.Span()):
			out.Limit += kv.MaxTxnOps
		}
	}
	return out
}

// StoreResults stores the results of a shard for ops.
//
// HAZARD: results of the same request are stored once only. The caller has checked that the response is to an open
// request.
func (s *Session) StoreResults(from kv.ShardID, ops []msg.Op, optimistic bool, results []msg.Result) {
	t := s.Part(from)
	for i := range results {
		op, r := &ops[i], &results[i]
		switch {
		case op.Seq == discarded, op.Kind == msg.OpRequire, op.Writes() && op.Kind != msg.OpUpdateGet:
			// the shard executed it only for the operations after it
		case op.IsCall():
			s.callResults[op.Seq] = *r
			t.addValidation(optimistic, op, r)
		case s.storeLookup(op, r):
		case op.IsRange():
			s.addRows(op, r)
			t.addValidation(optimistic, op, r)
		default:
			s.base[string(op.Key)] = valueOf(r)
			if optimistic {
				// Validated at the commit by its version, on the shard of the key.
				t.Seen = append(t.Seen, msg.Seen{Key: op.Key, Version: r.Version})
			}
		}
	}
}

// addValidation adds a read without a version to those that the commit executes again.
//
// A range, or the answer of a query, has no version that could be compared.
func (t *Part) addValidation(optimistic bool, op *msg.Op, r *msg.Result) {
	if optimistic {
		t.Reexecuted = append(t.Reexecuted, *op)
		t.Seen = append(t.Seen, msg.Seen{Key: op.Key, Seq: op.Seq, Digest: r.Digest()})
	}
}

// valueOf returns the value in the result of a read.
//
// The payload of a value of a data type is not shown, so an operation that needs it has read it with Stored.
func valueOf(r *msg.Result) entry.Value {
	if !r.Found {
		return entry.Value{Type: entry.TypeDeleted}
	}
	return entry.Value{Type: entry.Type(r.Type), Version: r.Version, Payload: r.Value, Expires: r.Expires}
}

// addRows adds the rows of one shard. Beyond the first point at which any shard has stopped, rows of that shard are
// missing: Evaluate cuts the range there.
func (s *Session) addRows(op *msg.Op, r *msg.Result) {
	rows := s.rows[op.Seq]
	for _, p := range r.Pairs {
		v := entry.Value{Type: entry.Type(p.Type), Version: p.Version, Payload: p.Value, Expires: p.Expires}
		rows.Rows = append(rows.Rows, mvcc.RangeRow{Key: p.Key, Value: v})
	}
	if len(r.Resume) > 0 && (rows.Resume == nil || msg.CompareKeys(r.Resume, rows.Resume, op.Reverse) < 0) {
		rows.Resume = r.Resume
	}
}
