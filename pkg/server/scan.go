package server

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	// defaultPage bounds the pairs of a page when the client does not.
	defaultPage = 1000
	// maxPageBytes ends a page; a page has at least one pair.
	maxPageBytes = 1 << 20
)

// Scan streams the pairs of a range.
func (s *service) Scan(in *pb.ScanRequest, stream grpc.ServerStreamingServer[pb.ScanResponse]) error {
	ctx := stream.Context()
	if ctx.Err() != nil {
		return statusOf(expired(ctx), kv.TxnID{})
	}
	if err := bounds(in.Start, in.End); err != nil {
		return statusOf(err, kv.TxnID{})
	}
	if in.PageSize > kv.MaxScanLimit {
		return statusOf(invalid(fmt.Sprintf("the page size is %d", in.PageSize),
			fmt.Sprintf("a page has at most %d pairs", kv.MaxScanLimit)), kv.TxnID{})
	}
	how, kerr := s.how(in.At, in.Token, pb.ReadPlan_PLAN_ANY)
	if kerr != nil {
		return statusOf(kerr, kv.TxnID{})
	}
	p := pager{stream: stream, size: int(in.PageSize)}
	if p.size == 0 {
		p.size = defaultPage
	}
	limit := int(min(in.Limit, math.MaxInt))
	err := s.backend.Scan(ctx, gateway.ScanOptions{Span: kv.Range(in.Start, in.End), Limit: limit, How: how, Opened: func(o gateway.Opened) error {
		p.page.Token, p.page.Snapshot = msg.Clock(o.At).Encode(), s.snapshot(o.Pin)
		p.page.Receipt = worded(receipt(&o.Receipt, &o.Ended))
		return nil
	}}, p.add)
	if p.broken != nil {
		return p.broken
	}
	if err != nil {
		return statusOf(err, kv.TxnID{})
	}
	return p.flush()
}

// pager cuts what the backend passes into pages of the client's size.
type pager struct {
	stream grpc.ServerStreamingServer[pb.ScanResponse]
	size   int
	page   pb.ScanResponse
	bytes  int
	// broken is why nothing can be sent any more.
	broken error
}

func (p *pager) add(ps []msg.Pair) error {
	for i := range ps {
		p.page.Pairs = pairs(p.page.Pairs, ps[i:i+1])
		p.bytes += pairBytes(ps[i : i+1])
		if len(p.page.Pairs) >= p.size || p.bytes >= maxPageBytes {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pager) flush() error {
	if len(p.page.Pairs) == 0 && p.page.Token == nil {
		return nil
	}
	p.broken = p.stream.Send(&p.page)
	p.page.Token, p.page.Snapshot, p.page.Receipt = nil, nil, nil
	clear(p.page.Pairs)
	p.page.Pairs, p.bytes = p.page.Pairs[:0], 0
	return p.broken
}

// Outcome tells what became of a transaction.
func (s *service) Outcome(ctx context.Context, in *pb.OutcomeRequest) (*pb.OutcomeResponse, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), in.TxnId)
	}
	if in.TxnId.IsZero() {
		return nil, statusOf(invalid("no transaction is named", "pass the txn_id that the transaction was sent with or answered by"), kv.TxnID{})
	}
	o, err := s.backend.Outcome(ctx, in.TxnId)
	if err != nil {
		return nil, statusOf(err, in.TxnId)
	}
	out := &pb.OutcomeResponse{TxnId: in.TxnId, Decision: pb.Decision_ABORTED}
	if o.Committed {
		out.Decision, out.ResultsLost = pb.Decision_COMMITTED, o.ResultsLost
		if tooLarge(o.Results) != nil {
			o.Results, out.ResultsLost = nil, true
		}
		out.Results = results(nil, o.Results)
	}
	return out, nil
}
