package server_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// client is a Pipeline stream whose welcome was read.
type client struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[pb.PipelineRequest, pb.PipelineResponse]
	// welcome is the first message's.
	welcome *pb.Welcome
	pending []pb.CallResponse
}

func pipeline(t testing.TB, e *edge) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	stream, err := e.kv.Pipeline(ctx)
	require.NoError(t, err)
	first, err := stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, first.Welcome)
	return &client{t: t, stream: stream, welcome: first.Welcome}
}

func (c *client) send(calls ...pb.Call) {
	c.t.Helper()
	require.NoError(c.t, c.stream.Send(&pb.PipelineRequest{Calls: calls}))
}

// answer gives the next answer.
func (c *client) answer() pb.CallResponse {
	c.t.Helper()
	for len(c.pending) == 0 {
		m, err := c.stream.Recv()
		require.NoError(c.t, err)
		require.Nil(c.t, m.Welcome)
		c.pending = m.Responses
	}
	a := c.pending[0]
	c.pending = c.pending[1:]
	return a
}

func call(number uint64, ops ...pb.Op) pb.Call {
	return pb.Call{Handle: number, Request: pb.ExecuteRequest{Ops: ops}}
}

func TestPipelineWelcomes(t *testing.T) {
	e, _ := store(t, server.Options{MaxInFlight: 17})
	w := pipeline(t, e).welcome
	require.Equal(t, "servertest", w.ClusterId)
	require.Equal(t, uint32(1), w.NodeId)
	require.Equal(t, uint32(17), w.MaxInFlight)
	require.EqualValues(t, pb.Revision, w.Revision)
	require.WithinDuration(t, time.Now(), time.Unix(0, w.ServerTimeNs), waitTimeout)
}

func TestPipelineAnswersEveryCall(t *testing.T) {
	e, _ := store(t, server.Options{})
	p := pipeline(t, e)
	const messages, per = 50, 40
	go func() {
		for m := range messages {
			var in pb.PipelineRequest
			for i := range per {
				n := uint64(m*per + i)
				in.Calls = append(in.Calls, call(n, add("sum", 1, true), put(fmt.Sprint(n), fmt.Sprint("v", n)),
					get(fmt.Sprint(n))))
			}
			if p.stream.Send(&in) != nil {
				return
			}
		}
	}()
	seen, sums := map[uint64]bool{}, map[int64]bool{}
	for range messages * per {
		a := p.answer()
		require.Nil(t, a.Error)
		require.False(t, seen[a.Handle])
		seen[a.Handle] = true
		sums[a.Response.Results[0].Number] = true
		require.Equal(t, fmt.Sprint("v", a.Handle), string(a.Response.Results[2].Value))
		require.False(t, a.Response.TxnId.IsZero())
	}
	require.Len(t, sums, messages*per)
	require.NoError(t, p.stream.CloseSend())
	_, err := p.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestPipelineAnswersOutOfOrderAndFinishesAfterTheClientHasClosed(t *testing.T) {
	b := &pending{Store: servertest.New()}
	p := pipeline(t, serve(t, b, server.Options{}))
	p.send(call(1, get("a")), call(2, get("a")))
	p.send(call(3, get("a")))
	require.NoError(t, p.stream.CloseSend())
	require.Eventually(t, func() bool { return b.waiting() == 3 }, waitTimeout, time.Millisecond)
	b.release()
	require.Equal(t, []uint64{3, 2, 1}, []uint64{p.answer().Handle, p.answer().Handle, p.answer().Handle})
	_, err := p.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestPipelineCarriesErrorsPerCall(t *testing.T) {
	e, _ := store(t, server.Options{})
	e.must(t, put("k", "v"))
	p := pipeline(t, e)
	id := kv.TxnID{Time: 5, Rand: 6}
	p.send(call(1, get("")), pb.Call{Handle: 2, Request: pb.ExecuteRequest{TxnId: id, Ops: []pb.Op{putAbsent("k", "w")}}},
		call(3), call(4, pb.Op{}), call(5, get("k")))
	got := map[uint64]pb.CallResponse{}
	for range 5 {
		a := p.answer()
		got[a.Handle] = a
	}
	require.Equal(t, "Invalid", got[1].Error.Kind)
	require.Equal(t, uint32(1), got[1].Error.Op)
	require.Equal(t, uint32(codes.InvalidArgument), got[1].Error.Code)
	require.Equal(t, "ConditionFailed", got[2].Error.Kind)
	require.Equal(t, "v", string(got[2].Error.Current.Value))
	require.Equal(t, id, got[2].Error.TxnId)
	require.Equal(t, id, got[2].Response.TxnId)
	require.Contains(t, got[3].Error.Message, "no operations")
	require.Contains(t, got[4].Error.Message, "kind of operation")
	require.Nil(t, got[5].Error)
	require.Equal(t, "v", string(got[5].Response.Results[0].Value))
}

func TestPipelineBoundsWhatIsInFlight(t *testing.T) {
	b := &pending{Store: servertest.New()}
	p := pipeline(t, serve(t, b, server.Options{MaxInFlight: 3}))
	p.send(call(1, get("a")), call(2, get("a")), call(3, get("a")), call(4, get("a")))
	a := p.answer()
	require.Equal(t, uint64(4), a.Handle)
	require.Equal(t, "ResourceExhausted", a.Error.Kind)
	require.True(t, a.Error.Retryable)
	for round := range 20 { // a place is free as soon as its answer is read
		b.release()
		for range 3 {
			require.Nil(t, p.answer().Error, "round %d", round)
		}
		p.send(call(1, get("a")), call(2, get("a")), call(3, get("a")))
		require.Eventually(t, func() bool { return b.waiting() == 3 }, waitTimeout, time.Millisecond)
	}
}

// A client that sends and does not read must stop the reader, and not fill the
// server's memory. When it reads, nothing is missing.
func TestPipelineStopsReadingFromAClientThatDoesNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		backend server.Backend
		calls   int
	}{
		"many small answers": {servertest.New(), 8000},
		"few large answers":  {large{Store: servertest.New(), bytes: 200_000}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			b := &submitted{Backend: c.backend}
			p := pipeline(t, serve(t, b, server.Options{MaxInFlight: 64, MaxUnreadBytes: 1 << 20}))
			sent := make(chan error, 1)
			go func() {
				key := strings.Repeat("k", 4000)
				for i := range c.calls {
					if err := p.stream.Send(&pb.PipelineRequest{Calls: []pb.Call{call(uint64(i), get(key))}}); err != nil {
						sent <- err
						return
					}
				}
				sent <- p.stream.CloseSend()
			}()
			last, since := int64(-1), time.Now()
			require.Eventually(t, func() bool {
				if n := b.count.Load(); n != last {
					last, since = n, time.Now()
				}
				return time.Since(since) > 200*time.Millisecond
			}, waitTimeout, 5*time.Millisecond)
			require.Less(t, last, int64(c.calls), "the server has read everything although nobody took the answers")
			for range c.calls {
				p.answer()
			}
			require.NoError(t, <-sent)
		})
	}
}

