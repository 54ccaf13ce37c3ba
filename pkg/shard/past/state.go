package past

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// state is the past state of a shard that the operations of a read see (mvcc.View), as far as it was read.
type state struct {
	shard kv.ShardID
	q     *msg.Read
	// home returns the home shard of a key, clock the present time of the View.
	home   func(key []byte) kv.ShardID
	clock  func() int64
	values map[string]entry.Value
	rows   map[uint32]mvcc.RangeRows
}

func newState(id kv.ShardID, q *msg.Read, home func([]byte) kv.ShardID, clock func() int64) state {
	return state{shard: id, q: q, home: home, clock: clock,
		values: map[string]entry.Value{}, rows: map[uint32]mvcc.RangeRows{}}
}

// execute executes the operations on what was read. They only read, so no version is assigned.
func (s *state) execute() mvcc.Execution {
	return mvcc.Exec(s, s.q.Ops, func(kv.Version) kv.Version { return kv.Version{} })
}

// outcomeOf returns the results of an execution, or the failure.
func outcomeOf(x *mvcc.Execution) ([]msg.Result, *msg.Failure) {
	f := x.Failure
	if f == nil {
		f = msg.MessageTooLarge(x.Results)
	}
	if f != nil {
		return nil, f
	}
	return x.Results, nil
}

// rangeOf returns the read of the range of an operation.
func rangeOf(op *msg.Op) entry.Read {
	return entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: op.Span(), Reverse: op.Reverse,
		Limit: mvcc.ScanLimit(op), LimitBytes: exec.ScanBytes}
}

// pageOf returns the read of a page of a scan.
func pageOf(s *msg.ReadPage) entry.Read {
	return entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: kv.Range(s.Start, s.End), CSN: s.CSN,
		Reverse: s.Reverse, Limit: mvcc.ScanLimit(&msg.Op{Limit: s.Limit}), LimitBytes: kv.ScanPageBytes,
		User: s.User, Short: true}
}

// setPage sets the rows of a page in a response.
//
// The row of a value in pages has its type and version only, which suffices: clients see no stored forms.
func setPage(page *msg.ReadPageResponse, res *entry.ReadResult) error {
	rows, err := store.RangeRows(res)
	if err != nil {
		return err
	}
	page.Resume, page.Pairs = rows.Resume, make([]msg.Pair, len(rows.Rows))
	for i, row := range rows.Rows {
		page.Pairs[i] = msg.Pair{
			Key: row.Key, Value: mvcc.VisiblePayload(&row.Value), Type: uint32(row.Value.Type),
			Version: row.Value.Version, Expires: row.Value.Expires,
		}
	}
	return nil
}

// Value returns the value of a key at the CSN, or a redirect. On the hot shard, the absence of a key may mean
// that it was at home at that time.
//
//	history of k: at home until CSN 5 there, on the hot shard since its CSN 9, back home since its CSN 20
//
//	read of a snapshot with hot CSN 12   here: the value
//	... with hot CSN 8                   here absent: redirect home, which had the value
//	... with hot CSN 25                  here a deletion tombstone: redirect home
//	... home redirects here again        the snapshot has a move tombstone at home, so k was here, and absent
func (s *state) Value(key []byte) (entry.Value, error) {
	v := s.values[string(key)]
	to, moved := v.MovedTo()
	if moved {
		return v, mvcc.OnOtherShard{Shard: to}
	}
	home := s.home(key)
	// At the CSN the key was absent here, on the hot shard. It may have been at home: then home has a value, or a
	// move tombstone that redirects here again (isKnownHere), and the key was absent.
	if home != s.shard && !v.Exists() && !s.isKnownHere(key) {
		return v, mvcc.OnOtherShard{Shard: home}
	}
	return v, nil
}

// isKnownHere reports whether the home shard has stated that the key was here at the snapshot. Otherwise an
// absent or deleted key may have been at home.
func (s *state) isKnownHere(key []byte) bool {
	return slices.ContainsFunc(s.q.Ops, func(op msg.Op) bool { return op.Redirected && bytes.Equal(op.Key, key) })
}

// Pending is zero: a past state has no undecided writes.
func (s *state) Pending([]byte) (low, high int64) { return 0, 0 }

// Clock returns the present time: of a key that has expired since, no time to live is left.
func (s *state) Clock() int64 { return s.clock() }

// Calls depend on values only.
func (s *state) Calls() *mvcc.Calls { return &mvcc.Calls{Txn: s.q.Reader} }

// Rows returns the rows of the range of an operation.
func (s *state) Rows(seq uint32) mvcc.RangeRows { return s.rows[seq] }
