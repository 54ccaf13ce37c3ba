package detail_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func TestEveryKindComesBackAsItWas(t *testing.T) {
	for _, k := range kv.Kinds()[1:] {
		for _, op := range []int{-1, 0, 7} {
			e := &kv.Error{Kind: k, Text: "what happened", Key: []byte("k"), Op: op, Hint: "do this"}
			d := detail.Of(e)
			require.Equal(t, k.Retryable(), d.Retryable)
			d.Code = uint32(codes.Aborted)
			err := fmt.Errorf("wrapped: %w", detail.Status(d))
			require.Equal(t, e, detail.Error(detail.From(err)))
		}
	}
}

// TestDownNodeIsReported: by an error, and by a status.
func TestDownNodeIsReported(t *testing.T) {
	down := &kv.Down{Node: 3, Address: "10.0.0.3:7070", Shards: []kv.ShardID{2, 5}, Hot: true, Keyspace: 20}
	for _, e := range []*kv.Error{down.Error(), {Kind: kv.KindOutcomeUnknown, Text: "no answer", Op: -1, Down: down}} {
		d := detail.Of(e)
		d.Code = uint32(codes.Unavailable)
		require.Equal(t, e.Kind.Retryable(), d.Retryable)
		require.Equal(t, &pb.NodeDown{NodeId: 3, Address: "10.0.0.3:7070", Shards: []uint32{2, 5}, Hot: true,
			KeyspacePercent: 20}, d.Down)
		require.Equal(t, e, detail.Error(detail.From(detail.Status(d))))
	}
	st := &pb.StatusResponse{HotShard: 5, Members: []pb.Member{
		{NodeId: 1, Self: true, Shards: []uint32{0, 3}, KeyspacePercent: 40},
		{NodeId: 2, Up: true, Shards: []uint32{1, 4}, KeyspacePercent: 40},
		{NodeId: 3, Address: "10.0.0.3:7070", Shards: []uint32{2, 5}, KeyspacePercent: 20},
		{NodeId: 4}, // of an older node, which does not report it
	}}
	require.Equal(t, []kv.Down{*down}, detail.Down(st))
}

// TestRetryDelayIsReported: to clients that know the detail, and to those that know only
// gRPC's own.
func TestRetryDelayIsReported(t *testing.T) {
	d := detail.Of(&kv.Error{Kind: kv.KindResourceExhausted, Text: "too much", Op: -1,
		RetryAfter: 1500*time.Millisecond + 1})
	require.Equal(t, uint32(1501), d.RetryAfterMs, "rounded up")
	d.Code = uint32(codes.ResourceExhausted)
	err := detail.Status(d)
	require.Equal(t, 1501*time.Millisecond, detail.Error(detail.From(err)).RetryAfter)
	all := status.Convert(err).Proto().Details
	require.Len(t, all, 2)
	require.Equal(t, "type.googleapis.com/google.rpc.RetryInfo", all[1].TypeUrl)
	// The first field is a message: 1.501 s as a google.protobuf.Duration.
	field, kind, n := protowire.ConsumeTag(all[1].Value)
	require.Equal(t, protowire.Number(1), field)
	require.Equal(t, protowire.BytesType, kind)
	value, _ := protowire.ConsumeBytes(all[1].Value[n:])
	var delay durationpb.Duration
	require.NoError(t, proto.Unmarshal(value, &delay))
	require.Equal(t, 1501*time.Millisecond, delay.AsDuration())
	d.RetryAfterMs = 0
	require.Len(t, status.Convert(detail.Status(d)).Proto().Details, 1)
}

func TestTheStatusReadsWell(t *testing.T) {
	d := detail.Of(&kv.Error{Kind: kv.KindConditionFailed, Text: "the key exists", Key: []byte("acct/1"), Op: 2,
		Hint: "read it first"})
	d.Code = uint32(codes.FailedPrecondition)
	s := status.Convert(detail.Status(d))
	require.Equal(t, codes.FailedPrecondition, s.Code())
	require.Equal(t, `ConditionFailed: operation 3: the key exists (key "acct/1"); read it first`, s.Message())
}

func TestAStatusStaysSmallEnoughForHeaders(t *testing.T) {
	big := strings.Repeat("x", kv.MaxKeyBytes)
	d := detail.Of(&kv.Error{Kind: kv.KindConditionFailed, Text: strings.Repeat("t", 3000), Key: []byte(big), Op: -1})
	d.Code, d.Message = uint32(codes.FailedPrecondition), strings.Repeat("t", 3000)
	d.Current = &pb.Result{Found: true, Value: make([]byte, kv.MaxValueBytes), Version: kv.Version{Write: 9}}
	err := detail.Status(d)
	require.Less(t, len(status.Convert(err).Message()), 1100)
	got := detail.From(err)
	require.Empty(t, got.Current.Value)
	require.True(t, got.Current.Found)
	require.Equal(t, kv.Version{Write: 9}, got.Current.Version)
	require.Equal(t, []byte(big), got.Key)
	require.Len(t, d.Current.Value, kv.MaxValueBytes, "the caller's detail is not changed")
}

func TestErrorsOfOthersHaveNoDetail(t *testing.T) {
	for _, err := range []error{nil, io.EOF, status.Error(codes.Unavailable, "connection refused"), errors.New("x")} {
		require.Nil(t, detail.From(err))
	}
}

func TestAKindOfANewerServerIsInternal(t *testing.T) {
	e := detail.Error(&pb.ErrorDetail{Kind: "Melted", Message: "too warm"})
	require.Equal(t, kv.KindInternal, e.Kind)
	require.Contains(t, e.Text, "Melted")
	require.Equal(t, kv.KindInternal, detail.Error(&pb.ErrorDetail{Kind: "OK"}).Kind)
}

func FuzzFrom(f *testing.F) {
	d := detail.Of(&kv.Error{Kind: kv.KindAborted, Text: "t", Op: 1})
	raw, err := d.Marshal()
	require.NoError(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d pb.ErrorDetail
		if d.Unmarshal(raw) != nil {
			return
		}
		if d.Code == 0 {
			d.Code = uint32(codes.Internal)
		}
		got := detail.From(detail.Status(&d))
		require.NotNil(t, got)
		require.Equal(t, d.Kind, got.Kind)
		require.NotEqual(t, kv.KindOK, detail.Error(got).Kind)
	})
}
