package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Session is what one attempt of a transaction has read, buffered and been granted.
type Session struct {
	// Optimistic has keys on the hot shard read without a lock, and checked at the end.
	Optimistic bool
	// Unlocked has reads that are marked so (msg.Op) take no lock, and checked at the end.
	Unlocked bool
	touched  []*Touched // by shard
	// base are the values that were read; they are locked, or in Touched.Seen.
	base map[string]entry.Value
	// rows are the answers to range operations, by Op.Seq.
	rows map[uint32]*mvcc.RangeRows
	// answers are those of calls of data types, by Op.Seq; after is what an operation
	// finds that comes after such calls on its key.
	answers map[uint32]msg.Result
	after   map[finding]entry.Value
	// buffer are the writes so far, in order; byKey finds those of a key, ranged those of
	// ranges.
	buffer []msg.Op
	byKey  map[string][]int
	ranged []int
	// savepoints are places in the buffer, oldest first.
	savepoints []savepoint
	// seq is the next operation's number, bytes the size of the buffer.
	seq   uint32
	bytes int
}

// Touched is one shard's part in a session.
type Touched struct {
	Shard kv.ShardID
	// Inc is the incarnation in which the shard granted the locks, 0 for none.
	Inc kv.Incarnation
	// Grants are the locks, by number and mode, Seen what was read without.
	Grants []msg.Grant
	Seen   []msg.Seen
	// Again are reads of ranges, and questions, without locks: the commit executes them again. The
	// digests of their results are in Seen.
	Again []msg.Op
	// Index is the shard's commit sequence number when it last answered.
	Index kv.Index
}

// New makes a session in which nothing has been read.
func New() *Session {
	return &Session{
		base:    map[string]entry.Value{},
		rows:    map[uint32]*mvcc.RangeRows{},
		answers: map[uint32]msg.Result{},
		after:   map[finding]entry.Value{},
		byKey:   map[string][]int{},
	}
}

// Empty reports whether nothing was read or locked on the shard.
func (t *Touched) Empty() bool { return len(t.Grants)+len(t.Seen) == 0 }

// Granted notes grants, each once: a lock that is asked for again is granted under the
// number that it has. They are kept by number, the order in which shards mostly report them.
func (t *Touched) Granted(grants []msg.Grant) {
	if t.Grants == nil {
		t.Grants = make([]msg.Grant, 0, len(grants))
	}
	for i := range grants {
		at, known := slices.BinarySearchFunc(t.Grants, &grants[i], func(a msg.Grant, b *msg.Grant) int {
			return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Mode, b.Mode))
		})
		if !known {
			t.Grants = slices.Insert(t.Grants, at, grants[i])
		}
	}
}

// Touched lists the shards' parts, in the order of shards.
func (s *Session) Touched() []*Touched { return s.touched }

// Shards lists the shards that the session has asked for anything.
func (s *Session) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(s.touched))
	for i, t := range s.touched {
		out[i] = t.Shard
	}
	return out
}

// At is a shard's part, which is made if there is none.
func (s *Session) At(shard kv.ShardID) *Touched {
	i, ok := slices.BinarySearchFunc(s.touched, shard, func(t *Touched, s kv.ShardID) int { return int(t.Shard) - int(s) })
	if !ok {
		s.touched = slices.Insert(s.touched, i, &Touched{Shard: shard})
	}
	return s.touched[i]
}

// HoldsOn reports whether the session holds a lock on a shard.
func (s *Session) HoldsOn(shard kv.ShardID) bool {
	return slices.ContainsFunc(s.touched, func(t *Touched) bool { return t.Shard == shard && len(t.Grants) > 0 })
}

// HasRead reports whether something was read or locked on a shard.
func (s *Session) HasRead() bool {
	return slices.ContainsFunc(s.touched, func(t *Touched) bool { return !t.Empty() })
}

