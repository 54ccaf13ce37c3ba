package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// pages reads a whole scan.
func pages(ctx context.Context, e *edge, in *pb.ScanRequest) (all [][]string, err error) {
	stream, err := e.kv.Scan(ctx, in)
	for err == nil {
		var page *pb.ScanResponse
		page, err = stream.Recv()
		if err == nil {
			all = append(all, keys(page.Entries))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

func TestScanPages(t *testing.T) {
	e, _ := store(t, server.Options{})
	var ops []pb.Op
	var all []string
	for i := range 25 {
		all = append(all, fmt.Sprintf("k%02d", i))
		ops = append(ops, put(all[i], "v"))
	}
	e.must(t, ops...)
	for name, c := range map[string]struct {
		in   pb.ScanRequest
		want [][]string
	}{
		"everything in one page":       {pb.ScanRequest{}, [][]string{all}},
		"pages of another size":        {pb.ScanRequest{PageSize: 10}, [][]string{all[:10], all[10:20], all[20:]}},
		"pages that come out even":     {pb.ScanRequest{PageSize: 5, Limit: 10}, [][]string{all[:5], all[5:10]}},
		"a range":                      {pb.ScanRequest{Start: []byte("k03"), End: []byte("k06")}, [][]string{all[3:6]}},
		"nothing, but where that was":  {pb.ScanRequest{Start: []byte("x")}, [][]string{nil}},
		"more than there could be":     {pb.ScanRequest{Limit: 1 << 63}, [][]string{all}},
		"a limit less than a page has": {pb.ScanRequest{Limit: 3}, [][]string{all[:3]}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pages(t.Context(), e, &c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// TestPagesAreBoundedInBytesToo: the first ones have little, and those of a client that takes them fast grow up
// to 1 MiB.
func TestPagesAreBoundedInBytesToo(t *testing.T) {
	e, _ := store(t, server.Options{})
	const count, size = 60, 100_000
	for i := range count {
		e.must(t, put(fmt.Sprintf("%02d", i), string(make([]byte, size))))
	}
	got, err := pages(t.Context(), e, &pb.ScanRequest{})
	require.NoError(t, err)
	require.Len(t, got[0], 1)
	var all []string
	most := 0
	for _, page := range got {
		all = append(all, page...)
		most = max(most, len(page))
	}
	require.Equal(t, 11, most, "one pair passes the bound")
	require.Len(t, all, count)
	require.IsIncreasing(t, all)
}

func TestBadScansAreRefused(t *testing.T) {
	e, _ := store(t, server.Options{})
	for name, in := range map[string]*pb.ScanRequest{
		"an empty range":       {Start: []byte("b"), End: []byte("a")},
		"too large a page":     {PageSize: kv.MaxScanLimit + 1},
		"a bound of 5000 byte": {Start: make([]byte, 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pages(t.Context(), e, in)
			require.Equal(t, codes.InvalidArgument, status.Code(err))
			require.NotEmpty(t, detail.From(err).Hint)
		})
	}
}

func TestAScanEndsWithItsCaller(t *testing.T) {
	e, st := store(t, server.Options{})
	holder, err := st.Begin(t.Context(), gateway.TxOptions{ID: kv.TxnID{Time: 1}, Attempt: 1})
	require.NoError(t, err)
	defer holder.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = pages(ctx, e, &pb.ScanRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.Eventually(t, func() bool { return st.Waiting() == 0 }, waitTimeout, time.Millisecond)
}

// breaking scans a little and then fails.
type breaking struct{ *servertest.Store }

func (breaking) Scan(_ context.Context, _ gateway.ScanOptions, page func([]msg.Pair) error) error {
	if err := page([]msg.Pair{{Key: []byte("k")}}); err != nil {
		return err
	}
	return fmt.Errorf("while scanning: %w", &kv.Error{Kind: kv.KindUnavailable, Text: "shard s2 is gone", Op: -1})
}

func TestAScanThatFailsHalfWaySaysWhy(t *testing.T) {
	e := serve(t, breaking{servertest.New()}, server.Options{})
	got, err := pages(t.Context(), e, &pb.ScanRequest{PageSize: 1})
	require.Equal(t, [][]string{{"k"}}, got)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.True(t, detail.From(err).Retryable)
}

// scanned is a backend that reports how scans end.
type scanned struct {
	server.Backend
	ended chan error
}

func (s *scanned) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	err := s.Backend.Scan(ctx, o, page)
	s.ended <- err
	return err
}

// TestUnreadScanEnds: the node does not read ahead of a client that
// has stopped, and ends the scan with a reason; what was sent arrives.
func TestUnreadScanEnds(t *testing.T) {
	b := &scanned{Backend: servertest.New(), ended: make(chan error, 1)}
	e := serve(t, b, server.Options{SlowReader: 300 * time.Millisecond})
	value := strings.Repeat("v", 64<<10)
	for i := range 100 {
		e.must(t, put(fmt.Sprintf("k%03d", i), value))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err := e.kv.Scan(ctx, &pb.ScanRequest{PageSize: 1})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	select {
	case err := <-b.ended:
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
	case <-ctx.Done():
		t.Fatal("the scan goes on")
	}
	read := 1
	for err == nil {
		_, err = stream.Recv()
		if err == nil {
			read++
		}
	}
	require.Less(t, read, 100)
	got := detail.From(err)
	require.NotNil(t, got, "%v", err)
	require.Equal(t, kv.KindResourceExhausted.String(), got.Kind)
	require.Contains(t, got.Message, "the client reads the scan too slowly")
	require.EqualValues(t, 1, e.server.UnreadScans())
}

// TestASlowReaderGetsItsScan: a client that needs longer for a page of the usual size than it may take gets
// smaller ones.
func TestASlowReaderGetsItsScan(t *testing.T) {
	e := serve(t, servertest.New(), server.Options{SlowReader: 900 * time.Millisecond})
	value := strings.Repeat("v", 8<<10)
	for i := range 300 {
		e.must(t, put(fmt.Sprintf("k%03d", i), value))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	stream, err := e.kv.Scan(ctx, &pb.ScanRequest{})
	require.NoError(t, err)
	read := 0
	for {
		page, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "after %d pairs", read)
		read += len(page.Entries)
		time.Sleep(time.Duration(len(page.Entries)) * 8 * time.Millisecond) // 1 s for a page of 1 MiB
	}
	require.Equal(t, 300, read)
	require.Zero(t, e.server.UnreadScans())
}

// rest is any response.
type rest struct{ pb.StatusResponse }

func (*rest) Unmarshal([]byte) error { return nil }

func TestHealthFollowsReadiness(t *testing.T) {
	e := serve(t, nil, server.Options{})
	health := grpc_health_v1.NewHealthClient(e.conn)
	is := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for _, service := range []string{"", "linchpin.v1.KV", "linchpin.v1.Admin"} {
			r, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
			require.NoError(t, err)
			require.Equal(t, want, r.Status)
		}
	}
	is(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	for _, desc := range []grpc.ServiceDesc{pb.KV_ServiceDesc, pb.Admin_ServiceDesc} {
		for _, m := range desc.Methods {
			err := e.conn.Invoke(t.Context(), "/"+desc.ServiceName+"/"+m.MethodName, &pb.StatusRequest{}, &rest{})
			require.NotEqual(t, codes.Internal, status.Code(err), "%s: %v", m.MethodName, err)
		}
	}
	_, err := e.execute(t, put("k", "v"))
	require.Equal(t, server.NotReady().Text, detail.From(err).Message)
	scan, err := e.kv.Scan(t.Context(), &pb.ScanRequest{})
	require.NoError(t, err)
	_, err = scan.Recv()
	require.Equal(t, server.NotReady().Text, detail.From(err).Message)
	calls, err := e.kv.Pipeline(t.Context())
	require.NoError(t, err)
	require.NoError(t, calls.Send(&pb.PipelineRequest{Calls: []pb.Call{{Handle: 1,
		Request: pb.ExecuteRequest{Ops: []pb.Op{put("k", "v")}}}}}))
	welcome, err := calls.Recv()
	require.NoError(t, err)
	require.NotNil(t, welcome.Welcome)
	r, err := calls.Recv()
	require.NoError(t, err)
	require.Equal(t, server.NotReady().Text, r.Responses[0].Error.Message)
	e.server.SetBackend(servertest.New())
	e.must(t, put("k", "v"))
	is(grpc_health_v1.HealthCheckResponse_SERVING)
}

func TestTheLargestTransactionFitsAndALargerMessageIsRefused(t *testing.T) {
	e, _ := store(t, server.Options{})
	var ops []pb.Op
	for i := range 16 {
		ops = append(ops, put(fmt.Sprint(i%10), string(make([]byte, kv.MaxValueBytes-1))))
	}
	e.must(t, ops...)
	_, err := e.execute(t, append(ops, ops...)...)
	require.Equal(t, codes.InvalidArgument, status.Code(err), "it is not to be sent again")
	_, err = e.execute(t, append(ops, put("k", string(make([]byte, 500))))...)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestUnknownMethodsAreNamed(t *testing.T) {
	e, _ := store(t, server.Options{})
	err := e.conn.Invoke(t.Context(), "/linchpin.v1.KV/Explode", &pb.StatusRequest{}, &pb.StatusResponse{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Contains(t, err.Error(), "Explode")
}

// A request that does not decode is the caller's fault and not the server's.
func TestRequestsThatCannotBeReadAreInvalid(t *testing.T) {
	e, _ := store(t, server.Options{})
	for name, c := range map[string]struct{ method, bytes, text string }{
		"an id of three bytes":  {pb.KV_Outcome_FullMethodName, "\x0a\x03abc", "transaction id of 3 bytes, want 16"},
		"a cut message":         {pb.KV_Execute_FullMethodName, "\x0a\x7f", "unexpected EOF"},
		"a cut scan":            {pb.KV_Scan_FullMethodName, "\x0a\x7f", "unexpected EOF"},
		"a begin with a bad id": {pb.KV_Transact_FullMethodName, "\x0a\x03\x0a\x01x", "transaction id of 1 bytes, want 16"},
		"a cut pipeline":        {pb.KV_Pipeline_FullMethodName, "\x0a\x7fno message", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := e.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, c.method,
				grpc.ForceCodecV2(rawCodec{}))
			require.NoError(t, err)
			require.NoError(t, stream.SendMsg([]byte(c.bytes)))
			require.NoError(t, stream.CloseSend())
			for out := []byte(nil); err == nil; {
				err = stream.RecvMsg(&out)
			}
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
			require.Contains(t, detail.From(err).Message, c.text)
		})
	}
}

func TestBadOptionsAreAllReported(t *testing.T) {
	_, err := server.New(servertest.New(), server.Options{MaxInFlight: -1, MaxStreams: -2})
	require.ErrorContains(t, err, "MaxInFlight is -1")
	require.ErrorContains(t, err, "MaxStreams is -2")
}
