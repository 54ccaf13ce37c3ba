package gateway

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Now returns the time of the gateway's clock.
func (g *Gateway) Now() int64 { return g.opt.Clock.Now() }

// Submit runs a one-shot transaction. done is called once, on any goroutine, possibly before Submit
// returns; it must not block. Submit owns req.Ops.
func (g *Gateway) Submit(req Request, done func(Response)) {
	if g.closed.Load() && !req.Internal {
		done(Response{ID: req.ID, Err: errDraining})
		return
	}
	if req.ID.IsZero() {
		req.ID = g.NewID()
	}
	if req.How.MaxResponse == 0 {
		req.How.MaxResponse = kv.MaxResultBytes
	}
	start := req.Arrived
	if start == 0 {
		start = g.Now()
	}
	req.How.Arrived = g.opt.Clock.OrderAt(start)
	if err := g.ids.check(req.ID, start); err != nil {
		done(Response{ID: req.ID, Err: err})
		return
	}
	kind := OneShotRead
	for i := range req.Ops {
		if req.Ops[i].Writes() {
			kind = OneShot
			break
		}
	}
	t := &oneShotCall{g: g, kind: kind, done: done}
	if g.opt.Tracer != nil {
		t.span = g.opt.Tracer.Begin(req.Parent, kind.String(), req.ID, len(req.Ops))
	}
	t.start = start
	deadline := localDeadline(start, req.Deadline)
	s := g.stripeOf(req.ID)
	s.mu.Lock()
	s.m.Execute(start, t, req.ID, req.Ops, deadline, req.How)
	g.unlockAndSend(start, s, req.Alone)
}

// oneShotCall is the pending call of a one-shot.
type oneShotCall struct {
	g     *Gateway
	kind  Kind
	start int64
	done  func(Response)
	// span is nil if the transaction is not traced.
	span *trace.Txn
	// response is a field so that the observer's pointer does not allocate.
	response Response
}

func (t *oneShotCall) finish(d *txn.Done, now int64) {
	t.response = t.g.response(d)
	t.g.observe(t.kind, &t.response, now-t.start)
	t.span.End(t.response.Attempts, &t.response.Receipt, t.response.callError())
	t.done(t.response)
}

func (g *Gateway) observe(k Kind, r *Response, nanos int64) {
	if g.opt.Observer != nil {
		g.opt.Observer.Ended(k, r, time.Duration(nanos))
	}
}

// await runs a state machine and waits for the end of the call. If ctx ends or the gateway stops first, it
// returns an error and does not wait for the end of the call.
func (g *Gateway) await(ctx context.Context, id kv.TxnID, f func(m *txn.Gateway, now int64, cb callback)) (*txn.Done,
	error) {
	ch := make(chan *txn.Done, 1)
	cb := callback(func(d *txn.Done, _ int64) {
		result := *d
		ch <- &result
	})
	g.runAt(g.opt.Clock.Now(), g.stripeOf(id), true, func(m *txn.Gateway, now int64) { f(m, now, cb) })
	select {
	case d := <-ch:
		return d, nil
	case <-ctx.Done():
		return nil, ctxError(ctx)
	case <-g.stop:
		return nil, errDraining
	}
}

func ctxError(ctx context.Context) error {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return kv.Errorf(kv.KindDeadlineExceeded, "the deadline passed")
	}
	return kv.Errorf(kv.KindCancelled, "the caller cancelled the request")
}

func deadlineOf(ctx context.Context) time.Time {
	t, _ := ctx.Deadline()
	return t
}

// Execute is a blocking Submit. If ctx ends first, the outcome is unknown; the context's deadline is also
// that of the transaction and decides it.
func (g *Gateway) Execute(ctx context.Context, req Request) Response {
	if t, ok := ctx.Deadline(); ok && (req.Deadline.IsZero() || t.Before(req.Deadline)) {
		req.Deadline = t
	}
	if req.ID.IsZero() {
		req.ID = g.NewID()
	}
	ch := make(chan Response, 1)
	g.Submit(req, func(r Response) { ch <- r })
	select {
	case r := <-ch:
		return r
	case <-ctx.Done():
		return Response{ID: req.ID, Err: kv.Errorf(kv.KindOutcomeUnknown,
			"the caller stopped waiting for transaction %v; query its outcome by that id", req.ID)}
	case <-g.stop:
		return Response{ID: req.ID, Err: kv.Errorf(kv.KindOutcomeUnknown,
			"the node stopped while transaction %v was in flight; query its outcome on another node", req.ID)}
	}
}

