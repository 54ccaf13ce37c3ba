package server

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/guard"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Status returns the node's view of the cluster.
func (s *service) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	out := s.backend().Status()
	out.ReclaimableBytes = s.backend().Reclaimable()
	if s.opts.RefusedAddresses != nil && guard.CallerOf(ctx).May(guard.NeedMonitor,
		"the list of refused addresses") == nil {
		for _, a := range s.opts.RefusedAddresses() {
			out.RefusedAddresses = append(out.RefusedAddresses,
				pb.RefusedAddress{Address: a.Address, Failures: uint32(a.Failures),
					RemainingMs: uint64(a.Remaining.Milliseconds()), Slowed: a.Slowed})
		}
	}
	return out, nil
}

// Shards lists the shards of the cluster.
func (s *service) Shards(context.Context, *pb.ShardsRequest) (*pb.ShardsResponse, error) {
	return &pb.ShardsResponse{Shards: s.backend().Shards()}, nil
}
