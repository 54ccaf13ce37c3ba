package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// anyOp draws operations as the constructors make them.
func anyOp(t *rapid.T) Op {
	bytes := rapid.SliceOfN(rapid.Byte(), 0, 40)
	o := &command{operation{op: msg.Op{Kind: rapid.SampledFrom([]msg.OpKind{msg.OpGet, msg.OpPut, msg.OpDelete,
		msg.OpRequire, msg.OpAdd,
		msg.OpAddGet, msg.OpScan, msg.OpDeleteRange}).Draw(t, "kind"), Key: bytes.Draw(t, "key")}}}
	switch o.op.Kind {
	case msg.OpGet:
		o.op.ForUpdate = rapid.Bool().Draw(t, "for update")
	case msg.OpAdd, msg.OpAddGet:
		o.op.Delta = rapid.Int64().Draw(t, "delta")
	case msg.OpScan, msg.OpDeleteRange:
		o.op.End = bytes.Draw(t, "end")
	case msg.OpPut:
		o.op.Value = bytes.Draw(t, "value")
		fallthrough
	default:
		o.op.Expect = rapid.SampledFrom([]msg.Expect{msg.ExpectNothing, msg.ExpectExists, msg.ExpectValue,
			msg.ExpectVersion}).
			Draw(t, "expect")
		switch o.op.Expect {
		case msg.ExpectValue:
			o.op.ExpectValue = bytes.Draw(t, "old")
		case msg.ExpectVersion:
			o.op.ExpectVersion = kv.Version{Moves: 1, Shard: 2, Write: rapid.Uint64().Draw(t, "write")}
		}
	}
	return o
}

// anyHow draws a way to read; most have none.
func anyHow(t *rapid.T) *how {
	h := new(how)
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		h.at = (*DB)(nil).AtSnapshot(rapid.String().Draw(t, "name")).at
	case 1:
		h.at = (*DB)(nil).AsOf(time.Unix(0, rapid.Int64().Draw(t, "as of"))).at
	case 2:
		After(rapid.SliceOf(rapid.Byte()).Draw(t, "token"))(h)
	case 3:
		h.plan = pb.ReadPlan_PLAN_HOT_LAST
	}
	return h
}

// TestAnEncoderForgets: a request is encoded in the same way by an encoder that has encoded others, and
// which keeps nothing of them.
func TestAnEncoderForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := new(encoder)
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			ops := rapid.SliceOfN(rapid.Custom(anyOp), 1, keepOps+5).Draw(t, "ops")
			id := kv.TxnID{Time: rapid.Int64().Draw(t, "time"), Rand: rapid.Uint64().Draw(t, "rand")}
			h := rapid.Custom(anyHow).Draw(t, "how")
			trace := rapid.SampledFrom([]string{"", "00-trace"}).Draw(t, "trace")
			want := pb.Call{Traceparent: trace, Request: pb.ExecuteRequest{TxnId: id, Ops: wireOps(ops),
				MaxResponseBytes: pb.MaxMessageBytes, At: h.at, CausalityToken: h.token, Plan: h.plan}}
			e.set(id, ops, h, trace)
			require.Equal(t, want, e.call)
			e.forget()
			require.Equal(t, pb.Call{Request: pb.ExecuteRequest{Ops: e.call.Request.Ops[:0]}}, e.call)
			require.LessOrEqual(t, cap(e.scratch), 2*keepOps)
			for _, s := range e.scratch {
				require.Zero(t, s)
			}
			for _, op := range e.call.Request.Ops[:cap(e.call.Request.Ops)] {
				require.Zero(t, op)
			}
		}
	})
}
