package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Reclaim frees the disk space of deleted data. A drain stops it.
func (s *service) Reclaim(_ *pb.ReclaimRequest, stream grpc.ServerStreamingServer[pb.ReclaimProgress]) error {
	ctx, cancel := s.untilDraining(stream.Context())
	defer cancel()
	began := time.Now()
	elapsed := func() uint64 { return uint64(time.Since(began).Milliseconds()) }
	last := &pb.ReclaimProgress{Finished: true}
	r, err := s.backend().Reclaim(ctx, func(done, total int) {
		last.Done, last.Total = uint32(done), uint32(total)
		// If the client is gone, ctx ends.
		_ = stream.Send(&pb.ReclaimProgress{Done: last.Done, Total: last.Total, ElapsedMs: elapsed()})
	})
	switch {
	case err != nil && s.isDraining() && stream.Context().Err() == nil:
		return statusOf(stopping(), kv.TxnID{})
	case err != nil:
		return statusOf(err, kv.TxnID{})
	}
	last.ElapsedMs, last.BeforeBytes, last.AfterBytes, last.Note = elapsed(), r.Before, r.After, reclaimNote(r)
	return stream.Send(last)
}

// untilDraining returns a context that ends with ctx, or when the server drains.
func (s *service) untilDraining(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// littleFreed is up to how many bytes a reclaim has freed little, unless that is a hundredth of
// the store.
const littleFreed = 1 << 20

// reclaimNote explains why little was freed; empty if more was.
func reclaimNote(r Reclaimed) string {
	freed := max(r.Before, r.After) - r.After
	if freed > max(littleFreed, r.Before/100) {
		return ""
	}
	kept := "data that named snapshots read"
	if r.History > 0 {
		kept = fmt.Sprintf("data that was deleted or overwritten in the last %v, which --history keeps readable, and "+
			"data that named snapshots read", r.History)
	}
	what := "little"
	if freed == 0 {
		what = "nothing"
	}
	return what + " was freed; the store still holds " + kept
}
