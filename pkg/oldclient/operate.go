package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Drain has the connected node stop cleanly and returns when it is about to end. timeout
// bounds how long it waits for what is under way; 0 is what it was started with.
// progress, which may be nil, is told how far it is. If ctx ends first the node goes on
// all the same.
func (db *DB) Drain(ctx context.Context, timeout time.Duration, progress func(*pb.DrainProgress)) error {
	stream, err := streaming(db, ctx, func(ctx context.Context, a pb.AdminClient) (grpc.ServerStreamingClient[pb.DrainProgress], error) {
		return a.Drain(ctx, &pb.DrainRequest{TimeoutMs: uint32(timeout.Milliseconds())})
	})
	if err != nil {
		return err
	}
	defer stream.end()
	stopping := false
	for {
		p, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF), err != nil && stopping:
			return nil // it is gone before it could say so
		case err != nil:
			return failure(stream.ctx, err)
		}
		stopping = p.Phase == "stopping"
		if progress != nil {
			progress(p)
		}
	}
}

// Reclaim has the connected node free the disk space that deleted data still occupies in its
// store, and returns the result. progress, which may be nil, is called before each key range. If ctx
// ends, the node stops after the compaction in flight. If another reclaim is in flight on the
// node, the error is of kind Invalid.
func (db *DB) Reclaim(ctx context.Context, progress func(*pb.ReclaimProgress)) (*pb.ReclaimProgress, error) {
	stream, err := streaming(db, ctx, func(ctx context.Context, a pb.AdminClient) (grpc.ServerStreamingClient[pb.ReclaimProgress], error) {
		return a.Reclaim(ctx, &pb.ReclaimRequest{})
	})
	if err != nil {
		return nil, err
	}
	defer stream.end()
	for {
		p, err := stream.Recv()
		switch {
		case err != nil:
			return nil, failure(stream.ctx, err)
		case p.Finished:
			return p, nil
		case progress != nil:
			progress(p)
		}
	}
}

// LogLevels tells from which level on each component of the connected node logs, after
// it has set that of one, or of all if component is empty; unless level is empty.
func (db *DB) LogLevels(ctx context.Context, component, level string) ([]pb.LogLevel, error) {
	r, err := administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.LogLevelsResponse, error) {
		return a.LogLevels(ctx, &pb.LogLevelsRequest{Component: component, Level: level})
	})
	if err != nil {
		return nil, err
	}
	return r.Levels, nil
}

// Debug has the connected node collect what helps to find out what is wrong with it,
// and passes the pieces of its files on as they come, until part returns an error.
func (db *DB) Debug(ctx context.Context, ask *pb.DebugRequest, part func(*pb.DebugPart) error) error {
	stream, err := streaming(db, ctx, func(ctx context.Context, a pb.AdminClient) (grpc.ServerStreamingClient[pb.DebugPart], error) {
		return a.Debug(ctx, ask)
	})
	if err != nil {
		return err
	}
	defer stream.end()
	for {
		p, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return failure(stream.ctx, err)
		}
		if err := part(p); err != nil {
			return err
		}
	}
}

// answers is a stream of them, which has to be ended.
type answers[A any] struct {
	grpc.ServerStreamingClient[A]
	// ctx is the call's; the stream's own ends with the stream, whatever the reason.
	ctx context.Context
	end func()
}

// streaming asks for a stream of answers. It is not asked again when that breaks.
func streaming[A any](db *DB, ctx context.Context, ask func(context.Context, pb.AdminClient) (grpc.ServerStreamingClient[A], error)) (*answers[A], error) {
	r := newRetrier(db, ctx)
	s, failed := r.use()
	if failed != nil {
		r.stop()
		return nil, failed
	}
	ctx, cancel := context.WithCancel(r.context())
	end := func() {
		cancel()
		s.unuse()
		r.stop()
	}
	stream, err := ask(ctx, s.admin)
	if err != nil {
		failed = failure(ctx, err)
		end()
		return nil, failed
	}
	return &answers[A]{stream, ctx, end}, nil
}
