package server_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// reclaiming is a store whose reclaims a test plays.
type reclaiming struct {
	*servertest.Store
	reclaim func(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error)
}

func (r *reclaiming) Reclaimable() uint64 { return 77 }

func (r *reclaiming) Reclaim(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
	return r.reclaim(ctx, progress)
}

// TestReclaim: progress comes as messages, the last of which has the result.
func TestReclaim(t *testing.T) {
	b := &reclaiming{Store: servertest.New()}
	e := serve(t, b, server.Options{})
	st, err := e.admin.Status(t.Context(), &pb.StatusRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 77, st.ReclaimableBytes)
	b.reclaim = func(_ context.Context, progress func(done, total int)) (server.Reclaimed, error) {
		progress(1, 2)
		return server.Reclaimed{Before: 30 << 20, After: 10 << 20, History: time.Minute}, nil
	}
	s, err := e.admin.Reclaim(t.Context(), &pb.ReclaimRequest{})
	require.NoError(t, err)
	p, err := s.Recv()
	require.NoError(t, err)
	require.False(t, p.Finished)
	require.EqualValues(t, 1, p.Done)
	p, err = s.Recv()
	require.NoError(t, err)
	p.ElapsedMs = 0
	require.Equal(t, &pb.ReclaimProgress{Done: 1, Total: 2, Finished: true, BeforeBytes: 30 << 20, AfterBytes: 10 << 20},
		p)
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// TestADrainStopsAReclaim: it would keep the node from ending.
func TestADrainStopsAReclaim(t *testing.T) {
	b := &reclaiming{Store: servertest.New()}
	e := serve(t, b, server.Options{})
	b.reclaim = func(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
		progress(0, 1)
		<-ctx.Done()
		return server.Reclaimed{}, ctx.Err()
	}
	s, err := e.admin.Reclaim(t.Context(), &pb.ReclaimRequest{})
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err)
	e.server.Drain()
	_, err = s.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "the node is draining")
}

// TestReclaimInMemory: there is nothing on a disk.
func TestReclaimInMemory(t *testing.T) {
	e, _ := store(t, server.Options{})
	s, err := e.admin.Reclaim(t.Context(), &pb.ReclaimRequest{})
	require.NoError(t, err)
	_, err = s.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "the store is in memory")
}
