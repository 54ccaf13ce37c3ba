package server

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Execute runs one transaction and waits for it.
func (s *service) Execute(ctx context.Context, in *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	id := s.idOr(in.TxnId)
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), id)
	}
	var b budget
	ops, err := operations(in.Ops, &b)
	if err != nil {
		return nil, statusOf(err, id)
	}
	caller := guard.CallerOf(ctx)
	if err := caller.Check(ops); err != nil {
		return nil, statusOf(err, id)
	}
	how, err := s.how(in.At, in.Token, in.Plan)
	if err != nil {
		return nil, statusOf(err, id)
	}
	how.User = caller.Account()
	callers, has := ctx.Deadline()
	answered := make(chan gateway.Response, 1) // room, so that done never blocks
	s.backend.Submit(gateway.Request{ID: id, Ops: ops, Deadline: deadline(time.Now(), callers, has), Alone: true, How: how, Parent: s.parent(ctx)},
		func(r gateway.Response) { answered <- r })
	select {
	case r := <-answered:
		return s.executed(caller, r, id, b.writes)
	case <-ctx.Done():
	}
	select { // an answer that is there already is better than none
	case r := <-answered:
		return s.executed(caller, r, id, b.writes)
	default:
		return nil, statusOf(abandoned(ctx), id)
	}
}

// executed converts the response to a transaction named id.
func (s *service) executed(caller *guard.Caller, r gateway.Response, id kv.TxnID, writes bool) (*pb.ExecuteResponse, error) {
	settle(&r, id, writes)
	hide(caller, &r.Receipt, &r.Ended)
	if r.Err != nil {
		d := failedResponse(&r)
		worded(d.Receipt)
		return nil, detail.Status(d)
	}
	out := new(pb.ExecuteResponse)
	s.response(out, &r)
	worded(out.Receipt)
	return out, nil
}

// settle completes a response: its id, and what is told when its results are
// larger than a message can be. Then a transaction that wrote has committed
// and its results are lost; one that only read may as well have failed.
func settle(r *gateway.Response, id kv.TxnID, writes bool) {
	if r.ID.IsZero() {
		r.ID = id
	}
	if r.Err != nil {
		return
	}
	if err := tooLarge(r.Results); err != nil {
		r.Results = nil
		if writes {
			r.ResultsLost = true
		} else {
			r.Err = err
		}
	}
}

// idOr gives id, or a new one if it is zero.
func (s *service) idOr(id kv.TxnID) kv.TxnID {
	if !id.IsZero() {
		return id
	}
	return s.backend.NewID()
}
