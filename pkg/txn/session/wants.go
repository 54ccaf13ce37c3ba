package session

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// sees reports whether an operation needs the value of its key, and whether it will write it.
func sees(op *msg.Op) (needs, forUpdate bool) {
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

// needsAll reports whether an operation needs all of what its key holds, not only what is
// shown of it (mvcc.Shown).
func needsAll(op *msg.Op) bool { return op.Stored || op.Expect == msg.ExpectValue }

// neededWhole are the keys of which some operation needs all, nil if there are none.
func neededWhole(ops []msg.Op) (keys map[string]bool) {
	for i := range ops {
		if needsAll(&ops[i]) {
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[string(ops[i].Key)] = true
		}
	}
	return keys
}

// Where is what Wants has to know of the keys.
type Where struct {
	Shards int
	Hot    kv.ShardID
	// Place is the shard of a key.
	Place func(key []byte) kv.ShardID
	// Early reports whether a read of a key had best lock it for writing; nil for never.
	Early func(key []byte) bool
	// First is the shard that is asked first where a range is read that others want as well, to
	// write what they find: it locks its part for writing, so that they wait for each other there.
	First kv.ShardID
	// EarlyRange reports whether a range is such; nil for never.
	EarlyRange func(op *msg.Op) bool
}

// Wants lists what ops need to know and is not known yet, by shard: what is to be read under
// locks, and what without, optimistically, to be checked at the end.
func (s *Session) Wants(ops []msg.Op, w Where) (locked, unlocked piece.Pieces) {
	whole := neededWhole(ops)
	asked := map[string]bool{}
	a := asking{s: s, ops: ops, done: map[string]int{}}
	add := func(key []byte, more ...msg.Op) {
		p := locked.At(w.Place(key))
		p.Ops = append(p.Ops, more...)
	}
	for i := range ops {
		op := &ops[i]
		called := s.called(ops[:i], op)
		for _, key := range called {
			add(key, a.finds(i, key)...)
		}
		free := op.Unlocked && s.Unlocked
		switch {
		case op.IsRange() && free:
			s.wantRange(op, w.Shards, &unlocked)
			continue
		case op.IsRange():
			s.wantRange(op, w.Shards, &locked)
			if w.EarlyRange != nil && !op.Unlocked && w.EarlyRange(op) && !op.Span().IsEmpty() {
				ops := locked.At(w.First).Ops
				ops[len(ops)-1].ForUpdate = true
			}
			continue
		case op.IsCall() && free:
			p := unlocked.At(w.Place(op.Key))
			p.Ops = append(p.Ops, a.after(i, op)...)
			continue
		case op.IsCall():
			if op.Kind != msg.OpUpdate {
				add(op.Key, a.after(i, op)...)
			}
			continue
		}
		needs, forUpdate := sees(op)
		all := whole[string(op.Key)]
		if !needs || s.knows(op.Key, all) || len(called) > 0 || asked[string(op.Key)] || s.determined(op.Key) {
			continue
		}
		asked[string(op.Key)] = true
		forUpdate = forUpdate || !op.Unlocked && w.Early != nil && w.Early(op.Key)
		get := msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: op.Key, ForUpdate: forUpdate, Stored: all}
		get.Methods = uint64(adt.MethodsOf(op))
		if free && !forUpdate || s.Optimistic && op.Kind == msg.OpGet && !forUpdate && w.Place(op.Key) == w.Hot {
			p := unlocked.At(w.Place(op.Key))
			p.Ops = append(p.Ops, get)
			continue
		}
		add(op.Key, get)
	}
	return locked, unlocked
}

// wantRange asks every shard for its part of a range, unless that is empty: then there is
// nothing to lock.
func (s *Session) wantRange(op *msg.Op, shards int, locked *piece.Pieces) {
	s.rows[op.Seq] = &mvcc.RangeRows{}
	if op.Span().IsEmpty() {
		return
	}
	for sh := range shards {
		p := locked.At(kv.ShardID(sh))
		p.Ops = append(p.Ops, s.rangeAsk(op))
	}
}

// rangeAsk is what the shards are asked for a range operation. A scan may lose rows to the
// transaction's own deletes, so it asks for as many more.
func (s *Session) rangeAsk(op *msg.Op) msg.Op {
	out := msg.Op{Kind: msg.OpScan, Seq: op.Seq, Key: op.Key, End: op.End, Reverse: op.Reverse, Methods: uint64(adt.MethodsOf(op))}
	out.ForUpdate = op.ForUpdate || op.Kind == msg.OpDeleteRange
	if op.Kind != msg.OpScan {
		return out
	}
	out.Limit = uint32(piece.Limit(op))
	for i := range s.buffer {
		w := &s.buffer[i]
		switch {
		case (w.Kind == msg.OpDelete || w.IsCall()) && op.Span().Contains(w.Key): // a call may leave an empty value
			out.Limit++
		case w.Kind == msg.OpDeleteRange && op.Span().Overlaps(w.Span()):
			out.Limit += kv.MaxTxnOps
		}
	}
	return out
}

// Learn takes what a shard has read for ops.
func (s *Session) Learn(from kv.ShardID, ops []msg.Op, optimistic bool, results []msg.Result) {
	t := s.At(from)
	for i := range results {
		op, r := &ops[i], &results[i]
		switch {
		case op.Seq == pretended, op.Kind == msg.OpRequire, op.Writes() && op.Kind != msg.OpUpdateGet:
			// the shard executed it for the operations behind it
		case op.IsCall():
			s.answers[op.Seq] = *r
			t.readAgain(optimistic, op, r)
		case s.found(op, r):
		case op.IsRange():
			s.learnRows(op, r)
			t.readAgain(optimistic, op, r)
		default:
			s.base[string(op.Key)] = value(r)
			if optimistic {
				t.Seen = append(t.Seen, msg.Seen{Key: op.Key, Version: r.Version})
			}
		}
	}
}

// readAgain notes a read without a version that is to be validated.
func (t *Touched) readAgain(optimistic bool, op *msg.Op, r *msg.Result) {
	if optimistic {
		t.Again = append(t.Again, *op)
		t.Seen = append(t.Seen, msg.Seen{Key: op.Key, Seq: op.Seq, Digest: r.Digest()})
	}
}

// value is what a read of one key has found.
func value(r *msg.Result) entry.Value {
	if !r.Found {
		return entry.Value{Type: entry.TypeDeleted}
	}
	return entry.Value{Type: entry.Type(r.Type), Version: r.Version, Payload: r.Value, Expires: r.Expires}
}

func (s *Session) learnRows(op *msg.Op, r *msg.Result) {
	rows := s.rows[op.Seq]
	for _, p := range r.Pairs {
		v := entry.Value{Type: entry.Type(p.Type), Version: p.Version, Payload: p.Value, Expires: p.Expires}
		rows.Rows = append(rows.Rows, mvcc.RangeRow{Key: p.Key, Value: v})
	}
	if len(r.Resume) > 0 && (rows.Resume == nil || msg.CompareKeys(r.Resume, rows.Resume, op.Reverse) < 0) {
		rows.Resume = r.Resume
	}
}
