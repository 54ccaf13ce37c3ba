package gateway

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Tx is an interactive transaction. It is used by one goroutine at a time.
type Tx struct {
	g     *Gateway
	ref   kv.TxnRef
	kind  Kind
	start int64
	ended bool
	// span is nil if the transaction is not traced.
	span *trace.Txn
	// receipt is the longest wait of the last Do.
	receipt msg.Receipt
}

// Begin opens an interactive transaction.
func (g *Gateway) Begin(_ context.Context, o TxOptions) (*Tx, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	if o.ID.IsZero() {
		o.ID, o.Attempt = g.NewID(), 1
	}
	now := g.opt.Clock.Now()
	o.How.Arrived = g.opt.Clock.OrderAt(now)
	if err := g.ids.check(o.ID, now); err != nil {
		return nil, err
	}
	t := &Tx{g: g, ref: kv.TxnRef{TxnID: o.ID, Attempt: max(o.Attempt, 1)}, kind: Interactive, start: now}
	if o.ReadOnly {
		t.kind = InteractiveRead
	}
	var f *msg.Failure
	g.run(g.stripeOf(o.ID), func(m *txn.Gateway, now int64) { f = m.Begin(now, t.ref, o.ReadOnly, o.How) })
	if f != nil {
		return nil, g.errorOf(f)
	}
	g.open.Add(1)
	if g.opt.Tracer != nil {
		t.span = g.opt.Tracer.Begin(o.Parent, t.kind.String(), o.ID, 0)
	}
	return t, nil
}

// ID is the transaction's id. A retry passes it to Begin.
func (t *Tx) ID() kv.TxnID { return t.ref.TxnID }

func (t *Tx) end(r *Response) {
	if t.ended {
		return
	}
	t.ended = true
	t.g.open.Add(-1)
	t.g.observe(t.kind, r, t.g.opt.Clock.Now()-t.start)
	t.span.End(r.Attempts, &r.Receipt, r.callError())
}

// Do executes operations: reads return values, writes are buffered. It owns ops. After some failures, such
// as a failed condition, the transaction stays open, and the caller decides how to continue.
//
// If ctx has a deadline, the transaction is aborted shortly before it, so that the error, a *Failed,
// contains what it waited for.
func (t *Tx) Do(ctx context.Context, ops []msg.Op) ([]msg.Result, error) {
	deadline := int64(0)
	if at, ok := ctx.Deadline(); ok {
		deadline = localDeadline(t.g.opt.Clock.Now(), at)
	}
	t.receipt = msg.Receipt{}
	t.span.Step("do", len(ops))
	rs, err := t.do(ctx, ops, deadline)
	t.span.Stepped(&t.receipt, err)
	return rs, err
}

func (t *Tx) do(ctx context.Context, ops []msg.Op, deadline int64) ([]msg.Result, error) {
	d, err := t.g.await(ctx, t.ref.TxnID, func(m *txn.Gateway, now int64, cb callback) {
		m.Do(now, cb, t.ref, ops,
			deadline)
	})
	if err != nil {
		t.Rollback()
		return nil, err
	}
	if d.Failure != nil {
		r := t.g.response(d)
		if d.Closed {
			t.end(&r)
		}
		return nil, r.callError()
	}
	t.receipt = d.Receipt
	return d.Results, nil
}

// Waited is the longest wait of the last Do, zero if there was none.
func (t *Tx) Waited() msg.Receipt { return t.receipt }

// Savepoint sets a savepoint (txn.Gateway.Savepoint).
func (t *Tx) Savepoint(ctx context.Context, name string) error {
	return t.runSavepoint(ctx, name, (*txn.Gateway).Savepoint)
}

// RollbackTo discards the writes since the newest savepoint with a name (txn.Gateway.RollbackTo).
func (t *Tx) RollbackTo(ctx context.Context, name string) error {
	return t.runSavepoint(ctx, name, (*txn.Gateway).RollbackTo)
}

// Release removes the newest savepoint with a name (txn.Gateway.Release).
func (t *Tx) Release(ctx context.Context, name string) error {
	return t.runSavepoint(ctx, name, (*txn.Gateway).Release)
}

// Open reports whether the transaction accepts calls, as far as this gateway knows.
func (t *Tx) Open() bool { return !t.ended }

func (t *Tx) runSavepoint(ctx context.Context, name string, do func(*txn.Gateway, int64, txn.CallHandle, kv.TxnRef,
	string)) error {
	d, err := t.g.await(ctx, t.ref.TxnID, func(m *txn.Gateway, now int64, cb callback) { do(m, now, cb, t.ref, name) })
	if err != nil {
		t.Rollback()
		return err
	}
	if d.Failure == nil {
		return nil
	}
	r := t.g.response(d)
	if d.Closed {
		t.end(&r)
	}
	return r.callError()
}

// Commit commits the transaction. If ctx ends before the response, the outcome is unknown.
func (t *Tx) Commit(ctx context.Context) Response {
	deadline := localDeadline(t.g.opt.Clock.Now(), deadlineOf(ctx))
	t.span.Step("commit", 0)
	d, err := t.g.await(ctx, t.ref.TxnID, func(m *txn.Gateway, now int64, cb callback) {
		m.Commit(now, cb, t.ref,
			deadline)
	})
	r := Response{ID: t.ref.TxnID, Attempts: int(t.ref.Attempt)}
	if err != nil {
		r.Err = kv.Errorf(kv.KindOutcomeUnknown,
			"the client disconnected during the commit of transaction %v; query its outcome by that id", t.ref.TxnID)
	} else {
		r = t.g.response(d)
	}
	t.end(&r)
	return r
}

// RollbackChecked aborts the transaction after it has validated all reads. An error of KindAborted means
// that a read was outdated, so conclusions from it may be wrong.
func (t *Tx) RollbackChecked(ctx context.Context) error {
	if t.ended {
		return nil
	}
	d, err := t.g.await(ctx, t.ref.TxnID, func(m *txn.Gateway, now int64, cb callback) {
		m.Rollback(now, cb, t.ref,
			true)
	})
	if err != nil {
		t.Rollback()
		return err
	}
	r := t.g.response(d)
	failed := r.callError()
	if failed == nil {
		r.Err = kv.Errorf(kv.KindCancelled, "rolled back")
	}
	t.end(&r)
	return failed
}

// Rollback aborts the transaction. After its end it has no effect.
func (t *Tx) Rollback() {
	if t.ended {
		return
	}
	t.g.run(t.g.stripeOf(t.ref.TxnID), func(m *txn.Gateway, now int64) {
		m.Rollback(now,
			callback(func(*txn.Done, int64) {}), t.ref, false)
	})
	t.end(&Response{ID: t.ref.TxnID, Attempts: int(t.ref.Attempt), Err: kv.Errorf(kv.KindCancelled, "rolled back")})
}
