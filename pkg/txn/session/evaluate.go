package session

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Evaluate executes ops after all reads that they need have been stored. wall is the time of day in milliseconds
// since 1970, for deadlines of keys.
//
// The writes of earlier calls are executed again before the operations, so that these see them. Versions of buffered
// writes are provisional: a condition on a version that the transaction itself has made cannot be expressed.
func (s *Session) Evaluate(ops []msg.Op, wall int64) ([]msg.Result, *msg.Failure) {
	for i := range ops {
		if ops[i].IsRange() {
			cutRows(s.rows[ops[i].Seq], ops[i].Reverse)
		}
	}
	before := s.relevantWrites(ops)
	n := uint64(0)
	x := mvcc.Exec(view{s, wall}, append(before, ops...), func(kv.Version) kv.Version {
		n++
		return mvcc.ProvisionalVersion(n)
	})
	if x.Failure != nil {
		return nil, x.Failure
	}
	results := x.Results[len(before):]
	for i := range results {
		a, ok := s.callResults[ops[i].Seq]
		// The shard has executed the call; here it was only buffered.
		if ok && ops[i].IsCall() {
			results[i] = a
			delete(s.callResults, ops[i].Seq)
		}
		results[i].Version = mvcc.ClientVersion(results[i].Version)
	}
	return results, nil
}

// DropReadsOf drops the reads of a call that has failed. The transaction may continue after a rollback to a
// savepoint.
//
// The locks remain: the client may have learned from the failure what was read under them.
func (s *Session) DropReadsOf(ops []msg.Op) {
	for i := range ops {
		s.dropReads(&ops[i])
		delete(s.callResults, ops[i].Seq)
	}
}

// view is what the operations of a session read (mvcc.View).
type view struct {
	s *Session
	// clock is for deadlines that the transaction has set itself. The committed deadlines are those of the shards'
	// clocks.
	clock int64
}

func (v view) Clock() int64 { return v.clock }

func (v view) Value(key []byte) (entry.Value, error) {
	val, ok := v.s.base[string(key)]
	if ok {
		return val, nil
	}
	// Only blind writes read a key that is not in base. Its shard checks the type.
	return entry.Value{Type: entry.TypeDeleted}, nil
}

// Pending is checked by the shard, at the commit.
func (v view) Pending([]byte) (low, high int64) { return 0, 0 }

// Calls returns nil: without the values of data types, calls are only buffered.
func (v view) Calls() *mvcc.Calls { return nil }

// After returns the value that an operation finds, as computed by the shard.
func (v view) After(seq uint32, key []byte) entry.Value {
	return v.s.lookups[lookup{seq, string(key)}]
}

func (v view) Rows(seq uint32) mvcc.RangeRows {
	r := v.s.rows[seq]
	if r != nil {
		return *r
	}
	return mvcc.RangeRows{}
}

// cutRows sorts the rows of a range from all shards, and drops those beyond the first point at which a
// shard stopped.
//
//	shard 0: a d, stopped after d      shard 1: b e f, complete
//	rows: a b d; e and f are dropped, since shard 0 may have rows before them
func cutRows(r *mvcc.RangeRows, reverse bool) {
	slices.SortFunc(r.Rows, func(a, b mvcc.RangeRow) int { return msg.CompareKeys(a.Key, b.Key, reverse) })
	r.Rows, _ = msg.CutScan(r.Rows, mvcc.KeyOfRow, r.Resume, len(r.Rows), reverse)
}
