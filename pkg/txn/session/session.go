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

// Session is what one attempt of a transaction has read, buffered and locked.
type Session struct {
	// Optimistic: keys on the hot shard are read without a lock and validated at the end.
	Optimistic bool
	// Unlocked: reads with msg.Op.Unlocked take no lock and are validated at the end.
	Unlocked bool
	touched  []*Part // by shard
	// base are the values read. Each is locked, or is in Part.Seen.
	base map[string]entry.Value
	// rows are the results of range operations, by Op.Seq.
	rows map[uint32]*mvcc.RangeRows
	// callResults are the results of method calls, by Op.Seq. lookups are the values that operations find which follow
	// such calls on their key.
	callResults map[uint32]msg.Result
	lookups     map[lookup]entry.Value
	// buffer are the writes in order. byKey are the positions of the writes of a key, ranged those of ranges.
	buffer []msg.Op
	byKey  map[string][]int
	ranged []int
	// savepoints are positions in the buffer, oldest first.
	savepoints []savepoint
	// seq is the number of the next operation; bytes is the size of the buffer.
	seq   uint32
	bytes int
}

// Part is the part of a session on one shard.
type Part struct {
	Shard kv.ShardID
	// Incarnation is the incarnation in which the shard granted the locks, 0 if there are none.
	Incarnation kv.Incarnation
	// Grants are the locks, by number and mode. Seen are the reads without locks.
	Grants []msg.Grant
	Seen   []msg.Seen
	// Reexecuted are ranges and queries that were read without locks. The commit executes them again and compares the
	// digests of their results, which are in Seen.
	Reexecuted []msg.Op
	// CSN is the CSN of the shard in its last response.
	CSN kv.CSN
}

// New returns an empty session.
func New() *Session {
	return &Session{
		base:        map[string]entry.Value{},
		rows:        map[uint32]*mvcc.RangeRows{},
		callResults: map[uint32]msg.Result{},
		lookups:     map[lookup]entry.Value{},
		byKey:       map[string][]int{},
	}
}

// IsEmpty reports whether the session has read and locked nothing on the shard.
func (t *Part) IsEmpty() bool { return len(t.Grants)+len(t.Seen) == 0 }

// AddGrants adds grants, each once: a lock that is requested again is granted under its old number. They are sorted by
// number, the order in which shards usually report them.
//
// The commit lists them all, and the shard validates each: one that was broken in between makes the read stale.
func (t *Part) AddGrants(grants []msg.Grant) {
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

// Parts returns the parts in the order of shards.
func (s *Session) Parts() []*Part { return s.touched }

// Shards lists the shards of which the session has requested anything.
func (s *Session) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(s.touched))
	for i, t := range s.touched {
		out[i] = t.Shard
	}
	return out
}

// Part returns the part on a shard, and creates it if necessary.
//
// It exists as soon as something is requested, so that the shard gets a Release even if its response was lost.
func (s *Session) Part(shard kv.ShardID) *Part {
	i, ok := slices.BinarySearchFunc(s.touched, shard, func(t *Part, s kv.ShardID) int { return int(t.Shard) - int(s) })
	if !ok {
		s.touched = slices.Insert(s.touched, i, &Part{Shard: shard})
	}
	return s.touched[i]
}

// HasLockOn reports whether the session holds a lock on a shard.
//
// Such a shard accepts the commit while it drains.
func (s *Session) HasLockOn(shard kv.ShardID) bool {
	return slices.ContainsFunc(s.touched, func(t *Part) bool { return t.Shard == shard && len(t.Grants) > 0 })
}

// HasRead reports whether the session has read or locked anything.
//
// If not, a failure of the commit cannot stem from a stale read, and needs no validation.
func (s *Session) HasRead() bool {
	return slices.ContainsFunc(s.touched, func(t *Part) bool { return !t.IsEmpty() })
}

// HasReadAbsence reports whether a key read without a lock was absent, or a range was read without a lock. Absence has
// no version: if the key is absent at validation, it may have existed in between.
//
//	T reads k without a lock: absent     U puts k     V deletes k     T validates: k is absent
//	T has read the truth at its commit, but a failure in between may stem from a state in which k existed
func (s *Session) HasReadAbsence() bool {
	return slices.ContainsFunc(s.touched, func(t *Part) bool {
		return slices.ContainsFunc(t.Seen, func(x msg.Seen) bool { return x.Version.IsZero() })
	})
}

// HasReadKey reports whether the session has the value of a key.
func (s *Session) HasReadKey(key []byte) bool {
	_, ok := s.base[string(key)]
	return ok
}

// ReadKeys lists the keys whose values the session has, sorted.
//
// Sorted, since it leads to output, which must not depend on the order of a map.
func (s *Session) ReadKeys() []string { return slices.Sorted(maps.Keys(s.base)) }

// Writes reports whether the session has buffered a write of a key.
func (s *Session) Writes(key string) bool { return len(s.byKey[key]) > 0 }

// Buffer lists the writes, in order.
func (s *Session) Buffer() []msg.Op { return s.buffer }

// DropAllReads drops everything that was read.
//
// A view that starts again under a new name has registered nowhere: what it has read is not protected any more.
func (s *Session) DropAllReads() {
	clear(s.base)
	clear(s.rows)
	clear(s.callResults)
	clear(s.lookups)
}

// Number assigns operations their numbers, which are consecutive over all calls.
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

// Write appends the writes of an executed call to the buffer. Their conditions are dropped: they hold under the locks
// that the transaction has now. It fails if the transaction becomes too large.
//
// Example. put k 2 if k = 1 has been executed here, and k is write-locked with the value 1. The buffer has "put k 2":
// the condition cannot fail before the commit, since the lock lasts, and if the lock is lost, the commit aborts.
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
			s.dropReads(&op)
			continue
		}
		op.Expect, op.ExpectValue, op.ExpectVersion, op.ReturnFound = msg.ExpectNothing, nil, kv.Version{}, false
		// The sum has been returned, and k is write-locked, so a blind add has the same effect.
		if op.Kind == msg.OpAddGet {
			op.Kind = msg.OpAdd
		}
		s.push(op)
	}
	return nil
}

// relevantWrites lists the buffered writes that some of ops can read, in order.
//
// A transaction may have 10,000 writes; executing all of them for each call would be quadratic.
func (s *Session) relevantWrites(ops []msg.Op) []msg.Op {
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

// isDetermined reports whether the buffer alone determines the value of a key.
//
// An add or a call does not determine the value: it needs the one before.
func (s *Session) isDetermined(key []byte) bool {
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

// hasValue reports whether the value of a key has been read; all: the stored value, not only the shown one.
//
// Of a set, for example, a read shows the type and the version, but not the stored form; comparing values or copying
// them needs that.
func (s *Session) hasValue(key []byte, all bool) bool {
	v, known := s.base[string(key)]
	return known && (!all || v.Payload != nil || v.Type <= adt.Counter || !v.Exists())
}
