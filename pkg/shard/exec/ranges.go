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
	// ScanBytes bounds what one scan operation reads on one shard at a time, in bytes.
	ScanBytes = 4 << 20
	// maxConcurrentScans bounds the scans of one piece that are read at a time. A piece may have thousands, and
	// what they read is in memory until the piece is complete. The value is somewhat arbitrary.
	maxConcurrentScans = 4
	// maxScanBytes bounds what the scans of one piece read in total: a response is not larger.
	maxScanBytes = kv.MaxResultBytes
)

// Scans are the ranges of one piece, of which a few are read at a time.
type Scans struct {
	// queued are the requests that have not been sent; inFlight counts those without a response.
	queued   []func()
	inFlight int
	// bytes is the size of the rows read.
	bytes int
}

// Add queues a request.
func (s *Scans) Add(send func()) { s.queued = append(s.queued, send) }

// Begin sends as many requests as may be in flight: one, even if its result might be too large, and more if
// their results together cannot exceed maxScanBytes.
func (s *Scans) Begin() {
	for len(s.queued) > 0 {
		fits := s.inFlight < maxConcurrentScans && s.bytes+s.inFlight*ScanBytes < maxScanBytes
		if s.inFlight > 0 && !fits {
			return
		}
		send := s.queued[0]
		s.queued = s.queued[1:]
		s.inFlight++
		send()
	}
}

// OnResult counts a response and sends further requests. If the total is too large, it fails and discards the
// queued requests; dropped is their number.
func (s *Scans) OnResult(r *entry.ReadResult) (dropped int, err error) {
	for i := range r.Rows {
		s.bytes += len(r.Rows[i].Key) + len(r.Rows[i].Value)
	}
	s.inFlight--
	// The response would be rejected for its size anyway; reading on would only fill memory.
	if s.bytes > maxScanBytes {
		dropped, s.queued = len(s.queued), nil
		return dropped, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: kv.ResultTooLargeText,
			Hint: "read fewer keys in one transaction, or use Scan"}
	}
	s.Begin()
	return 0, nil
}

// ReadRanges requests the rows of the task's ranges. The rows do not change: the ranges are locked, or the
// reader is registered. A task without ranges is Ready.
//
// The rows are read at the newest CSN when the locks are held:
//
//	range read first, then locked    U inserts a key in between: the scan misses it although U committed before
//	locked first, then read          U waits for the lock, or its key is among the rows
func (x *Executor) ReadRanges(t *Task) Step {
	if !t.ranges {
		return Ready
	}
	t.stage = ranging
	t.rows = map[uint32]mvcc.RangeRows{}
	// A task that was held starts again with new rows.
	t.scans = Scans{}
	for i := range t.Ops {
		op := &t.Ops[i]
		if !op.Span().IsPoint() && !op.Span().IsEmpty() {
			x.startRangeRead(t, op)
		}
	}
	if t.loads.missing == 0 {
		return Ready
	}
	t.scans.Begin()
	return Waiting
}

// startRangeRead requests the rows of one range. Scans are queued, so that few are in memory at a time; other
// ranges are read immediately.
func (x *Executor) startRangeRead(t *Task, op *msg.Op) {
	r := entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: op.Span(), Reverse: op.Reverse, User: t.User}
	scan := op.Kind == msg.OpScan
	if scan {
		r.Limit, r.LimitBytes = mvcc.ScanLimit(op)+maxHiddenRows(t, op), ScanBytes
	} else {
		// A range deletion of more keys than a transaction may have fails; one more row shows that.
		r.Limit = kv.MaxTxnOps + 1
	}
	t.loads.missing++
	generation := t.loads.generation
	send := func() {
		id := x.Store.Read(r, func(r *entry.ReadResult) {
			// The result may arrive after the task was suspended, dropped or restarted.
			t.rangeReads = slices.DeleteFunc(t.rangeReads, func(id uint64) bool { return id == r.ID })
			// History: the piece of a last agent reads [a, m), is held for a reader, and reads [a, m) again under a new lock.
			// The late result of the first read would be counted for the second, with rows of an earlier CSN.
			if t.stage == ranging && t.loads.generation == generation { // otherwise the task was suspended or has ended
				x.onRangeRead(t, op.Seq, scan, r)
			}
		})
		t.rangeReads = append(t.rangeReads, id)
	}
	if scan {
		t.scans.Add(send)
	} else {
		send()
	}
}

