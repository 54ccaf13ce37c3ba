package server

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// anyResult makes a result with the fields that cost most in a response, or any others.
func anyResult(r *rand.Rand) msg.Result {
	bytes := func() []byte { return make([]byte, r.IntN(300)) }
	number := func() int64 { return []int64{0, 1, -1, math.MinInt64, math.MaxInt64}[r.IntN(5)] }
	version := kv.Version{Moves: r.Uint32(), Shard: kv.ShardID(r.Uint32()), Write: r.Uint64()}
	value := func() (uint32, []byte) {
		if r.IntN(2) == 0 {
			return uint32(adt.Counter), adt.EncodeCounter(number())
		}
		return uint32(r.IntN(240)), bytes()
	}
	out := msg.Result{Found: r.IntN(2) == 0, Version: version, Resume: bytes(), Count: r.Uint64(), Expires: kv.MaxExpires,
		TtlMillis: r.Int64()}
	out.Type, out.Value = value()
	for range r.IntN(4) {
		p := msg.Pair{Key: bytes(), Version: version, Expires: r.Int64N(kv.MaxExpires)}
		p.Type, p.Value = value()
		out.Pairs = append(out.Pairs, p)
		d := msg.Datum{Kind: msg.DatumKind(r.IntN(5))}
		switch d.Kind {
		case msg.DatumBytes:
			d.Bytes = bytes()
		case msg.DatumInt:
			d.Int = number()
		case msg.DatumBool:
			d.Int = int64(r.IntN(2))
		}
		out.Data = append(out.Data, d)
	}
	return out
}

// TestResponseBytesBoundResponses: results have at most ResponseBytes in a response, and not much less.
func TestResponseBytesBoundResponses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		rs := make([]msg.Result, r.IntN(4))
		for i := range rs {
			rs[i] = anyResult(r)
		}
		size := (&pb.ExecuteResponse{Results: results(nil, rs)}).Size() - (&pb.ExecuteResponse{}).Size()
		require.LessOrEqual(t, size, msg.ResponseBytes(rs), "%v", rs)
	}
	large := []msg.Result{{Found: true, Value: make([]byte, kv.MaxValueBytes)}}
	require.Less(t, msg.ResponseBytes(large), (&pb.ExecuteResponse{Results: results(nil, large)}).Size()+64)
}

// TestTheRestOfAResponseFits: what is not results is dropped, or is shorter than the headroom.
func TestTheRestOfAResponseFits(t *testing.T) {
	limit := int(kv.MinMaxResponseBytes)
	out := &pb.ExecuteResponse{CausalityToken: make([]byte, 16<<10), Receipt: &pb.Receipt{Sentence: string(make([]byte,
		limit))}}
	out.Results = results(nil, []msg.Result{{Value: make([]byte, limit-kv.ResponseHeadroom-100)}})
	for range 10_000 {
		out.AbortReasons = append(out.AbortReasons, "wounded")
	}
	fit(out, limit)
	require.LessOrEqual(t, (&pb.PipelineResponse{Responses: []pb.CallResponse{{Handle: math.MaxUint64,
		Response: *out}}}).Size(), limit)
	d := &pb.ErrorDetail{Message: "t", Current: &pb.Result{Value: make([]byte, limit)},
		Receipt: &pb.Receipt{Wait: &pb.Conflict{Key: make([]byte, limit)}}}
	fitError(d, limit)
	require.Less(t, d.Size(), limit)
	require.Equal(t, "t", d.Message)
}
