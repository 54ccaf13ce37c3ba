package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func init() {
	clientlink.Call = func(ctx context.Context, db any, once bool, call func(context.Context, pb.AdminClient) error) error {
		x := db.(*DB)
		if once {
			x = x.With(NoRetry())
		}
		_, err := asking(ctx, x, func(ctx context.Context, s *session) (struct{}, error) {
			return struct{}{}, call(ctx, s.admin)
		})
		return err
	}
	clientlink.Stream = stream
	clientlink.Outcome = func(ctx context.Context, db, id any) (*pb.OutcomeResponse, error) {
		return db.(*DB).queryOutcome(ctx, id.(TxID))
	}
	clientlink.Addr = func(db any) string { return db.(*DB).addr() }
	clientlink.Whole = func(op any) any { return whole(op.(Op)) }
	clientlink.DropSnapshot = func(ctx context.Context, db any, nameOrID string) (any, error) {
		p, err := db.(*DB).dropSnapshot(ctx, nameOrID)
		return snapshotInfo(p), err
	}
	clientlink.Receipt = func(r *pb.Receipt) any { return receiptOf(r) }
	clientlink.Conflict = func(c *pb.Conflict) any { return conflictOf(c) }
	clientlink.Dump = func(p *pb.Result) any { return dumpOf(p) }
	clientlink.DumpResult = func(dump any) *pb.Result {
		d := dump.(Dump)
		return &pb.Result{Found: d.found, Type: d.typ, TypeName: d.name, Value: d.value, Number: d.number, ExpiresAtMs: d.expires}
	}
	clientlink.ByPlan = func(p pb.ReadPlan) any {
		return CallOption(func(h *how) { h.plan = p })
	}
}

// whole returns op with all of its result.
func whole(op Op) *Result[pb.Result] {
	r := &Result[pb.Result]{operation: *op.part(), decode: func(r *Result[pb.Result], p *pb.Result) error {
		r.value, r.found = *p, p.Found
		return nil
	}}
	r.returns = true
	return r
}

// stream prepares a stream of the Admin service. It is not tried again when it breaks.
func stream(ctx context.Context, db any) (context.Context, pb.AdminClient, func(error) error, func(), error) {
	r := newRetrier(ctx, db.(*DB))
	s, failed := r.use()
	if failed != nil {
		r.stop()
		return nil, nil, nil, nil, failed
	}
	whole := r.context()
	ctx, cancel := context.WithCancel(whole)
	end := func() {
		cancel()
		s.unuse()
		r.stop()
	}
	return ctx, s.admin, func(err error) error { return failure(whole, err) }, end, nil
}

// queryOutcome is Outcome in the messages of the interface.
func (db *DB) queryOutcome(ctx context.Context, id TxID) (*pb.OutcomeResponse, error) {
	r := newRetrier(ctx, db)
	defer r.stop()
	for {
		answer, err := db.query(&r, id.stored())
		if err == nil {
			return answer, nil
		}
		if !err.Kind.Retryable() || !r.again(err) {
			return nil, err
		}
	}
}
