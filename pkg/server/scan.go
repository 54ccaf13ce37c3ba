package server

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	// defaultPage bounds the pairs of a page when the client does not.
	defaultPage = 1000
	// maxPageBytes bounds the bytes of a page; a page has at least one pair. The pages of a slow client
	// have fewer, but minPageBytes.
	maxPageBytes, minPageBytes = 1 << 20, 4 << 10
	// aheadBytes is what is sent before a client has taken anything: gRPC's buffer of the server, and the
	// least window of the client, 64 KiB each. Only what is sent after that shows how fast the client is. The
	// first page has firstPageBytes, and each at most twice the bytes of the one before.
	aheadBytes, firstPageBytes = 128 << 10, 16 << 10
	// pagesPerTimeout is how many pages a client takes in the time for which it may take none. Somewhat
	// arbitrary: its speed may fall to a tenth within a page.
	pagesPerTimeout = 12
)

// scanCost is what a scan is counted with: the gateway holds a page of each shard, and
// there is one that is sent.
func scanCost(shards int) int64 {
	return min(int64(shards)*kv.ScanPageBytes, maxScanCost) + maxPageBytes
}

// maxScanCost bounds that where there are many shards, whose pages are rarely full.
const maxScanCost = 16 << 20

// Scan streams the pairs of a range.
func (s *service) Scan(in *pb.ScanRequest, stream grpc.ServerStreamingServer[pb.ScanResponse]) error {
	ctx := stream.Context()
	if ctx.Err() != nil {
		return statusOf(expired(ctx), kv.TxnID{})
	}
	if err := bounds(in.Start, in.End); err != nil {
		return statusOf(err, kv.TxnID{})
	}
	span, bad := kv.ClientRange(in.Start, in.End)
	if bad != nil {
		return statusOf(bad, kv.TxnID{})
	}
	caller := guard.CallerOf(ctx)
	if err := caller.CheckScan(span); err != nil {
		return statusOf(err, kv.TxnID{})
	}
	if in.PageSize > kv.MaxScanLimit {
		return statusOf(invalid(fmt.Sprintf("the page size is %d", in.PageSize),
			fmt.Sprintf("the limit is %d pairs", kv.MaxScanLimit)), kv.TxnID{})
	}
	how, kerr := s.how(in.At, in.CausalityToken, pb.ReadPlan_PLAN_ANY)
	if kerr != nil {
		return statusOf(kerr, kv.TxnID{})
	}
	how.User = caller.Account()
	pages := held{account: guard.AccountOf(ctx)}
	if err := pages.expect(ctx, min(scanCost(int(s.backend().Identity().Shards)), pages.account.Most())); err != nil {
		return statusOf(err, kv.TxnID{})
	}
	defer func() { pages.failed(ctx, pages.bytes) }()
	p := pager{stream: stream, size: int(in.PageSize), began: time.Now(), most: firstPageBytes,
		timeout: s.opts.SlowReader, late: s.lateReader(ctx), caller: caller, span: span}
	if p.size == 0 {
		p.size = defaultPage
	}
	limit := int(min(in.Limit, math.MaxInt))
	err := s.backend().Scan(ctx, gateway.ScanOptions{Span: span, Reverse: in.Reverse, Limit: limit, How: how,
		Parent: s.parent(stream.Context()), Opened: func(o gateway.Opened) error {
			p.page.CausalityToken, p.page.Snapshot = msg.Clock(o.At).Encode(), s.snapshot(o.Snapshot)
			s.opened.hide(ctx, &o.Contention)
			p.page.Receipt = worded(receipt(&o.Contention))
			return nil
		}}, p.add)
	if p.broken != nil {
		return p.broken
	}
	if err != nil {
		return statusOf(s.opened.hidden(ctx, err), kv.TxnID{})
	}
	pages.release() // nothing is read any more
	return p.flush()
}

// pager cuts what the backend passes into pages of the client's size.
type pager struct {
	stream grpc.ServerStreamingServer[pb.ScanResponse]
	size   int
	page   pb.ScanResponse
	bytes  int
	// began is when the scan began, and sent how many bytes of pairs have been sent since.
	began time.Time
	sent  int
	// most bounds the bytes of the page.
	most int
	// timeout is how long a page may wait for the client to read.
	timeout time.Duration
	// late is called when it has taken longer.
	late func()
	// caller must be allowed to read span when a page is sent, too.
	caller *guard.Caller
	span   kv.Span
	// broken is why nothing can be sent any more.
	broken error
}

