package piece

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Assemble puts the results of the pieces into the order of the operations,
// and joins those of a range, which come from every shard.
func Assemble(ops []msg.Op, parts []msg.Result) []msg.Result {
	if inOrder(ops, parts) {
		return parts
	}
	out := make([]msg.Result, len(ops))
	ranged := map[int][]msg.Result{}
	for _, r := range parts {
		i := int(r.Seq)
		switch {
		case i >= len(ops):
		case ops[i].IsRange():
			ranged[i] = append(ranged[i], r)
		default:
			out[i] = r
		}
	}
	for i := range ops {
		out[i].Seq = uint32(i)
		if ops[i].IsRange() {
			out[i] = joinRange(&ops[i], ranged[i])
			out[i].Seq = uint32(i)
		}
	}
	return out
}

// inOrder reports whether parts are the results as they are: one for each
// operation, as a single shard gives them.
func inOrder(ops []msg.Op, parts []msg.Result) bool {
	if len(parts) != len(ops) {
		return false
	}
	for i := range parts {
		if int(parts[i].Seq) != i || ops[i].IsRange() {
			return false
		}
	}
	return true
}

// joinRange merges the shards' parts of one range operation.
func joinRange(op *msg.Op, parts []msg.Result) msg.Result {
	out := joinParts(parts)
	out.Pairs, out.Resume = cutPairs(out.Pairs, out.Resume, Limit(op))
	return out
}

// joinParts merges the shards' parts of one range operation, whose limit each
// of them has kept for itself. What lies beyond the first place where some
// shard stopped is cut off: it is not complete.
func joinParts(parts []msg.Result) msg.Result {
	var out msg.Result
	for _, r := range parts {
		out.Found = out.Found || r.Found
		out.Count += r.Count
		out.Pairs = append(out.Pairs, r.Pairs...)
		if len(r.Resume) > 0 && (len(out.Resume) == 0 || bytes.Compare(r.Resume, out.Resume) < 0) {
			out.Resume = r.Resume
		}
	}
	slices.SortFunc(out.Pairs, func(a, b msg.Pair) int { return bytes.Compare(a.Key, b.Key) })
	out.Pairs, out.Resume = cutPairs(out.Pairs, out.Resume, kv.MaxScanLimit)
	return out
}

// Recorded puts the results in a record into order, one for each operation.
// The operations are not known: where several shards had a part in one, it is
// a range, and joined without its limit.
func Recorded(parts []msg.Result) []msg.Result {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b msg.Result) int { return cmp.Compare(a.Seq, b.Seq) })
	var out []msg.Result
	for i, j := 0, 0; i < len(parts); i = j {
		for j = i + 1; j < len(parts) && parts[j].Seq == parts[i].Seq; j++ {
		}
		r := parts[i]
		if j > i+1 {
			r = joinParts(parts[i:j])
			r.Seq, r.Operation = parts[i].Seq, parts[i].Operation
		}
		out = append(out, r)
	}
	return out
}

func cutPairs(pairs []msg.Pair, resume []byte, limit int) ([]msg.Pair, []byte) {
	if len(resume) > 0 {
		i, _ := slices.BinarySearchFunc(pairs, resume, func(p msg.Pair, k []byte) int { return bytes.Compare(p.Key, k) })
		pairs = pairs[:i]
	}
	if len(pairs) > limit {
		resume = pairs[limit].Key
		pairs = pairs[:limit]
	}
	return pairs, resume
}

// Limit is how many pairs a scan may return.
func Limit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
