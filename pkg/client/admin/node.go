package admin

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// DrainProgress is how far a drain is.
type DrainProgress struct {
	// Phase is refusing, transactions, shards or stopping.
	Phase string
	// OneShots and Interactive are the transactions in flight of the node's clients, OnShards those of
	// all clients on the node's shards.
	OneShots, Interactive, OnShards int
	Elapsed                         time.Duration
	// TimedOut: transactions in flight were aborted.
	TimedOut bool
}

// Drain drains the node and stops it: it rejects new work and lets what is in flight end, for at most
// timeout; 0 is what the node was started with. It returns when the process is about to end. progress,
// which may be nil, is called meanwhile. If ctx ends first, the node continues nevertheless.
func (a *Admin) Drain(ctx context.Context, timeout time.Duration, progress func(DrainProgress)) error {
	stopping := false
	err := stream(ctx, a, func(ctx context.Context, c pb.AdminClient) (grpc.ServerStreamingClient[pb.DrainProgress],
		error) {
		return c.Drain(ctx, &pb.DrainRequest{TimeoutMs: uint32(timeout.Milliseconds())})
	}, func(p *pb.DrainProgress) (bool, error) {
		stopping = p.Phase == "stopping"
		if progress != nil {
			progress(DrainProgress{p.Phase, int(p.OneShots), int(p.Interactive), int(p.OnShards), millis(p.ElapsedMs),
				p.TimedOut})
		}
		return true, nil
	})
	if stopping && errors.Is(err, client.ErrUnavailable) {
		return nil // the process has ended
	}
	return err
}

// ReclaimProgress is how far a reclaim is.
type ReclaimProgress struct {
	// Done is the number of key ranges that are compacted, of Total.
	Done, Total int
	Elapsed     time.Duration
	// Before and After are the size of the store in bytes, once the reclaim has finished; Note explains
	// why little was freed, or is empty.
	Before, After int64
	Note          string
}

// Reclaim frees the disk space that deleted data still occupies in the node's store, and returns the
// result. progress, which may be nil, is called before each key range. If ctx ends, the node stops after
// the compaction in flight. Another reclaim in flight is an error of kind Invalid.
func (a *Admin) Reclaim(ctx context.Context, progress func(ReclaimProgress)) (ReclaimProgress, error) {
	var last ReclaimProgress
	err := stream(ctx, a, func(ctx context.Context, c pb.AdminClient) (grpc.ServerStreamingClient[pb.ReclaimProgress],
		error) {
		return c.Reclaim(ctx, &pb.ReclaimRequest{})
	}, func(p *pb.ReclaimProgress) (bool, error) {
		last = ReclaimProgress{int(p.Done), int(p.Total), millis(p.ElapsedMs), int64(p.BeforeBytes), int64(p.AfterBytes),
			p.Note}
		if !p.Finished && progress != nil {
			progress(last)
		}
		return !p.Finished, nil
	})
	return last, err
}

// DebugOptions say what [Admin.Debug] collects.
type DebugOptions struct {
	// RedactKeys replaces keys by hashes of them and of Salt. Several nodes with one salt have the same
	// hashes.
	RedactKeys bool
	Salt       []byte
	// Profile is for how long the processor is profiled, at most 30 s; 0 is not at all.
	Profile time.Duration
}

// DebugPart is a piece of a file. The pieces of one file follow each other.
type DebugPart struct {
	// Name is that of the file, as "heap.pprof".
	Name string
	Data []byte
	// Error is why there is no more of it, empty if there is.
	Error string
}

// Debug collects what helps to find a fault of the node, and passes it to part in pieces. It stops at an
// error of part, and returns it.
func (a *Admin) Debug(ctx context.Context, o DebugOptions, part func(DebugPart) error) error {
	return stream(ctx, a, func(ctx context.Context, c pb.AdminClient) (grpc.ServerStreamingClient[pb.DebugPart], error) {
		return c.Debug(ctx, &pb.DebugRequest{RedactKeys: o.RedactKeys, Salt: o.Salt,
			ProfileMs: uint32(o.Profile.Milliseconds())})
	}, func(p *pb.DebugPart) (bool, error) {
		return true, part(DebugPart{p.Name, p.Data, p.Error})
	})
}

// LogLevel is the least level at which a component of a node logs: debug, info, warn or error.
type LogLevel struct{ Component, Level string }

// LogLevels returns the levels of all components.
func (a *Admin) LogLevels(ctx context.Context) ([]LogLevel, error) { return a.SetLogLevel(ctx, "", "") }

// SetLogLevel sets the level of a component, or of all if component is empty, until the node restarts.
// It returns the levels of all components.
func (a *Admin) SetLogLevel(ctx context.Context, component, level string) ([]LogLevel, error) {
	r, err := change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.LogLevelsResponse, error) {
		return c.LogLevels(ctx, &pb.LogLevelsRequest{Component: component, Level: level})
	})
	if err != nil {
		return nil, err
	}
	return each(r.Levels, func(l *pb.LogLevel) LogLevel { return LogLevel{l.Component, l.Level} }), nil
}
