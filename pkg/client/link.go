package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/internal/link"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func init() {
	clientlink.Call = func(ctx context.Context, db any, once bool, call func(context.Context, pb.AdminClient) error) error {
		x := db.(*DB)
		if once {
			x = x.With(NoRetry())
		}
		_, err := ask(ctx, x, func(ctx context.Context, s *link.Session) (struct{}, error) {
			return struct{}{}, call(ctx, s.Admin)
		})
		return err
	}
	clientlink.Stream = stream
	clientlink.Outcome = func(ctx context.Context, db, id any) (*pb.OutcomeResponse, error) {
		answer, err := db.(*DB).queryOutcome(ctx, id.(TxID))
		return answer, orNil(err)
	}
	clientlink.Addr = func(db any) string { return db.(*DB).link.Addr() }
	clientlink.Receipt = func(r *pb.Receipt) any { return receiptOf(r) }
	clientlink.Conflict = func(c *pb.Conflict) any { return conflictOf(c) }
	clientlink.ByPlan = func(p pb.ReadPlan) any {
		return CallOption(func(h *how) { h.plan = p })
	}
}

// stream prepares a stream of the Admin service. It is not tried again when it breaks.
func stream(ctx context.Context, db any) (context.Context, pb.AdminClient, func(error) error, func(), error) {
	call := db.(*DB).call(ctx)
	s, failed := call.Session()
	if failed != nil {
		call.End()
		return nil, nil, nil, nil, errorOf(failed)
	}
	whole := call.Context()
	ctx, cancel := context.WithCancel(whole)
	end := func() {
		cancel()
		s.Release()
		call.End()
	}
	return ctx, s.Admin, func(err error) error { return errorOf(link.Failure(whole, err)) }, end, nil
}
