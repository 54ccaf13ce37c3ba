package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

const (
	// scanBytes bounds what one scan operation reads on one shard at a time.
	scanBytes = 4 << 20
	// scansAtOnce is how many scans of one piece are read at a time: a piece may have
	// thousands, and what they read waits in memory until it is complete. Somewhat
	// arbitrary.
	scansAtOnce = 4
	// pieceBytes bounds what the scans of one piece may read: a client is not
	// answered more.
	pieceBytes = kv.MaxAnswerBytes
)

// scans are the ranges that one piece reads, a few at a time.
type scans struct {
	// next are those that have not been asked for.
	next  []func()
	asked int
	// bytes is what they have read.
	bytes int
}

// begin asks for as many as may be read at a time: for one that might be too much alone if
// the others are.
func (s *scans) begin() {
	for len(s.next) > 0 && (s.asked == 0 || s.asked < scansAtOnce && s.bytes+s.asked*scanBytes < pieceBytes) {
		s.ask()
	}
}

func (s *scans) ask() {
	next := s.next[0]
	s.next = s.next[1:]
	s.asked++
	next()
}

// arrived says what one has read, and asks for another. It fails if all have read too
// much; then there are no more, and dropped is how many are not asked for.
func (s *scans) arrived(r *entry.ReadResult) (dropped int, err error) {
	for i := range r.Rows {
		s.bytes += len(r.Rows[i].Key) + len(r.Rows[i].Value)
	}
	s.asked--
	if s.bytes > pieceBytes {
		dropped, s.next = len(s.next), nil
		return dropped, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: kv.MoreThanAnAnswer,
			Hint: "read fewer keys in one transaction, or use Scan"}
	}
	s.begin()
	return 0, nil
}

// readRanges reads the rows of the task's ranges, which stay as they are, and runs
// it then; at once if it has none.
func (m *Machine) readRanges(t *task) {
	if !t.ranges {
		m.run(t)
		return
	}
	t.stage = stageRanging
	t.rows = map[uint32]mvcc.RangeRows{}
	t.scans = scans{}
	for i := range t.ops {
		op := &t.ops[i]
		if op.Span().IsPoint() || op.Span().IsEmpty() || op.Kind == msg.OpLockRange {
			continue
		}
		r := entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: op.Span()}
		if op.Kind == msg.OpScan {
			r.Limit, r.LimitBytes = mvcc.ScanLimit(op)+m.ownDeletes(t, op), scanBytes
		} else {
			r.Limit = kv.MaxTxnOps + 1
		}
		t.missing++
		c := &coldRead{task: t, round: t.round, seq: op.Seq, scan: op.Kind == msg.OpScan}
		if c.scan {
			t.scans.next = append(t.scans.next, func() { m.ask(r, c) })
		} else {
			m.ask(r, c)
		}
	}
	if t.missing == 0 {
		m.run(t)
		return
	}
	t.scans.begin()
}

// ownDeletes bounds how many rows of a scan the piece itself may hide.
func (m *Machine) ownDeletes(t *task, scan *msg.Op) int {
	n := 0
	for i := range t.ops {
		switch op := &t.ops[i]; {
		case (op.Kind == msg.OpDelete || op.IsCall() && op.Writes()) && scan.Span().Contains(op.Key):
			n++
		case op.Kind == msg.OpDeleteRange && scan.Span().Overlaps(op.Span()):
			n += kv.MaxTxnOps
		}
	}
	return n
}