// cancelRangeReads cancels the reads of the task's ranges.
func (x *Executor) cancelRangeReads(t *Task) {
	for _, id := range t.rangeReads {
		x.Store.Drop(id)
	}
	t.rangeReads = nil
}

// maxHiddenRows bounds how many rows of a scan the piece itself can delete before it. The scan reads so many
// more.
func maxHiddenRows(t *Task, scan *msg.Op) int {
	n := 0
	for i := range t.Ops {
		op := &t.Ops[i]
		switch {
		// A call may remove the value.
		case (op.Kind == msg.OpDelete || op.IsCall() && op.Writes()) && scan.Span().Contains(op.Key):
			n++
		case op.Kind == msg.OpDeleteRange && scan.Span().Overlaps(op.Span()):
			n += kv.MaxTxnOps
		}
	}
	return n
}

// onRangeRead stores the rows of an operation's range.
func (x *Executor) onRangeRead(t *Task, seq uint32, scan bool, r *entry.ReadResult) {
	rows, err := store.RangeRows(r)
	if err != nil {
		t.Err = err
	}
	t.rows[seq] = rows
	t.loads.missing--
	if scan {
		dropped, err := t.scans.OnResult(r)
		t.loads.missing -= dropped
		if err != nil {
			t.Err, t.rows = err, map[uint32]mvcc.RangeRows{}
		}
	}
	if t.loads.missing == 0 {
		// Not executed here: this runs in the middle of delivering results, of which others may belong to the same task.
		x.rangesRead = append(x.rangesRead, t)
	}
}

// ShrinkScans releases the parts of range locks that scans have not read.
//
// Example. "the first 10 of [a, z)" finds its tenth key at d. The lock is reduced to [a, d]; inserts behind it
// cannot change the result. A queue that consumers read from its start thus stays open for producers at its end.
func (x *Executor) ShrinkScans(t *Task, results []msg.Result) {
	for i := range t.Ops {
		op := &t.Ops[i]
		// If another operation of the piece has the same range, it relies on all of the lock.
		if op.Kind == msg.OpScan && len(results[i].Resume) > 0 && rangeOpCount(t, op) == 1 {
			x.Locks.Shrink(&t.Request, op.Span(), op.ReadUntil(results[i].Resume))
		}
	}
}

// rangeOpCount counts the operations of a task with the same span as op.
func rangeOpCount(t *Task, op *msg.Op) int {
	n := 0
	for i := range t.Ops {
		o := &t.Ops[i]
		if !o.Span().IsPoint() && bytes.Equal(o.Key, op.Key) && bytes.Equal(o.End, op.End) {
			n++
		}
	}
	return n
}

// Grants returns the locks that were granted to a task, as they are after ShrinkScans.
func (x *Executor) Grants(t *Task) (out []locktable.Grant) {
	for _, g := range t.Request.Grants() {
		out = append(out, x.currentGrant(t, g))
	}
	return out
}

// currentGrant returns the grant with its current span.
//
// The gateway lists grants with their spans, and the commit must name what is held now, not what was held before the
// scan.
func (x *Executor) currentGrant(t *Task, g locktable.Grant) locktable.Grant {
	if g.Span.IsPoint() {
		return g
	}
	for _, h := range x.Locks.GrantsOf(t.Txn) {
		if h.Number == g.Number {
			return h
		}
	}
	return g
}
