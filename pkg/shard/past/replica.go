package past

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// ReplicaReader serves reads of past states from the rows of any replica of a shard, without a machine or a lease. A
// state does not change, so the response is right however old, partitioned or deposed the replica is (R8.1 to R8.3).
// Intents do not matter, since what is decided later becomes visible at a later CSN.
//
//	CSN    ─────6───────safe point 9─────────closed 20────▶
//	read   at 6: served, 6 is retained    at 7: TooOld    at 12: served    at 25: NotClosed
//
// HAZARD: a request must name a CSN that a round has fixed. Between two such CSNs a row may have been overwritten with
// a later version, and the rows do not show that (R13.8).
type ReplicaReader struct {
	Shard kv.ShardID
	// Read reads the rows of the replica as they are at the time of the call.
	Read func(entry.Read) entry.ReadResult
	// Home returns the home shard of a key, on the hot shard; nil on others.
	Home func(key []byte) kv.ShardID
	// Clock returns the present time in milliseconds since 1970, rounded up. The time that a key has left to live
	// depends on it.
	Clock   func() int64
	Mutants mutant.Set
}

// Refusal is why a replica does not serve a read.
type Refusal uint8

const (
	// Served: it does.
	Served Refusal = iota
	// NotClosed: the replica has not applied everything up to the CSN. It may wait for it for 10 ms, then another
	// replica should be asked.
	NotClosed
	// TooOld: what is visible at the CSN may have been collected. The leader may still have it: it alone knows which
	// states earlier leaders have retained (R14.2).
	TooOld
	// Unreadable: the rows cannot be read. Another replica may have them.
	Unreadable
)

func (r Refusal) String() string {
	return [...]string{"served", "not closed", "too old", "unreadable"}[r]
}

// Serve serves a message: a Read, ReadPage or FindSnapshot. The response is of use only if it is Served; but that of a
// FindSnapshot that is NotClosed has a failure: why what is requested needs the leader (snapshot.Copy).
func (r *ReplicaReader) Serve(env *msg.Envelope) (response *msg.Envelope, why Refusal) {
	response = r.Response(env, nil)
	switch p := response.Body.(type) {
	case *msg.ReadResponse:
		why = r.onRead(msg.As[msg.Read](env), p)
	case *msg.ReadPageResponse:
		why = r.onScan(msg.As[msg.ReadPage](env), p)
	case *msg.SnapshotResponse:
		why = r.onFind(msg.As[msg.FindSnapshot](env), p)
	}
	return response, why
}

// Response returns the response to such a message with a failure, or without results. It names no incarnation, since
// it confirms nothing about the leader.
func (r *ReplicaReader) Response(env *msg.Envelope, failure *msg.Failure) *msg.Envelope {
	out := msg.ToGateway(0)
	switch q := env.Body.(type) {
	case *msg.Read:
		out.Gateway = q.Gateway
		out.Body = &msg.ReadResponse{Reader: q.Reader, Number: q.Number, CSN: q.CSN, Reading: msg.Reading{Shard: r.Shard},
			Failure: failure}
	case *msg.ReadPage:
		out.Gateway = q.Gateway
		out.Body = &msg.ReadPageResponse{Txn: q.Txn, Number: q.Number, Shard: r.Shard, Failure: failure}
	case *msg.FindSnapshot:
		out.Gateway = q.Gateway
		out.Body = &msg.SnapshotResponse{Request: q.Request, Failure: failure}
	}
	return out
}

// onRead serves a read of a past state (IsPast).
func (r *ReplicaReader) onRead(q *msg.Read, p *msg.ReadResponse) Refusal {
	s := newState(r.Shard, q, r.homeOf, r.Clock)
	return r.serve(q.CSN, func() error {
		x, err := r.execute(&s)
		p.Results, p.Failure = outcomeOf(&x)
		return err
	})
}

// onScan serves a page of a range at a past state. It does not extend the time for which the leader retains it.
func (r *ReplicaReader) onScan(q *msg.ReadPage, p *msg.ReadPageResponse) Refusal {
	return r.serve(q.CSN, func() error {
		res := r.Read(pageOf(q))
		return setPage(p, &res)
	})
}