func TestPipelineReportsTooLargeResults(t *testing.T) {
	e := serve(t, large{Store: servertest.New(), bytes: kv.MaxValueBytes}, server.Options{})
	p := pipeline(t, e)
	many := make([]pb.Op, 20)
	for i := range many {
		many[i] = get("k")
	}
	calls := []pb.Call{call(1, many...), call(2, append(many, put("k", "v"))...), call(3, many[:15]...)}
	for i := range calls {
		calls[i].Request.MaxResponseBytes = pb.MaxMessageBytes
	}
	p.send(calls...)
	got := map[uint64]pb.CallResponse{}
	for range 3 {
		a := p.answer()
		got[a.Handle] = a
	}
	require.Equal(t, "Invalid", got[1].Error.Kind)
	require.Contains(t, got[1].Error.Hint, "Scan")
	require.Nil(t, got[2].Error, "it has committed")
	require.True(t, got[2].Response.ResultsLost)
	require.Empty(t, got[2].Response.Results)
	require.Len(t, got[3].Response.Results, 15)
}

func TestAPanicEndsTheStreamAndNotTheProcess(t *testing.T) {
	e := serve(t, panicking{servertest.New()}, server.Options{Log: quiet})
	p := pipeline(t, e)
	p.send(call(1, get("k")))
	_, err := p.stream.Recv()
	require.Equal(t, codes.Internal, status.Code(err))
	require.Equal(t, "Internal", detail.From(err).Kind)
	_, err = e.execute(t, get("k"))
	require.Equal(t, codes.Internal, status.Code(err))
	_, err = e.admin.Status(t.Context(), &pb.StatusRequest{})
	require.NoError(t, err)
}

func TestAVanishedClientLeavesNothingBehind(t *testing.T) {
	b := &pending{Store: servertest.New()}
	e := serve(t, b, server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := e.kv.Pipeline(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.PipelineRequest{Calls: []pb.Call{call(1, put("k", "v"))}}))
	require.Eventually(t, func() bool { return b.waiting() == 1 }, waitTimeout, time.Millisecond)
	cancel()
	_, err = stream.Recv()
	for err == nil {
		_, err = stream.Recv()
	}
	b.release() // the answer is dropped; the transaction has happened
	require.Contains(t, b.Store.String(), `"k"`)
}
