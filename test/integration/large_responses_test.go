package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// largeResponses is a cluster with values of 1 MiB, and a gRPC client with the default receive limit of 4
// MiB.
type largeResponses struct {
	*embed.Cluster
	t *testing.T
	// oneShard are keys of one shard. spread are keys of several shards, at most two of each.
	oneShard, spread [][]byte
	db               *client.DB
	kvClient         pb.KVClient
}

const largeKeys = 6

func startLargeResponses(t *testing.T) *largeResponses {
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Listen: true, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	x := &largeResponses{Cluster: c, t: t}
	x.db, err = client.Open(proc.Context(t), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.db.Close()) })
	conn, err := grpc.NewClient(c.Addrs()[0], grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	x.kvClient = pb.NewKVClient(conn)
	on := map[kv.ShardID]int{}
	first := c.Router().Shard([]byte("key-0"))
	for i := 0; len(x.oneShard) < largeKeys || len(x.spread) < largeKeys; i++ {
		key := fmt.Appendf(nil, "key-%d", i)
		s := c.Router().Shard(key)
		if s == first && len(x.oneShard) < largeKeys {
			x.oneShard = append(x.oneShard, key)
			x.put(key, kv.MaxValueBytes)
		} else if s != first && on[s] < 2 && len(x.spread) < largeKeys {
			on[s]++
			x.spread = append(x.spread, key)
			x.put(key, kv.MaxValueBytes)
		}
	}
	return x
}

func (x *largeResponses) put(key []byte, bytes int) {
	x.t.Helper()
	require.NoError(x.t, x.db.Put(proc.Context(x.t), string(key), make([]byte, bytes)))
}

// keyOnSameShard returns another key of the shard of key.
func (x *largeResponses) keyOnSameShard(key []byte) []byte {
	for i := 0; ; i++ {
		other := fmt.Appendf(nil, "beside-%d", i)
		if x.Router().Shard(other) == x.Router().Shard(key) {
			return other
		}
	}
}

// request reads keys, and writes marker unless it is nil.
func request(marker []byte, keys ...[]byte) *pb.ExecuteRequest {
	in := &pb.ExecuteRequest{}
	if marker != nil {
		in.Ops = append(in.Ops, pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: marker, Value: []byte("applied")}}})
	}
	for _, k := range keys {
		in.Ops = append(in.Ops, pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: k}}})
	}
	return in
}

// requireTooLarge requires that a response was too large, that the error is not retryable, and that marker
// was not written.
func (x *largeResponses) requireTooLarge(d *pb.ErrorDetail, marker []byte, msg string) {
	x.t.Helper()
	require.NotNil(x.t, d, msg)
	require.Equal(x.t, codes.InvalidArgument, codes.Code(d.Code), "%s: %s", msg, d.Message)
	require.False(x.t, d.Retryable, msg)
	require.LessOrEqual(x.t, d.Attempts, uint32(1), msg)
	require.Contains(x.t, d.Message, "max_response_bytes", msg)
	require.Contains(x.t, d.Hint, "nothing was applied", msg)
	_, found, err := x.db.Get(proc.Context(x.t), string(marker))
	require.NoError(x.t, err, msg)
	require.False(x.t, found, "%s: applied", msg)
}

// TestTooLargeResponsesApplyNothing: if the response exceeds the limit of the client, 4 MiB by default, the
// transaction fails and nothing is applied.
func TestTooLargeResponsesApplyNothing(t *testing.T) {
	t.Parallel()
	x := startLargeResponses(t)
	marker := []byte("marker")
	for name, keys := range map[string][][]byte{"one shard": x.oneShard[:5], "several shards": x.spread[:5]} {
		for _, more := range []struct {
			name   string
			marker []byte
		}{{"with a write on another shard", marker}, {"with a write on the same shard", x.keyOnSameShard(keys[0])},
			{"read-only", nil}} {
			msg := name + ", " + more.name
			_, err := x.kvClient.Execute(proc.Context(t), request(more.marker, keys...))
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", msg, err)
			if more.marker != nil {
				x.requireTooLarge(detail.From(err), more.marker, msg)
			}
		}
		t.Run(name+" on a Pipeline",
			func(t *testing.T) { x.requireTooLarge(x.pipelined(request(marker, keys...))[0].Error, marker, name) })
		t.Run(name+" in steps",
			func(t *testing.T) { x.requireTooLarge(x.committed(marker, keys...).GetFailed(), marker, name) })
	}
	ops := []client.Op{client.PutOp(string(marker), []byte("v"))}
	for _, key := range x.spread[:4] {
		ops = append(ops, client.GetOp(string(key)))
	}
	last := client.GetOp(string(x.spread[4]))
	require.NoError(t, x.db.Execute(proc.Context(t), append(ops, last)...), "the Go client receives more")
	require.Len(t, last.Value(), kv.MaxValueBytes)
	_, most := getsOf(slices.Repeat([]string{string(x.spread[0])}, 18)...)
	err := x.db.Execute(proc.Context(t), append(most, client.PutOp("unwritten", nil))...)
	require.ErrorIs(t, err, client.ErrInvalid, "18 MiB exceed the limit of any response")
	_, found, err := x.db.Get(proc.Context(t), "unwritten")
	require.NoError(t, err)
	require.False(t, found)
	in := request(marker, x.spread[:5]...)
	in.MaxResponseBytes = 6 << 20
	_, err = x.kvClient.Execute(proc.Context(t), in, grpc.MaxCallRecvMsgSize(6<<20))
	require.NoError(t, err)
	in.MaxResponseBytes = 1000
	_, err = x.kvClient.Execute(proc.Context(t), in)
	require.ErrorContains(t, err, "max_response_bytes is 1000")
}

