package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

// TestDraining: a server that drains notifies health checks and clients, rejects what
// is new with an error that has a hint, and waits for what is in flight, however
// long that takes.
func TestDraining(t *testing.T) {
	e, st := store(t, server.Options{})
	d, p := transact(t, e), pipeline(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("k", "v"))
	p.send(call(1, put("k", "w")))
	require.Eventually(t, func() bool { return st.Waiting() == 1 }, waitTimeout, time.Millisecond)

	e.server.Drain()
	e.server.Drain() // a second time is the same
	h, err := grpc_health_v1.NewHealthClient(e.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, h.Status)
	notice, err := p.stream.Recv()
	require.NoError(t, err)
	require.True(t, notice.Draining)
	require.Empty(t, notice.Responses)

	p.send(call(2, put("k", "x")))
	refused := p.answer()
	require.EqualValues(t, 2, refused.Handle)
	require.EqualValues(t, codes.Unavailable, refused.Error.Code)
	require.Equal(t, "the node is draining", refused.Error.Message)
	require.Contains(t, refused.Error.Hint, "use another node")
	other := transact(t, e)
	none, err := other.stream.Recv()
	require.Nil(t, none)
	require.ErrorContains(t, err, "the node is draining")
	fresh, err := e.kv.Pipeline(t.Context())
	require.NoError(t, err)
	_, err = fresh.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))

	d.do(put("k", "y"))
	require.IsType(t, &pb.TransactResponse_Committed{}, d.commit().Response)
	require.EqualValues(t, 1, p.answer().Handle)
	require.NoError(t, e.server.GracefulStop(t.Context()))
}

// TestCuttingOff: what is open when the time is up is rolled back, with the reason.
func TestCuttingOff(t *testing.T) {
	e, st := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("k", "v"))
	e.server.Drain()
	require.Equal(t, 1, st.Open())
	e.server.CutOff()
	_, err := d.stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "the node is draining")
	require.Eventually(t, func() bool { return st.Open() == 0 }, waitTimeout, time.Millisecond)
	require.NoError(t, e.server.GracefulStop(t.Context()))
	require.NotContains(t, st.String(), `"v"`)
}

// TestWithoutAnOperator: a node inside another program cannot be stopped from outside.
func TestWithoutAnOperator(t *testing.T) {
	e, _ := store(t, server.Options{})
	_, err := e.admin.LogLevels(t.Context(), &pb.LogLevelsRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	s, err := e.admin.Drain(t.Context(), &pb.DrainRequest{})
	require.NoError(t, err)
	_, err = s.Recv()
	require.ErrorContains(t, err, "embedded in another program")
	g, err := e.admin.Debug(t.Context(), &pb.DebugRequest{})
	require.NoError(t, err)
	_, err = g.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}
