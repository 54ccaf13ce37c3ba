package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/metadata"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// ScanOption is an option of Scan: [Limit], [Reverse] or [PageSize].
type ScanOption interface{ scan(*scan) }

// ScanOpOption is an option of [ScanOp]: [Reverse].
type ScanOpOption interface{ scanOp(*operation) }

// scan is what the options say.
type scan struct {
	limit, pageSize int
	reverse         bool
}

// scanOption is an option of Scan alone.
type scanOption func(*scan)

func (o scanOption) scan(s *scan) { o(s) }

// Limit bounds the entries of a scan; 0 is no bound.
func Limit(n int) ScanOption { return scanOption(func(s *scan) { s.limit = n }) }

// PageSize is how many entries the node sends in one message, 1 to 10,000. The default is 100; in a
// Tx or a View, where each page is a round trip, 1000.
func PageSize(n int) ScanOption { return scanOption(func(s *scan) { s.pageSize = n }) }

// ReverseOption is what [Reverse] returns: an option of Scan and of [ScanOp].
type ReverseOption struct{}

// Reverse returns the entries of a scan in descending order of keys. A limit counts from the last key
// of the range.
func Reverse() ReverseOption { return ReverseOption{} }

func (ReverseOption) scan(s *scan)        { s.reverse = true }
func (ReverseOption) scanOp(o *operation) { o.op.Reverse = true }

// page is the page size, with a default.
func (s *scan) page(byDefault int) int {
	if s.pageSize == 0 {
		return byDefault
	}
	return s.pageSize
}

// scanPage is the default of PageSize. Small pages cost little, since they are streamed, and a slow
// loop can take one in the time that the node waits.
const scanPage = 100

func scanOptions(r Range, opts []ScanOption) (s scan, err error) {
	for _, o := range opts {
		o.scan(&s)
	}
	if bad := checkOps([]Op{ScanOp(r, 0)}); bad != nil {
		e := asError(bad)
		e.Op = -1
		return s, e
	}
	if s.limit < 0 || s.pageSize < 0 || s.pageSize > kv.MaxScanLimit {
		return s, errorf(KindInvalid, nil, "the limit %d or the page size %d of the scan is out of range", s.limit,
			s.pageSize)
	}
	return s, nil
}

// Scan implements [Reader]. The state is that of one moment after the loop has begun.
//
// A scan that fails before its first entry is tried again; after that it cannot be, because the state
// is gone (that of a [Snapshot] is not: its scans continue). The loop may take its time: while it does,
// pages are received in advance, one every 20 s.
func (db *DB) Scan(ctx context.Context, r Range, opts ...ScanOption) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := db.inAttempt(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		db.scanning(ctx, present, r, opts, yield)
	}
}

// stateFunc returns the state to read, nil for the present one. done is called with the state that was
// read, nil if none was.
type stateFunc func(ctx context.Context) (at *pb.At, done func(*pb.Snapshot), err error)

func present(context.Context) (*pb.At, func(*pb.Snapshot), error) {
	return nil, func(*pb.Snapshot) {}, nil
}

// scanning runs a scan with all of its attempts.
func (db *DB) scanning(ctx context.Context, state stateFunc, r Range, opts []ScanOption,
	yield func(Entry, error) bool) {
	s, err := scanOptions(r, opts)
	if err != nil {
		yield(Entry{}, err)
		return
	}
	c := db.begin(ctx, "Scan")
	x := &scanner{db: db, call: db.call(ctx), state: state, course: c, yield: yield,
		req: pb.ScanRequest{Start: []byte(r.Start), End: []byte(r.End), Limit: uint64(s.limit),
			PageSize: uint32(s.page(scanPage)),
			Reverse:  s.reverse, CausalityToken: db.how.token}}
	defer x.call.End()
	for {
		failed := x.attempt()
		if c != nil {
			c.report.Attempts++
		}
		if failed == nil {
			c.end(db, nil)
			return
		}
		if x.left || x.begun && !x.rewind() || !failed.again(&x.call) {
			c.end(db, failed)
			if !x.left {
				yield(Entry{}, failed)
			}
			return
		}
	}
}

// scanner is one scan.
type scanner struct {
	db     *DB
	call   link.Call
	state  stateFunc
	course *course
	yield  func(Entry, error) bool
	req    pb.ScanRequest
	// begun: an entry was yielded, and last is its key. left: the loop was left. named: the state
	// can be read again. complete: there is nothing left to read.
	begun, left, named, complete bool
	last                         []byte
	yielded                      uint64
}

// rewind makes the next attempt continue behind the last entry. It reports false if the state is
// gone.
func (x *scanner) rewind() bool {
	if !x.named {
		return false
	}
	if x.req.Reverse {
		x.req.End = x.last
	} else {
		x.req.Start = append(x.last[:len(x.last):len(x.last)], 0)
	}
	if x.req.Limit > 0 {
		x.req.Limit -= x.yielded
		x.complete = x.req.Limit == 0
	}
	x.complete = x.complete || len(x.req.End) > 0 && bytes.Compare(x.req.Start, x.req.End) >= 0
	x.yielded = 0
	return true
}

// attempt returns nil if the scan is complete or the loop was left.
func (x *scanner) attempt() *Error {
	if x.complete {
		return nil
	}
	at, done, err := x.state(x.call.Bounded())
	if err != nil {
		return asError(err)
	}
	defer done(nil)
	x.req.At = at
	s, failed := x.call.Session()
	if failed != nil {
		return errorOf(failed)
	}
	defer s.Release()
	ctx, cancel := context.WithCancel(x.call.Context())
	defer cancel()
	if parent := x.db.opts.traceparent(ctx); parent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, traceparentName, parent)
	}
	stream, err := s.KV.Scan(ctx, &x.req)
	if err != nil {
		return errorOf(link.Failure(ctx, err))
	}
	pages := receivePages(stream, x.db.opts.readEvery)
	defer pages.stop(cancel)
	for {
		page, err := pages.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errorOf(link.Failure(x.call.Context(), err))
		}
		if page.CausalityToken != nil {
			x.opened(page, done)
		}
		if !x.pass(page) {
			return nil
		}
	}
}

// opened takes the state, which comes with the first page.
func (x *scanner) opened(page *pb.ScanResponse, done func(*pb.Snapshot)) {
	if page.Snapshot != nil {
		x.named = true
	}
	done(page.Snapshot)
	c := x.course
	if c == nil {
		return
	}
	c.report.Token, c.report.Snapshot, c.report.Receipt = page.CausalityToken, snapshotInfo(page.Snapshot),
		receiptOf(page.Receipt)
	c.report.Plan = planName(pb.ReadPlan_PLAN_SNAPSHOT)
	if x.db.how.report != nil {
		*x.db.how.report = c.report
	}
}

// pass yields the entries of a page. It reports false if the loop was left.
func (x *scanner) pass(page *pb.ScanResponse) bool {
	for i := range page.Entries {
		x.begun, x.last = true, page.Entries[i].Key
		x.yielded++
		if !x.yield(entryOfPair(&page.Entries[i]), nil) {
			x.left = true
			return false
		}
	}
	return true
}
