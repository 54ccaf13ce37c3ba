package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func request(valueBytes int) *pb.ExecuteRequest {
	return &pb.ExecuteRequest{
		TxnId: kv.TxnID{Time: 7, Rand: 9},
		Ops: []pb.Op{
			{Op: &pb.Op_Get{Get: &pb.GetOp{Key: []byte("a"), ForUpdate: true}}},
			{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("b"), Value: bytes.Repeat([]byte("v"), valueBytes),
				Condition: &pb.PutOp_IfValue{IfValue: []byte("old")}}}},
		},
	}
}

func TestRoundTripInBothSizesOfBuffer(t *testing.T) {
	for name, size := range map[string]int{"below the pooling threshold": 10, "pooled": 100_000} {
		t.Run(name, func(t *testing.T) {
			c := codec.New()
			data, err := c.Marshal(request(size))
			require.NoError(t, err)
			var got pb.ExecuteRequest
			require.NoError(t, c.Unmarshal(data, &got))
			data.Free()
			require.Equal(t, request(size), &got)
		})
	}
}

func TestDecodesWhatArrivesInPieces(t *testing.T) {
	c := codec.New()
	whole, err := request(5000).Marshal()
	require.NoError(t, err)
	var pieces mem.BufferSlice
	for len(whole) > 0 {
		n := min(len(whole), 999)
		pieces = append(pieces, mem.SliceBuffer(whole[:n]))
		whole = whole[n:]
	}
	var got pb.ExecuteRequest
	require.NoError(t, c.Unmarshal(pieces, &got))
	require.Equal(t, request(5000), &got)
}

func TestOtherMessagesGoToTheStockCodec(t *testing.T) {
	c := codec.New()
	data, err := c.Marshal(&grpc_health_v1.HealthCheckRequest{Service: "kv"})
	require.NoError(t, err)
	var got grpc_health_v1.HealthCheckRequest
	require.NoError(t, c.Unmarshal(data, &got))
	require.Equal(t, "kv", got.GetService())
	_, err = c.Marshal("no message at all")
	require.Error(t, err)
}

func TestDecodedMessagesDoNotKeepTheBuffer(t *testing.T) {
	c := codec.New()
	raw, err := request(10).Marshal()
	require.NoError(t, err)
	var got pb.ExecuteRequest
	require.NoError(t, c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, &got))
	for i := range raw {
		raw[i] = 0xFF
	}
	require.Equal(t, request(10), &got)
}

func TestBrokenBytesAreAnErrorThatNamesTheMessage(t *testing.T) {
	err := codec.New().Unmarshal(mem.BufferSlice{mem.SliceBuffer("\x0a\x7fcut")}, &pb.ExecuteRequest{})
	require.ErrorContains(t, err, "ExecuteRequest")
}

// liar is a message whose size is not what it says, or which fails.
type liar struct {
	size, wrote int
	err         error
}

func (l liar) Size() int                                { return l.size }
func (l liar) MarshalToSizedBuffer([]byte) (int, error) { return l.wrote, l.err }
func (liar) Unmarshal([]byte) error                     { return nil }

func TestEncodingFailuresAreErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, size := range []int{8, 100_000} {
		_, err := codec.New().Marshal(liar{size: size, wrote: size - 1})
		require.ErrorContains(t, err, "announced")
		_, err = codec.New().Marshal(liar{size: size, err: boom})
		require.ErrorIs(t, err, boom)
	}
}
