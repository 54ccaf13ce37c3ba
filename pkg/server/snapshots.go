package server

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// CreateSnapshot keeps the state of the store under a name.
func (s *service) CreateSnapshot(ctx context.Context, in *pb.CreateSnapshotRequest) (*pb.Snapshot, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), kv.TxnID{})
	}
	if err := snapshot.CheckName(in.Name); err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	d, kerr := ttl(in.TtlMs)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	p, err := s.backend().CreateSnapshot(ctx, in.Name, d)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	return s.snapshot(p), nil
}

// ListSnapshots lists those that have a name.
func (s *service) ListSnapshots(ctx context.Context, _ *pb.ListSnapshotsRequest) (*pb.ListSnapshotsResponse, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), kv.TxnID{})
	}
	ps, err := s.backend().Snapshots(ctx)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	out := &pb.ListSnapshotsResponse{Snapshots: make([]pb.Snapshot, 0, len(ps))}
	for i := range ps {
		out.Snapshots = append(out.Snapshots, *s.snapshot(&ps[i]))
	}
	fitSnapshots(out)
	return out, nil
}

// DropSnapshot gives one up.
func (s *service) DropSnapshot(ctx context.Context, in *pb.DropSnapshotRequest) (*pb.Snapshot, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), kv.TxnID{})
	}
	at, kerr := s.snapshotNamed(in.Snapshot)
	if kerr != nil {
		return nil, statusOf(kerr, kv.TxnID{})
	}
	p, err := s.backend().DropSnapshot(ctx, at)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	return s.snapshot(p), nil
}
