package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// scanBytes bounds what one scan operation reads on one shard at a time.
const scanBytes = 4 << 20

// readRanges reads the rows of the task's ranges, which stay as they are, and runs
// it then; at once if it has none.
func (m *Machine) readRanges(t *task) {
	if !t.ranges {
		m.run(t)
		return
	}
	t.stage = stageRanging
	t.rows = map[uint32]mvcc.RangeRows{}
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
		m.ask(r, &coldRead{task: t, round: t.round, seq: op.Seq})
	}
	if t.missing == 0 {
		m.run(t)
	}
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