// SawAbsent reports whether a key that was read without a lock did not exist, or a range was read.
// Absence has no version, so that it cannot be checked later whether a key was absent all along.
func (s *Session) SawAbsent() bool {
	return slices.ContainsFunc(s.touched, func(t *Touched) bool {
		return slices.ContainsFunc(t.Seen, func(x msg.Seen) bool { return x.Version.IsZero() })
	})
}

// HasReadKey reports whether the session has the value of a key, and ReadKeys lists them all.
func (s *Session) HasReadKey(key []byte) bool {
	_, ok := s.base[string(key)]
	return ok
}

// ReadKeys lists the keys of which the session has the value, sorted.
func (s *Session) ReadKeys() []string { return slices.Sorted(maps.Keys(s.base)) }

// Writes reports whether the session has buffered a write of a key.
func (s *Session) Writes(key string) bool { return len(s.byKey[key]) > 0 }

// Buffer lists the writes, in order.
func (s *Session) Buffer() []msg.Op { return s.buffer }

// Unlearn forgets everything that was read.
func (s *Session) Unlearn() {
	clear(s.base)
	clear(s.rows)
	clear(s.answers)
	clear(s.after)
}

// Number gives operations their numbers, which go on from call to call.
func (s *Session) Number(ops []msg.Op) {
	for i := range ops {
		ops[i].Seq = s.seq
		s.seq++
	}
}

// push appends a write to the buffer.
func (s *Session) push(op msg.Op) {
	if op.IsRange() {
		s.ranged = append(s.ranged, len(s.buffer))
	} else {
		s.byKey[string(op.Key)] = append(s.byKey[string(op.Key)], len(s.buffer))
	}
	s.buffer = append(s.buffer, op)
}

// Write puts the writes of a call, which has been executed, into the buffer, without their
// conditions, which hold under locks now. It refuses a transaction that becomes too large.
func (s *Session) Write(ops []msg.Op) *msg.Failure {
	size, n := s.bytes, len(s.buffer)
	for i := range ops {
		if ops[i].Writes() {
			size += ops[i].Size()
			n++
		}
	}
	if size > kv.MaxTxnBytes || n > kv.MaxTxnOps {
		text := "the transaction would exceed 16 MiB or 10,000 operations; split it"
		return env.Failure(msg.ReasonRequest, kv.KindInvalid, text)
	}
	s.bytes = size
	for _, op := range ops {
		if !op.Writes() {
			s.forget(&op)
			continue
		}
		op.Expect, op.ExpectValue, op.ExpectVersion, op.ReturnFound = msg.ExpectNothing, nil, kv.Version{}, false
		if op.Kind == msg.OpAddGet {
			op.Kind = msg.OpAdd
		}
		s.push(op)
	}
	return nil
}

// relevant lists the buffered writes that some of ops can see, in order.
func (s *Session) relevant(ops []msg.Op) []msg.Op {
	var hits []int
	for i := range ops {
		span := ops[i].Span()
		if span.IsPoint() {
			hits = append(hits, s.byKey[string(span.Start)]...)
		} else {
			for j := range s.buffer {
				if s.buffer[j].Span().Overlaps(span) {
					hits = append(hits, j)
				}
			}
		}
		for _, j := range s.ranged {
			if s.buffer[j].Span().Overlaps(span) {
				hits = append(hits, j)
			}
		}
	}
	slices.Sort(hits)
	hits = slices.Compact(hits)
	out := make([]msg.Op, len(hits))
	for i, j := range hits {
		out[i] = s.buffer[j]
	}
	return out
}

// determined reports whether the buffer alone decides the value of a key.
func (s *Session) determined(key []byte) bool {
	for _, j := range s.byKey[string(key)] {
		k := s.buffer[j].Kind
		if k == msg.OpPut || k == msg.OpDelete {
			return true
		}
	}
	for _, j := range s.ranged {
		if s.buffer[j].Span().Contains(key) {
			return true
		}
	}
	return false
}

// knows reports whether the value of a key has been read, and all of it if that is needed.
func (s *Session) knows(key []byte, all bool) bool {
	v, known := s.base[string(key)]
	return known && (!all || v.Payload != nil || v.Type <= adt.Counter || !v.Exists())
}
