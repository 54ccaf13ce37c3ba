package piece

import (
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Join returns the results in the order of the operations, and joins those of a range, which come from
// all shards.
//
// Parts arrive in any order: the last agent adds those of the participants as their votes come in.
func Join(ops []msg.Op, parts []msg.Result) []msg.Result {
	if isComplete(ops, parts) {
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

// isComplete reports whether parts are the results already: one per operation, in order, as a single shard
// returns them.
func isComplete(ops []msg.Op, parts []msg.Result) bool {
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

// joinRange merges the results of all shards for one range operation.
//
// Each shard has returned up to the limit; the first rows of all are the result.
func joinRange(op *msg.Op, parts []msg.Result) msg.Result {
	out := joinParts(parts, op.Reverse)
	out.Pairs, out.Resume = msg.CutScan(out.Pairs, pairKey, out.Resume, Limit(op), op.Reverse)
	return out
}

func pairKey(p *msg.Pair) []byte { return p.Key }

// joinParts merges the results of all shards for one range operation. Each shard has applied the limit by itself.
// Rows beyond the first point at which a shard stopped are dropped: there may be others between them.
func joinParts(parts []msg.Result, reverse bool) msg.Result {
	out := msg.Result{Reverse: reverse}
	for _, r := range parts {
		out.Found = out.Found || r.Found
		out.Count += r.Count
		out.Pairs = append(out.Pairs, r.Pairs...)
		if len(r.Resume) > 0 && (len(out.Resume) == 0 || msg.CompareKeys(r.Resume, out.Resume, reverse) < 0) {
			out.Resume = r.Resume
		}
	}
	slices.SortFunc(out.Pairs, func(a, b msg.Pair) int { return msg.CompareKeys(a.Key, b.Key, reverse) })
	out.Pairs, out.Resume = msg.CutScan(out.Pairs, pairKey, out.Resume, kv.MaxScanLimit, reverse)
	return out
}

// JoinRecorded returns the results in a record, one per operation, in order. The record has no operations: a result
// with several parts is that of a range, and is joined without its limit.
//
// An outcome query uses it: the client that lost the response may query another gateway than the one that had the
// operations.
func JoinRecorded(parts []msg.Result) []msg.Result {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b msg.Result) int { return cmp.Compare(a.Seq, b.Seq) })
	var out []msg.Result
	for i, j := 0, 0; i < len(parts); i = j {
		for j = i + 1; j < len(parts) && parts[j].Seq == parts[i].Seq; j++ {
		}
		r := parts[i]
		if j > i+1 {
			r = joinParts(parts[i:j], r.Reverse)
			r.Seq, r.Operation = parts[i].Seq, parts[i].Operation
		}
		out = append(out, r)
	}
	return out
}

// Limit is the largest number of pairs that a scan may return.
func Limit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
