package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/internal/link"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func init() {
	clientlink.Begin = func(ctx context.Context, db any, once bool) (*link.Call, error) {
		x := db.(*DB)
		if err := x.inAttempt(ctx); err != nil {
			return nil, err
		}
		if once {
			x = x.With(NoRetry())
		}
		call := x.call(ctx)
		return &call, nil
	}
	clientlink.Error = func(e *link.Error) error { return orNil(errorOf(e)) }
	clientlink.Outcome = func(ctx context.Context, db, id any) (*pb.OutcomeResponse, error) {
		answer, err := db.(*DB).queryOutcome(ctx, id.(TxID))
		return answer, orNil(err)
	}
	clientlink.Addr = func(db any) string { return db.(*DB).link.Addr() }
	clientlink.Whole = func(op any) any { return whole(op.(Op)) }
	clientlink.DropSnapshot = func(ctx context.Context, db any, nameOrID string) (any, error) {
		p, err := db.(*DB).dropSnapshot(ctx, nameOrID)
		return snapshotInfo(p), err
	}
	clientlink.Entry = func(e *pb.Entry) any { return entryOfPair(e) }
	clientlink.ResultEntry = func(r *pb.Result) any { return entryOf("", r) }
	clientlink.Receipt = func(r *pb.Receipt) any { return receiptOf(r) }
	clientlink.Conflict = func(c *pb.Conflict) any { return conflictOf(c) }
	clientlink.Dump = func(p *pb.Result) any { return dumpOf(p) }
	clientlink.DumpResult = func(dump any) *pb.Result {
		d := dump.(Dump)
		return &pb.Result{Found: d.found, Type: d.typ, TypeName: d.name, Value: d.value, Number: d.number,
			ExpiresAtMs: d.expires}
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
