package server

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// frame is at least what a result or pair takes beside its keys and values.
const frame = 64

// resultBytes estimates the encoded size of results from above.
func resultBytes(rs []msg.Result) int {
	n := 0
	for i := range rs {
		n += frame + len(rs[i].Value) + len(rs[i].Resume) + pairBytes(rs[i].Pairs) + argBytes(rs[i].Data)
	}
	return n
}

func pairBytes(ps []msg.Pair) int {
	n := 0
	for i := range ps {
		n += frame + len(ps[i].Key) + len(ps[i].Value)
	}
	return n
}

// response fills out from a transaction that committed. Slices of out are
// used again.
func (s *service) response(out *pb.ExecuteResponse, r *gateway.Response) {
	out.CausalityToken, out.Plan, out.Snapshot = r.Token(), planOf(r.Plan), s.snapshot(r.Snapshot)
	out.TxnId, out.Attempts, out.ResultsLost = r.ID, uint32(r.Attempts), r.ResultsLost
	out.Receipt = receipt(&r.Contention)
	out.Results = results(out.Results[:0], r.Results)
	out.AbortReasons = nil
	for _, a := range r.Aborts {
		out.AbortReasons = append(out.AbortReasons, a.Word())
	}
}

// leaderOf returns the node that leads the shard of a transaction, 0 if it is not known or has read several.
func leaderOf(r *gateway.Response, b Backend) kv.NodeID {
	switch {
	case r.CSN.CSN != 0:
		return b.Leader(r.CSN.Shard)
	case len(r.At) == 1:
		return b.Leader(r.At[0].Shard)
	}
	return 0
}

// results appends rs to out, whose spare elements are overwritten.
func results(out []pb.Result, rs []msg.Result) []pb.Result {
	if cap(out)-len(out) < len(rs) {
		out = append(make([]pb.Result, 0, len(out)+len(rs)), out...)
	}
	for i := range rs {
		out = out[:len(out)+1]
		result(&out[len(out)-1], &rs[i])
	}
	return out
}

// result sets all of out. A counter's payload becomes a number.
func result(out *pb.Result, r *msg.Result) {
	*out = pb.Result{Found: r.Found, Version: r.Version, Resume: r.Resume, Count: r.Count,
		Entries:     pairs(out.Entries[:0], r.Pairs),
		ExpiresAtMs: r.Expires, TtlMs: r.TtlMillis}
	out.Type, out.Value, out.Number = payload(entry.Type(r.Type), r.Value)
	out.TypeName, out.Data = ownName(r.Type), pb.DataOf(r.Data)
}

// pairs appends ps to out.
func pairs(out []pb.Entry, ps []msg.Pair) []pb.Entry {
	for i := range ps {
		p := pb.Entry{Key: ps[i].Key, Version: ps[i].Version, ExpiresAtMs: ps[i].Expires}
		p.Type, p.Value, p.Number = payload(entry.Type(ps[i].Type), ps[i].Value)
		p.TypeName = ownName(ps[i].Type)
		out = append(out, p)
	}
	return out
}

// ownName is the name of a type that is not linchpin's own, for which the API
// has no number.
func ownName(t uint32) string {
	if t < firstOwn || entry.Type(t) == entry.TypeDeleted {
		return ""
	}
	return adt.TypeName(entry.Type(t))
}

// firstOwn is the first number of a type of users' own.
const firstOwn = 128

// payload gives a value in the form clients see.
func payload(t entry.Type, raw []byte) (pb.DataType, []byte, int64) {
	if t == adt.Counter && len(raw) > 0 {
		if n, err := adt.DecodeCounter(raw); err == nil {
			return pb.DataType_COUNTER, nil, n
		}
	}
	if t == entry.TypeDeleted {
		return pb.DataType_VALUE, nil, 0
	}
	return pb.DataType(t), raw, 0
}