func (p *pager) add(ps []msg.Pair) error {
	for i := range ps {
		p.page.Entries = pairs(p.page.Entries, ps[i:i+1])
		p.bytes += pairBytes(ps[i : i+1])
		if len(p.page.Entries) >= p.size || p.bytes >= p.most {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextBytes bounds the next page by the rate at which the client has taken pages so far, so that it takes
// several in the time for which it may take none (timeout).
func (p *pager) nextBytes(elapsed time.Duration) int {
	next := min(2*p.most, maxPageBytes)
	taken := p.sent - aheadBytes
	if taken <= 0 {
		return next
	}
	rate := float64(taken) / max(elapsed.Seconds(), 1e-6)
	return int(min(max(rate*p.timeout.Seconds()/pagesPerTimeout, minPageBytes), float64(next)))
}

func (p *pager) flush() error {
	if len(p.page.Entries) == 0 && p.page.CausalityToken == nil {
		return nil
	}
	if err := p.caller.CheckScan(p.span); err != nil {
		p.broken = statusOf(err, kv.TxnID{})
		return p.broken
	}
	p.broken = p.send()
	if p.broken != nil {
		return p.broken
	}
	p.page.CausalityToken, p.page.Snapshot, p.page.Receipt = nil, nil, nil
	clear(p.page.Entries)
	p.sent += p.bytes
	p.most = p.nextBytes(time.Since(p.began))
	p.page.Entries, p.bytes = p.page.Entries[:0], 0
	return nil
}

// send sends the page. Without room in the client's window that waits, and the
// state that is scanned is kept meanwhile, so it must not wait for ever. When it
// has taken too long the scan is over: the page is not touched any more, and its
// sending ends with the stream.
func (p *pager) send() error {
	sent := make(chan error, 1)
	go func() { sent <- p.stream.Send(&p.page) }()
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		p.late()
		return statusOf(&kv.Error{Kind: kv.KindResourceExhausted, Op: -1,
			Text: fmt.Sprintf("the client reads the scan too slowly: it took no page for %v", p.timeout),
			Hint: "scan again from the last key that was read, with smaller pages or smaller ranges"}, kv.TxnID{})
	}
}

// lateReader returns a function that counts and logs a client that does not read.
func (s *service) lateReader(ctx context.Context) func() {
	return func() {
		s.unread.Add(1)
		from := ""
		if p, ok := peer.FromContext(ctx); ok {
			from = p.Addr.String()
		}
		s.opts.Log.Warn("scan aborted: client does not read", "peer", from, "user", guard.CallerOf(ctx).Name(), "waited",
			s.opts.SlowReader)
	}
}

// Outcome returns the outcome of a transaction.
func (s *service) Outcome(ctx context.Context, in *pb.OutcomeRequest) (*pb.OutcomeResponse, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), in.TxnId)
	}
	if in.TxnId.IsZero() {
		return nil, statusOf(invalid("the request has no transaction id",
			"set the txn_id that the transaction was sent with, or that its response contained"), kv.TxnID{})
	}
	if in.TxnId.Masked() {
		return nil, statusOf(invalid("the id is an alias: the transaction's own id is visible only to its client and "+
			"to users that may read every key",
			"use the id that the transaction's client received, or read the receipt as a user that may read every key"),
			in.TxnId)
	}
	o, err := s.backend().Outcome(ctx, in.TxnId, guard.CallerOf(ctx).Account())
	if err != nil {
		return nil, statusOf(err, in.TxnId)
	}
	out := &pb.OutcomeResponse{TxnId: in.TxnId, Decision: pb.Decision_ABORTED}
	if o.Committed {
		out.Decision, out.ResultsLost = pb.Decision_COMMITTED, o.ResultsLost
		if tooLarge(o.Results, kv.DefaultMaxResponseBytes) != nil {
			o.Results, out.ResultsLost = nil, true
		}
		out.Results = results(nil, o.Results)
		for i := range o.Results {
			out.Operations = append(out.Operations, adt.OperationName(o.Results[i].Operation))
		}
	}
	return out, nil
}