// onFind looks a snapshot up in the registry's rows, on a replica of the hot shard. It is for a gateway that finds no
// leader.
func (r *ReplicaReader) onFind(q *msg.FindSnapshot, p *msg.SnapshotResponse) Refusal {
	if q.Number != 0 { // the row is there, as a rule
		var row msg.Snapshot
		found, err := r.rowOf(entry.TableSnapshot, rowKey(q.Number), &row)
		if err != nil {
			return Unreadable
		}
		if found {
			p.Snapshots = []msg.Snapshot{row}
			return Served
		}
	}
	res := r.Read(entry.Read{Kind: entry.ReadRows, Table: entry.TableSnapshot, Span: kv.Range(nil, nil)})
	if res.Err != nil {
		return Unreadable
	}
	rows := make([]*msg.Snapshot, len(res.Rows))
	for i := range rows {
		rows[i] = new(msg.Snapshot)
		if err := rows[i].Unmarshal(res.Rows[i].Value); err != nil {
			return Unreadable
		}
	}
	found, err := snapshot.NewCopy(rows, r.Clock()*int64(time.Millisecond)).Find(q)
	switch {
	case err == nil:
		p.Snapshots = []msg.Snapshot{*found}
		return Served
	case err.Kind == kv.KindUnavailable:
		p.Failure = msg.FailureOf(err)
		return NotClosed
	}
	p.Failure = msg.FailureOf(err)
	return Served
}

// serve reads at a CSN, if everything up to it was applied before, and nothing that is visible at it is deleted
// afterwards. So the rows need not be read from one view of the store: the row of entry.TableRetention is in the batch
// of the deletions, and a CSN that it excludes stays excluded.
func (r *ReplicaReader) serve(at kv.CSN, read func() error) Refusal {
	closed, err := r.closed()
	switch {
	case err != nil:
		return Unreadable
	case at > closed:
		return NotClosed
	}
	failure := read()
	retained, err := r.isRetained(at)
	switch {
	case err != nil:
		return Unreadable
	case !retained:
		return TooOld
	case failure != nil:
		return Unreadable
	}
	return Served
}

// row reads the row of a table that has one row, and reports whether it is there.
func (r *ReplicaReader) row(t entry.Table, into interface{ Unmarshal([]byte) error }) (found bool, err error) {
	return r.rowOf(t, nil, into)
}

func (r *ReplicaReader) rowOf(t entry.Table, key []byte, into interface{ Unmarshal([]byte) error }) (found bool,
	err error) {
	res := r.Read(entry.Read{Kind: entry.ReadRow, Table: t, Key: key})
	if res.Err != nil || len(res.Rows) == 0 {
		return false, res.Err
	}
	return true, into.Unmarshal(res.Rows[0].Value)
}

// homeOf returns the home shard of a key.
func (r *ReplicaReader) homeOf(key []byte) kv.ShardID {
	if r.Home == nil {
		return r.Shard
	}
	return r.Home(key)
}

// execute reads what the operations need, and executes them. An operation that finds a page may need another one.
func (r *ReplicaReader) execute(s *state) (x mvcc.Execution, err error) {
	if err := r.fetchKeys(s); err != nil {
		return x, err
	}
	large, err := r.fetchRanges(s)
	if err != nil || large != nil {
		x.Failure = large
		return x, err
	}
	for x = s.execute(); len(x.Absent) > 0; x = s.execute() {
		for _, a := range x.Absent {
			for _, page := range a.Pages {
				if err := r.fetchPage(a.Key, page); err != nil {
					return x, err
				}
			}
		}
	}
	return x, nil
}

// fetchRanges reads the ranges of the operations. Failure: they are too large for a response.
func (r *ReplicaReader) fetchRanges(s *state) (failure *msg.Failure, err error) {
	var scans exec.Scans
	for i := range s.q.Ops {
		op := &s.q.Ops[i]
		if op.Span().IsPoint() || op.Span().IsEmpty() {
			continue
		}
		scans.Add(func() {
			q := rangeOf(op)
			q.CSN, q.User = s.q.CSN, s.q.User
			res := r.Read(q)
			rows, unreadable := store.RangeRows(&res)
			if unreadable != nil {
				err = unreadable
			}
			s.rows[op.Seq] = rows
			if _, large := scans.OnResult(&res); large != nil {
				failure = msg.FailureOf(large)
			}
		})
	}
	scans.Begin()
	return failure, err
}

// fetchKeys reads the keys of the operations.
func (r *ReplicaReader) fetchKeys(s *state) error {
	for i := range s.q.Ops {
		key, span := s.q.Ops[i].Key, s.q.Ops[i].Span()
		if !span.IsPoint() {
			continue
		}
		res := r.Read(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: key, CSN: s.q.CSN, User: s.q.User})
		if res.Err != nil {
			return res.Err
		}
		f, err := mvcc.Fold(res.Rows)
		if err != nil {
			return err
		}
		s.values[string(key)] = f.Value
	}
	return nil
}

// fetchPage reads a page of a large value.
func (r *ReplicaReader) fetchPage(key []byte, p adt.Page) error {
	if p.Filled() { // the same page of another operation
		return nil
	}
	res := r.Read(entry.Read{Kind: entry.ReadRow, Table: entry.TablePage, Key: entry.PageKey(key, p.Ref().ID)})
	switch {
	case res.Err != nil:
		return res.Err
	case len(res.Rows) == 0:
		return mvcc.DamagedPages(key, "a page is missing")
	}
	return p.Fill(res.Rows[0].Value)
}
