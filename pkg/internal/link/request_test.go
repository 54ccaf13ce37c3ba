package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// aCall draws calls.
func aCall(t *rapid.T) pb.Call {
	c := pb.Call{Traceparent: rapid.String().Draw(t, "trace")}
	c.Request.TxnId = kv.TxnID{Time: rapid.Int64().Draw(t, "time"), Rand: rapid.Uint64().Draw(t, "rand")}
	for range rapid.IntRange(0, 5).Draw(t, "ops") {
		put := &pb.PutOp{Key: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "key"),
			Value: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value")}
		c.Request.Ops = append(c.Request.Ops, pb.Op{Op: &pb.Op_Put{Put: put}})
	}
	return c
}

// TestFramesAreAPipelineRequest holds the hand-made encoding against the generated one, with requests
// that are used again and again.
func TestFramesAreAPipelineRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var batch []*Request
		var want pb.PipelineRequest
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			c, number := rapid.Custom(aCall).Draw(t, "call"), rapid.Uint64().Draw(t, "number")
			r := new(Link).NewRequest(&c, nil)
			require.Equal(t, c.Request.TxnId, r.id)
			r.setTimeout(1500 * time.Microsecond)
			r.setNumber(number)
			batch = append(batch, r)
			c.Handle, c.TimeoutMs = number, 2
			want.Calls = append(want.Calls, c)
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
		for _, r := range batch {
			r.release()
		}
	})
}

func TestTimeoutsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]uint32{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		kv.MaxTxnAge: 60_000, kv.MaxTxnAge + 1: 0} {
		require.Equal(t, want, timeoutMs(d), d)
	}
}
