package client

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/metadata"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// ScanOptions narrow a scan. The zero value is a scan of everything in range.
type ScanOptions struct {
	// Limit bounds the pairs in total; 0 is no bound.
	Limit int
	// Reverse begins with the last key.
	Reverse bool
	// PageSize bounds the pairs that the server sends at a time; 0 lets it
	// choose.
	PageSize int
}

// Scan reads the pairs with keys from start up to but without end, in order or
// with Reverse from the last on,
// all as they were at one moment after the call. An empty end means to the
// last key. Nothing is sent before the loop begins, and leaving the loop ends
// the scan.
//
// A failure is yielded once, with an empty pair, and is the last. A scan that
// fails before its first pair is tried again; after that it cannot be, because
// the moment is gone.
func (db *DB) Scan(ctx context.Context, start, end []byte, opts ScanOptions) iter.Seq2[Pair, error] {
	return db.scanAs(ctx, &how{}, start, end, opts)
}

func (db *DB) scanAs(ctx context.Context, h *how, start, end []byte, opts ScanOptions) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		if err := checkOps([]Op{ScanRange(start, end, 0)}); err != nil {
			yield(Pair{}, asError(err))
			return
		}
		if opts.Limit < 0 || opts.PageSize < 0 {
			yield(Pair{}, errorf(kv.KindInvalid, nil, "the limit %d or the page size %d of the scan is negative", opts.Limit, opts.PageSize))
			return
		}
		req := &pb.ScanRequest{Start: start, End: end, Limit: uint64(opts.Limit), PageSize: uint32(opts.PageSize),
			Reverse: opts.Reverse, At: h.at, CausalityToken: h.token}
		r := newRetrier(db, ctx)
		defer r.stop()
		for {
			begun, err := db.scanOnce(&r, req, h, yield)
			if err == nil {
				return
			}
			if begun || !r.again(err) {
				yield(Pair{}, err)
				return
			}
		}
	}
}

// scanOnce reports whether anything was yielded. It returns nil when the scan
// is complete or the loop was left.
func (db *DB) scanOnce(r *retrier, req *pb.ScanRequest, h *how, yield func(Pair, error) bool) (begun bool, _ *Error) {
	s, failed := r.use()
	if failed != nil {
		return false, failed
	}
	defer s.unuse()
	ctx, cancel := context.WithCancel(r.context())
	defer cancel()
	if parent := db.opts.traceparent(ctx); parent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, traceparentName, parent)
	}
	stream, err := s.kv.Scan(ctx, req)
	if err != nil {
		return false, failure(ctx, err)
	}
	for {
		page, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return begun, nil
		}
		if err != nil {
			return begun, failure(ctx, err)
		}
		if h.into != nil && page.CausalityToken != nil {
			*h.into = Outcome{Attempts: 1, Token: page.CausalityToken, Snapshot: snapshotOf(page.Snapshot), Plan: pb.ReadPlan_PLAN_SNAPSHOT, Receipt: receiptOf(page.Receipt)}
		}
		for i := range page.Entries {
			begun = true
			if !yield(pairOf(&page.Entries[i]), nil) {
				return true, nil
			}
		}
	}
}
