package exec

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

const (
	// ScanBytes bounds what one scan operation reads on one shard at a time.
	ScanBytes = 4 << 20
	// scansAtOnce is how many scans of one piece are read at a time: a piece may have
	// thousands, and what they read waits in memory until it is complete. Somewhat
	// arbitrary.
	scansAtOnce = 4
	// pieceBytes bounds what the scans of one piece may read: a client is not
	// answered more.
	pieceBytes = kv.MaxAnswerBytes
)

// Scans are the ranges that one piece reads, a few at a time.
type Scans struct {
	// next are those that have not been asked for.
	next  []func()
	asked int
	// bytes is what they have read.
	bytes int
}

// Add queues the request of one.
func (s *Scans) Add(ask func()) { s.next = append(s.next, ask) }

// Begin asks for as many as may be read at a time: for one that might be too much alone if
// the others are.
func (s *Scans) Begin() {
	for len(s.next) > 0 && (s.asked == 0 || s.asked < scansAtOnce && s.bytes+s.asked*ScanBytes < pieceBytes) {
		next := s.next[0]
		s.next = s.next[1:]
		s.asked++
		next()
	}
}

// Arrived counts the answer to one, and asks for another. It fails if all have read too
// much; then there are no more, and dropped is how many are not asked for.
func (s *Scans) Arrived(r *entry.ReadResult) (dropped int, err error) {
	for i := range r.Rows {
		s.bytes += len(r.Rows[i].Key) + len(r.Rows[i].Value)
	}
	s.asked--
	if s.bytes > pieceBytes {
		dropped, s.next = len(s.next), nil
		return dropped, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: kv.MoreThanAnAnswer,
			Hint: "read fewer keys in one transaction, or use Scan"}
	}
	s.Begin()
	return 0, nil
}

// ReadRanges asks for the rows of a task's ranges, which stay as they are: they are locked, or the
// reader is registered. A task without ranges is Ready at once.
func (x *Executor) ReadRanges(t *Task) Step {
	if !t.ranges {
		return Ready
	}
	t.stage = ranging
	t.rows = map[uint32]mvcc.RangeRows{}
	t.scans = Scans{}
	for i := range t.Ops {
		op := &t.Ops[i]
		if !op.Span().IsPoint() && !op.Span().IsEmpty() {
			x.readRange(t, op)
		}
	}
	if t.loads.missing == 0 {
		return Ready
	}
	t.scans.Begin()
	return Waiting
}

func (x *Executor) readRange(t *Task, op *msg.Op) {
	r := entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: op.Span(), Reverse: op.Reverse, User: t.User}
	scan := op.Kind == msg.OpScan
	if scan {
		r.Limit, r.LimitBytes = mvcc.ScanLimit(op)+ownDeletes(t, op), ScanBytes
	} else {
		r.Limit = kv.MaxTxnOps + 1
	}
	t.loads.missing++
	round := t.loads.round
	ask := func() {
		id := x.Store.Read(r, func(r *entry.ReadResult) {
			t.reading = slices.DeleteFunc(t.reading, func(id uint64) bool { return id == r.ID })
			if t.stage == ranging && t.loads.round == round { // else it was dropped meanwhile
				x.rangeRead(t, op.Seq, scan, r)
			}
		})
		t.reading = append(t.reading, id)
	}
	if scan {
		t.scans.Add(ask)
	} else {
		ask()
	}
}

// dropReads gives up the reads of a task's ranges.
func (x *Executor) dropReads(t *Task) {
	for _, id := range t.reading {
		x.Store.Drop(id)
	}
	t.reading = nil
}

// ownDeletes bounds how many rows of a scan the piece itself may hide.
func ownDeletes(t *Task, scan *msg.Op) int {
	n := 0
	for i := range t.Ops {
		op := &t.Ops[i]
		switch {
		case (op.Kind == msg.OpDelete || op.IsCall() && op.Writes()) && scan.Span().Contains(op.Key):
			n++
		case op.Kind == msg.OpDeleteRange && scan.Span().Overlaps(op.Span()):
			n += kv.MaxTxnOps
		}
	}
	return n
}

// rangeRead takes the rows of an operation's range.
func (x *Executor) rangeRead(t *Task, seq uint32, scan bool, r *entry.ReadResult) {
	rows, err := store.RangeRows(r)
	if err != nil {
		t.Err = err
	}
	t.rows[seq] = rows
	t.loads.missing--
	if scan {
		dropped, err := t.scans.Arrived(r)
		t.loads.missing -= dropped
		if err != nil {
			t.Err, t.rows = err, map[uint32]mvcc.RangeRows{}
		}
	}
	if t.loads.missing == 0 {
		x.ranged = append(x.ranged, t)
	}
}

// ShrinkScans releases the part of the lock of a scanned range that the scan has not read.
func (x *Executor) ShrinkScans(t *Task, results []msg.Result) {
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.Kind == msg.OpScan && len(results[i].Resume) > 0 && rangeUsers(t, op) == 1 {
			x.Locks.Shrink(&t.Request, op.Span(), op.ReadUntil(results[i].Resume))
		}
	}
}

// rangeUsers counts the operations of a task with exactly this span.
func rangeUsers(t *Task, op *msg.Op) int {
	n := 0
	for i := range t.Ops {
		o := &t.Ops[i]
		if !o.Span().IsPoint() && bytes.Equal(o.Key, op.Key) && bytes.Equal(o.End, op.End) {
			n++
		}
	}
	return n
}

// Grants are the locks that a task was granted, as they stand after ShrinkScans.
func (x *Executor) Grants(t *Task) (out []locktable.Grant) {
	for _, g := range t.Request.Grants() {
		out = append(out, x.shrunk(t, g))
	}
	return out
}

func (x *Executor) shrunk(t *Task, g locktable.Grant) locktable.Grant {
	if g.Span.IsPoint() {
		return g
	}
	for _, h := range x.Locks.HeldBy(t.Txn) {
		if h.Number == g.Number {
			return h
		}
	}
	return g
}
