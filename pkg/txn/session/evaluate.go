package session

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Evaluate executes ops when everything that they need has been learned. wall is the time of
// day in milliseconds since 1970, for deadlines of keys.
func (s *Session) Evaluate(ops []msg.Op, wall int64) ([]msg.Result, *msg.Failure) {
	for i := range ops {
		if ops[i].IsRange() {
			cutRows(s.rows[ops[i].Seq], ops[i].Reverse)
		}
	}
	before := s.relevant(ops)
	n := uint64(0)
	x := mvcc.Exec(view{s, wall}, append(before, ops...), func(kv.Version) kv.Version {
		n++
		return mvcc.Provisional(n)
	})
	if x.Failure != nil {
		return nil, x.Failure
	}
	results := x.Results[len(before):]
	for i := range results {
		a, ok := s.answers[ops[i].Seq]
		if ok && ops[i].IsCall() {
			results[i] = a
			delete(s.answers, ops[i].Seq)
		}
		results[i].Version = mvcc.Identity(results[i].Version)
	}
	return results, nil
}

// Failed forgets what a call that failed has read for itself.
func (s *Session) Failed(ops []msg.Op) {
	for i := range ops {
		s.forget(&ops[i])
		delete(s.answers, ops[i].Seq)
	}
}

// view is what a session's operations see (mvcc.View).
type view struct {
	s *Session
	// clock is for deadlines that the transaction sets itself and asks for; in the
	// end they are those of the shards' clocks.
	clock int64
}

func (v view) Clock() int64 { return v.clock }

func (v view) Value(key []byte) (entry.Value, error) {
	val, ok := v.s.base[string(key)]
	if ok {
		return val, nil
	}
	// Not read: only blind writes ask, and their type is checked where the
	// key is.
	return entry.Value{Type: entry.TypeDeleted}, nil
}

func (v view) Pending([]byte) (low, high int64) { return 0, 0 }

// Calls: values of data types are not here, so that calls are only buffered.
func (v view) Calls() *mvcc.Calls { return nil }

// After is what the shard says that the operation number seq finds.
func (v view) After(seq uint32, key []byte) entry.Value {
	return v.s.after[finding{seq, string(key)}]
}

func (v view) Rows(seq uint32) mvcc.RangeRows {
	r := v.s.rows[seq]
	if r != nil {
		return *r
	}
	return mvcc.RangeRows{}
}

// cutRows sorts what the shards returned of a range and cuts off what lies
// beyond the first place where one of them stopped.
func cutRows(r *mvcc.RangeRows, reverse bool) {
	slices.SortFunc(r.Rows, func(a, b mvcc.RangeRow) int { return msg.CompareKeys(a.Key, b.Key, reverse) })
	r.Rows, _ = msg.CutScan(r.Rows, mvcc.KeyOfRow, r.Resume, len(r.Rows), reverse)
}
