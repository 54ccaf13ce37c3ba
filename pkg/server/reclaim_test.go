package server_test

import (
	"context"
	"testing"

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

func (r *reclaiming) Reclaim(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
	return r.reclaim(ctx, progress)
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
