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
	o := &command{operation{op: msg.Op{Kind: rapid.SampledFrom([]msg.OpKind{msg.OpGet, msg.OpPut, msg.OpDelete, msg.OpRequire, msg.OpAdd,
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
		o.op.Expect = rapid.SampledFrom([]msg.Expect{msg.ExpectNothing, msg.ExpectExists, msg.ExpectValue, msg.ExpectVersion}).
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

// TestFramesAreAPipelineRequest holds the hand-made encoding against the
// generated one, with calls that are used again and again.
func TestFramesAreAPipelineRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var batch []*call
		var want pb.PipelineRequest
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			ops := rapid.SliceOfN(rapid.Custom(anyOp), 1, 5).Draw(t, "ops")
			id := kv.TxnID{Time: rapid.Int64().Draw(t, "time"), Rand: rapid.Uint64().Draw(t, "rand")}
			number := rapid.Uint64().Draw(t, "number")
			h := rapid.Custom(anyHow).Draw(t, "how")
			c := newCall(id, ops, h, "")
			c.setTimeout(1500 * time.Microsecond)
			c.setNumber(number)
			batch = append(batch, c)
			want.Calls = append(want.Calls, pb.Call{Handle: number, TimeoutMs: 2,
				Request: pb.ExecuteRequest{TxnId: id, Ops: wireOps(ops), MaxResponseBytes: pb.MaxMessageBytes}})
			r := &want.Calls[len(want.Calls)-1].Request
			r.At, r.CausalityToken, r.Plan = h.at, h.token, h.plan
		}
		f := frames{batch}
		raw := make([]byte, f.Size())
		n, err := f.MarshalToSizedBuffer(raw)
		require.NoError(t, err)
		require.Equal(t, len(raw), n)
		var got pb.PipelineRequest
		require.NoError(t, got.Unmarshal(raw))
		plain, err := want.Marshal()
		require.NoError(t, err)
		again, err := got.Marshal()
		require.NoError(t, err)
		require.Equal(t, plain, again)
		for _, c := range batch {
			c.release()
		}
	})
}

func TestTimeoutsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]uint32{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		kv.MaxTxnAge: 60_000, kv.MaxTxnAge + 1: 0} {
		require.Equal(t, want, timeoutMs(d), d)
	}
}
