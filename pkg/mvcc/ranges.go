package mvcc

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// visible is the range as this piece sees it, in the order of the operation. What the piece has
// added to is told by the range too: the key alone may not have been read.
func (x *execution) visible(op *msg.Op) ([]RangeRow, []byte, *msg.Failure) {
	found := x.view.Rows(op.Seq)
	rows := make([]RangeRow, 0, len(found.Rows))
	span := op.Span()
	under := map[string]entry.Value{}
	for _, r := range found.Rows {
		if x.own(r.Key) == nil {
			rows = append(rows, r)
		} else {
			under[string(r.Key)] = r.Value
		}
	}
	for i := range x.out.Effects {
		p := &x.out.Effects[i]
		if !span.Contains(p.Key) || msg.Unread(p.Key, found.Resume, op.Reverse) {
			continue
		}
		v, f := x.over(p, under[string(p.Key)])
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

func (x *execution) scan(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visible(op)
	if f != nil {
		return msg.Result{}, f
	}
	rows, resume = msg.CutScan(rows, KeyOfRow, resume, ScanLimit(op), op.Reverse)
	res := msg.Result{Found: len(rows) > 0, Resume: resume, Reverse: op.Reverse, Pairs: make([]msg.Pair, len(rows))}
	for i, r := range rows {
		res.Pairs[i] = msg.Pair{Key: r.Key, Value: Shown(&r.Value), Type: uint32(r.Value.Type),
			Version: Identity(r.Value.Version), Expires: r.Value.Expires}
	}
	return res, nil
}

func (x *execution) deleteRange(op *msg.Op) (msg.Result, *msg.Failure) {
	rows, resume, f := x.visible(op)
	if f != nil {
		return msg.Result{}, f
	}
	if resume != nil || len(rows) > kv.MaxTxnOps {
		return msg.Result{}, fail(kv.KindInvalid, op.Key, "the range has more than %d keys on one shard; delete it in parts", kv.MaxTxnOps)
	}
	for _, r := range rows {
		e := entry.Effect{Key: r.Key, Kind: entry.EffectDelete, Type: uint32(entry.TypeDeleted)}
		if x.own(r.Key) != nil {
			e.Version = x.next(r.Key)
		} else {
			e.Version = x.version(r.Value.Version)
		}
		x.write(e)
	}
	return msg.Result{Found: len(rows) > 0, Count: uint64(len(rows))}, nil
}

// ScanLimit is how many pairs a scan operation may return.
func ScanLimit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