// CancelTransaction aborts a transaction that is in flight at this gateway, and reports whether there is one.
func (g *Gateway) CancelTransaction(id kv.TxnID) (ended bool) {
	g.run(g.stripeOf(id), func(m *txn.Gateway, now int64) { ended = m.AbortTxn(now, id) })
	return ended
}

// Outcome queries, on behalf of a user, the outcome of a transaction. If the transaction has not committed,
// the query aborts it.
func (g *Gateway) Outcome(ctx context.Context, id kv.TxnID, user kv.Account) (Outcome, error) {
	start := g.opt.Clock.Now()
	if g.ids.isAhead(id, start) { // the shard would store the abort until that time
		return Outcome{}, g.ids.wrongTime(id, start)
	}
	deadline := min(localDeadline(start, deadlineOf(ctx)), start+int64(kv.MaxTxnAge))
	d, err := g.await(ctx, id, func(m *txn.Gateway, now int64,
		cb callback) {
		m.QueryOutcome(now, cb, id, user, deadline)
	})
	if err != nil {
		return Outcome{}, err
	}
	r := g.response(d)
	g.observe(OutcomeQuery, &r, g.opt.Clock.Now()-start)
	if r.Err != nil {
		return Outcome{}, r.Err
	}
	return Outcome{ID: id, Committed: d.Committed, Results: d.Results, ResultsLost: d.ResultsLost}, nil
}

// Scan passes the pairs of a span to page, in order, from a consistent snapshot taken during the call. It
// ends after the last pair, at the limit, or with an error of page.
func (g *Gateway) Scan(ctx context.Context, o ScanOptions, page func([]msg.Pair) error) error {
	if g.closed.Load() {
		return errDraining
	}
	start, id := g.opt.Clock.Now(), g.NewID()
	var span *trace.Txn
	if g.opt.Tracer != nil {
		span = g.opt.Tracer.Begin(o.Parent, ScanKind.String(), id, 1)
	}
	plan, err := g.scan(ctx, id, o, page)
	span.End(1, nil, err)
	r := Response{ID: id, Attempts: 1, Plan: plan, Err: asError(err)}
	g.observe(ScanKind, &r, g.opt.Clock.Now()-start)
	return err
}

func asError(err error) *kv.Error {
	if err == nil {
		return nil
	}
	return &kv.Error{Kind: kv.KindOf(err), Text: err.Error(), Op: -1}
}

func (g *Gateway) scan(ctx context.Context, id kv.TxnID, o ScanOptions, page func([]msg.Pair) error) (plan txn.Plan,
	err error) {
	var ref kv.TxnRef
	deadline := localDeadline(g.opt.Clock.Now(), deadlineOf(ctx))
	d, err := g.await(ctx, id, func(m *txn.Gateway, now int64, cb callback) {
		m.Scan(now, cb, id, o.Span, o.Reverse, deadline, o.How)
	})
	if err == nil {
		ref, plan = d.Txn, d.Plan
		err = doneError(g, d)
		if err == nil && o.Opened != nil {
			op := Opened{At: d.ReadCSNs, Contention: d.Contention}
			if len(d.Snapshots) == 1 {
				op.Snapshot = &d.Snapshots[0]
			}
			err = o.Opened(op)
		}
	}
	defer func() {
		for a := uint32(1); a <= max(ref.Attempt, 1); a++ {
			g.run(g.stripeOf(id), func(m *txn.Gateway, now int64) { m.Close(now, kv.TxnRef{TxnID: id, Attempt: a}) })
		}
	}()
	left := o.Limit
	for err == nil {
		d, err = g.await(ctx, id, func(m *txn.Gateway, now int64, cb callback) { m.Next(now, cb, ref, left) })
		if err != nil {
			break
		}
		err = doneError(g, d)
		if err != nil {
			break
		}
		if len(d.Pairs) > 0 {
			err = page(d.Pairs)
			if err != nil {
				break
			}
		}
		if o.Limit > 0 {
			left -= len(d.Pairs)
		}
		if !d.More || o.Limit > 0 && left <= 0 {
			break
		}
	}
	return plan, err
}

func doneError(g *Gateway, d *txn.Done) error {
	r := g.response(d)
	return r.callError()
}
