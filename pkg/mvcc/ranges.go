package mvcc

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// visibleRows returns the rows of a range as this piece sees it, in the order of the operation.
// Values under the piece's own increments come from the range as well, since the key alone may not
// be in memory.
//
//	rows read      a  b  d │ resume at e
//	own effects    put c, delete b, put f
//	visible        a  c  d │ resume at e: f belongs to the next page
func (x *execution) visibleRows(op *msg.Op) ([]RangeRow, []byte, *msg.Failure) {
	found := x.view.Rows(op.Seq)
	rows := make([]RangeRow, 0, len(found.Rows))
	span := op.Span()
	under := map[string]entry.Value{}
	for _, r := range found.Rows {
		if x.ownEffect(r.Key) == nil {
			rows = append(rows, r)
		} else {
			under[string(r.Key)] = r.Value
		}
	}
	// Own writes replace the stored rows. Those beyond the resume key belong to the next page of the
	// scan.
	for i := range x.out.Effects {
		p := &x.out.Effects[i]
		if !span.Contains(p.Key) || msg.Unread(p.Key, found.Resume, op.Reverse) {
			continue
		}
		v, f := x.applyOwn(p, under[string(p.Key)])
		if f != nil {
			return nil, nil, f
		}
		if v.Exists() {
			rows = append(rows, RangeRow{Key: p.Key, Value: v})
		}
	}
	slices.SortFunc(rows, func(a, b RangeRow) int { return msg.CompareKeys(a.Key, b.Key, op.Reverse) })
	return rows, found.Resume, nil
}

// scan executes OpScan: up to its limit, with the key at which the next scan continues.
func (x *execution) scan(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visibleRows(op)
	if f != nil {
		return msg.Result{}, f
	}
	rows, resume = msg.CutScan(rows, KeyOfRow, resume, ScanLimit(op), op.Reverse)
	res := msg.Result{Found: len(rows) > 0, Resume: resume, Reverse: op.Reverse, Pairs: make([]msg.Pair, len(rows))}
	for i, r := range rows {
		res.Pairs[i] = msg.Pair{Key: r.Key, Value: VisiblePayload(&r.Value), Type: uint32(r.Value.Type),
			Version: ClientVersion(r.Value.Version), Expires: r.Value.Expires}
	}
	return res, nil
}

// deleteRange executes OpDeleteRange on this shard's part of the range.
//
// The range is locked and its rows are read, so exactly the keys that exist at the commit point are deleted.
func (x *execution) deleteRange(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visibleRows(op)
	if f != nil {
		return msg.Result{}, f
	}
	// The effects of a piece are bounded, and a part of the range would be a silent partial
	// deletion.
	if resume != nil || len(rows) > kv.MaxTxnOps {
		return msg.Result{}, fail(kv.KindInvalid, op.Key, "the range has more than %d keys on one shard; delete it in parts",
			kv.MaxTxnOps)
	}
	for _, r := range rows {
		e := entry.Effect{Key: r.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted)}
		if x.ownEffect(r.Key) != nil {
			e.Version = x.nextVersion(r.Key)
		} else {
			e.Version = x.version(r.Value.Version)
		}
		x.addEffect(e)
	}
	return msg.Result{Found: len(rows) > 0, Count: uint64(len(rows))}, nil
}

// ScanLimit returns the maximum number of pairs that a scan returns.
func ScanLimit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