// TestLargestResponsesAreReceived: a response up to the limit is received; beyond it the transaction fails.
func TestLargestResponsesAreReceived(t *testing.T) {
	t.Parallel()
	x := startLargeResponses(t)
	for name, keys := range map[string][][]byte{"one shard": x.oneShard[:4], "several shards": x.spread[:4]} {
		fits, fails := kv.MaxValueBytes-kv.ResponseHeadroom-4096, kv.MaxValueBytes
		for fits+1 < fails {
			middle := (fits + fails) / 2
			x.put(keys[3], middle)
			for _, marker := range [][]byte{[]byte("written"), nil} {
				out, err := x.kvClient.Execute(proc.Context(t), request(marker, keys...))
				switch status.Code(err) {
				case codes.OK:
					fits = middle
					require.False(t, out.ResultsLost)
					require.Len(t, out.Results[len(out.Results)-1].Value, middle)
				default:
					require.Equal(t, codes.InvalidArgument, status.Code(err), "%s with %d bytes: %v", name, middle, err)
				}
			}
			if fits != middle {
				fails = middle
			}
		}
		require.Greater(t, fits, kv.MaxValueBytes-kv.ResponseHeadroom-4096, name)
	}
}

// TestManyResponsesAreSplitIntoMessages: responses on a Pipeline that are ready together are sent in
// messages of less than 4 MiB.
func TestManyResponsesAreSplitIntoMessages(t *testing.T) {
	t.Parallel()
	x := startLargeResponses(t)
	absent := request(nil, x.oneShard[0])
	absent.Ops = append(absent.Ops, pb.Op{Op: &pb.Op_Require{Require: &pb.RequireOp{Key: x.spread[0],
		Condition: &pb.RequireOp_Absent{Absent: true}}}})
	for name, in := range map[string]*pb.ExecuteRequest{"values": request(nil, x.oneShard[0]),
		"failed conditions": absent} {
		var all []*pb.ExecuteRequest
		for range 12 {
			all = append(all, in)
		}
		for _, a := range x.pipelined(all...) {
			require.Equal(t, name == "values", a.Error == nil, "%s: %v", name, a.Error)
		}
	}
}

// pipelined sends requests on a Pipeline and returns the responses.
func (x *largeResponses) pipelined(in ...*pb.ExecuteRequest) []pb.CallResponse {
	x.t.Helper()
	stream, err := x.kvClient.Pipeline(proc.Context(x.t))
	require.NoError(x.t, err)
	_, err = stream.Recv()
	require.NoError(x.t, err)
	out := &pb.PipelineRequest{}
	for i := range in {
		out.Calls = append(out.Calls, pb.Call{Handle: uint64(i), Request: *in[i]})
	}
	require.NoError(x.t, stream.Send(out))
	require.NoError(x.t, stream.CloseSend())
	var got []pb.CallResponse
	for len(got) < len(in) {
		m, err := stream.Recv()
		require.NoError(x.t, err)
		got = append(got, m.Responses...)
	}
	return got
}

// committed writes marker in an interactive transaction, and reads keys in its commit.
func (x *largeResponses) committed(marker []byte, keys ...[]byte) *pb.TransactResponse {
	x.t.Helper()
	stream, err := x.kvClient.Transact(proc.Context(x.t))
	require.NoError(x.t, err)
	defer func() { require.NoError(x.t, stream.CloseSend()) }()
	step := func(s *pb.TransactRequest) *pb.TransactResponse {
		require.NoError(x.t, stream.Send(s))
		out, err := stream.Recv()
		require.NoError(x.t, err)
		return out
	}
	first := &pb.ExecuteStep{Ops: request(marker).Ops}
	begun := step(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{First: first}}})
	require.NotNil(x.t, begun.GetBegun())
	last := &pb.ExecuteStep{Ops: request(nil, keys...).Ops}
	return step(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.CommitStep{Last: last}}})
}
