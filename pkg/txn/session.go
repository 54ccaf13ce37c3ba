package txn

import (
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// session is what an attempt that locks before it commits has read, buffered
// and been granted.
type session struct {
	optimistic bool
	touched    []*touched // by shard
	// base are the values that were read; they are locked, or in seen.
	base map[string]entry.Value
	// rows are the answers to range operations, by Op.Seq.
	rows map[uint32]*mvcc.RangeRows
	// answers are those of calls of data types, by Op.Seq; after is what an
	// operation finds that comes after such calls on its key.
	answers map[uint32]msg.Result
	after   map[finding]entry.Value
	// buffer are the writes so far, in order; byKey finds those of a key.
	buffer []msg.Op
	byKey  map[string][]int
	ranged []int // buffered operations on ranges
	// savepoints are places in the buffer, oldest first.
	savepoints []savepoint
	seq        uint32
	bytes      int
	number     uint32
	asks       []*ask
	results    []msg.Result
	// rounds counts lock requests ever sent.
	rounds int
	// waited is the longest wait in the call under way.
	waited msg.Receipt
}

// touched is one shard's part in a session.
type touched struct {
	shard kv.ShardID
	inc   kv.Incarnation
	// grants are by number and mode.
	grants []msg.Grant
	seen   []msg.Seen
	// index is the shard's when it last answered.
	index kv.Index
}

// granted notes grants, each once: a lock that is asked for again is granted under
// the number that it has. They are by number, as shards mostly tell of them.
func (t *touched) granted(grants []msg.Grant) {
	if t.grants == nil {
		t.grants = make([]msg.Grant, 0, len(grants))
	}
	for i := range grants {
		at, known := slices.BinarySearchFunc(t.grants, &grants[i], func(a msg.Grant, b *msg.Grant) int {
			return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Mode, b.Mode))
		})
		if !known {
			t.grants = slices.Insert(t.grants, at, grants[i])
		}
	}
}

func newSession() *session {
	return &session{base: map[string]entry.Value{}, rows: map[uint32]*mvcc.RangeRows{}, answers: map[uint32]msg.Result{}, after: map[finding]entry.Value{}, byKey: map[string][]int{}}
}

func (s *session) shards() []kv.ShardID {
	out := make([]kv.ShardID, len(s.touched))
	for i, t := range s.touched {
		out[i] = t.shard
	}
	return out
}

func (s *session) at(shard kv.ShardID) *touched {
	i, ok := slices.BinarySearchFunc(s.touched, shard, func(t *touched, s kv.ShardID) int { return int(t.shard) - int(s) })
	if !ok {
		s.touched = slices.Insert(s.touched, i, &touched{shard: shard})
	}
	return s.touched[i]
}

// hasRead reports whether something was read on a shard.
func (s *session) hasRead() bool {
	return slices.ContainsFunc(s.touched, func(t *touched) bool { return len(t.grants)+len(t.seen) > 0 })
}

// sawAbsent reports whether a key that was read without a lock did not exist. Absence
// has no version, so that nobody can tell later whether the key was absent all along.
func (s *session) sawAbsent() bool {
	return slices.ContainsFunc(s.touched, func(t *touched) bool {
		return slices.ContainsFunc(t.seen, func(x msg.Seen) bool { return x.Version.IsZero() })
	})
}

// unlearn forgets what was read.
func (s *session) unlearn() {
	clear(s.base)
	clear(s.rows)
	clear(s.answers)
	clear(s.after)
}

// push appends a write to the buffer.
func (s *session) push(op msg.Op) {
	if op.IsRange() {
		s.ranged = append(s.ranged, len(s.buffer))
	} else {
		s.byKey[string(op.Key)] = append(s.byKey[string(op.Key)], len(s.buffer))
	}
	s.buffer = append(s.buffer, op)
}

// relevant lists the buffered writes that some of ops can see, in order.
func (s *session) relevant(ops []msg.Op) []msg.Op {
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

// determined reports whether the buffer alone tells the value of a key.
func (s *session) determined(key []byte) bool {
	for _, j := range s.byKey[string(key)] {
		if k := s.buffer[j].Kind; k == msg.OpPut || k == msg.OpDelete {
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

// knows reports whether the value of a key has been read, and all of it if that
// is needed.
func (s *session) knows(key []byte, all bool) bool {
	v, known := s.base[string(key)]
	return known && (!all || v.Payload != nil || v.Type <= adt.Counter || !v.Exists())
}
