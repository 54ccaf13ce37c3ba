package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// interaction is one attempt of an interactive transaction.
//
// Operations without a result (puts, deletes, additions) are buffered and sent with the next
// operation that has one, or with the commit; so is the begin. A transaction that reads once and
// writes twice is two round trips.
type interaction struct {
	db   *DB
	call *link.Call
	// wire sends and receives.
	wire     link.Tx
	ref      kv.TxnRef
	readOnly bool
	// before is the receipt of the attempts before this one.
	before *pb.Receipt
	// fn is passed attempt, which is &passed, and &tx or &view. They are here so that an attempt is one
	// allocation.
	attempt context.Context
	passed  attemptContext
	tx      Tx
	view    View
	// step is the context of the current step, or that of the call if it is attempt.
	step context.Context
	// course is reported to, may be nil.
	course *course

	// begun: the node has been sent the begin.
	begun bool
	// over: fn has returned.
	over bool
	// wrote: something was sent or buffered that could change the store.
	wrote bool
	// buffer has the operations that are not sent yet, and bufferBytes their size.
	buffer      []Op
	bufferBytes int
	// failed is what ended the transaction; each later operation returns it again. If undoable, a
	// rollback to a savepoint undoes it.
	failed   *Error
	undoable bool
}

// The bounds of the buffer, at which it is sent.
const (
	maxBuffered      = 256
	maxBufferedBytes = 1 << 20
)

// do runs operations, behind those in the buffer, and fills their results.
func (t *interaction) do(ctx context.Context, ops []Op) *Error {
	reset(ops)
	if err := t.check(ctx, ops); err != nil {
		err.inArguments(ops)
		return err
	}
	all, skip := append(t.buffer, ops...), len(t.buffer)
	answer, err := t.exchange(all, nil)
	if err != nil {
		t.fail(err)
		t.inCall(err, all, ops)
		return err
	}
	err = fill(ops, &pb.ExecuteResponse{TxnId: t.ref.TxnID, Results: link.ResultsOf(answer)[skip:]})
	if err != nil {
		err.Outcome = NotApplied
		t.failed, t.undoable = err, true
		err.inArguments(ops)
		return err
	}
	return nil
}

// inCall completes an error about one of the operations that were sent: those in the buffer, and then
// those of the call.
func (t *interaction) inCall(e *Error, all, ops []Op) {
	sent := e.Op
	e.Op = -1
	if sent < 0 || sent >= len(all) {
		return
	}
	e.about(all[sent].part())
	if i := sent - (len(all) - len(ops)); i >= 0 {
		e.Op, ops[i].part().err = i, e
	}
}

// keep buffers an operation whose result is not read, and which the caller does not have.
func (t *interaction) keep(ctx context.Context, op Op) *Error {
	if err := t.check(ctx, []Op{op}); err != nil {
		err.inArguments([]Op{op})
		err.Op = -1
		return err
	}
	p := op.part()
	p.own()
	p.returns = false
	t.buffer = append(t.buffer, op)
	t.bufferBytes += opBytes(&p.op)
	if len(t.buffer) >= maxBuffered || t.bufferBytes >= maxBufferedBytes {
		return t.flush(ctx)
	}
	return nil
}

// flush sends the buffer.
func (t *interaction) flush(ctx context.Context) *Error {
	if err := t.check(ctx, nil); err != nil {
		return err
	}
	if len(t.buffer) == 0 {
		return nil
	}
	sent := t.buffer
	_, err := t.exchange(t.buffer, nil)
	if err != nil {
		t.fail(err)
		t.inCall(err, sent, nil)
		return err
	}
	return nil
}

// mark sends a step about savepoints, behind the buffer.
func (t *interaction) mark(ctx context.Context, step *pb.TransactRequest) *Error {
	if err := t.check(ctx, nil); err != nil {
		return err
	}
	sent := t.buffer
	if _, err := t.exchange(t.buffer, step); err != nil {
		t.fail(err)
		t.inCall(err, sent, nil)
		return err
	}
	return nil
}

// rollbackTo returns to a savepoint. What is in the buffer came after all of them.
func (t *interaction) rollbackTo(ctx context.Context, name string) *Error {
	if t.failed != nil && t.undoable && !t.over {
		t.failed, t.undoable = nil, false
	}
	if err := t.check(ctx, nil); err != nil {
		return err
	}
	t.clearBuffer()
	step := &pb.TransactRequest{Step: &pb.TransactRequest_RollbackTo{RollbackTo: &pb.SavepointStep{Name: name}}}
	_, err := t.exchange(nil, step)
	if err != nil {
		t.fail(err)
	}
	return err
}

// clearBuffer leaves what was in the buffer to errors about it.
func (t *interaction) clearBuffer() { t.buffer, t.bufferBytes = nil, 0 }

// check returns what forbids another step with these operations. Its errors end the transaction.
func (t *interaction) check(ctx context.Context, ops []Op) *Error {
	if t.over {
		e := errorf(KindInvalid, nil, "the transaction is over")
		e.Hint = "use it only inside of the function that it was passed to"
		return e
	}
	if t.failed != nil {
		return t.failed
	}
	t.step = ctx
	if ctx == t.attempt {
		t.step = t.call.Context()
	}
	if over := t.wire.Ended(t.step, "before the step was sent"); over != nil {
		t.failed = errorOf(over)
		return t.failed
	}
	if len(ops) == 0 {
		return nil
	}
	if err := t.checkOps(ops); err != nil {
		t.failed, t.undoable = err, true
		return err
	}
	for _, op := range ops {
		t.wrote = t.wrote || !op.ReadOnly()
	}
	return nil
}

func (t *interaction) checkOps(ops []Op) *Error {
	if err := checkOps(ops); err != nil {
		return asError(err)
	}
	for i, op := range ops {
		p := op.part()
		switch {
		case t.readOnly && p.writes():
			e := errorf(KindInvalid, nil, "the transaction is read-only and the operation writes")
			e.Op, e.Hint = i, "use a read-write transaction"
			return e
		case p.op.Stored:
			e := errorf(KindInvalid, nil, "a dump or a restore is not for an interactive transaction")
			e.Op, e.Hint = i, "use Execute of the DB"
			return e
		}
	}
	return nil
}

// fail notes what ended the transaction.
func (t *interaction) fail(err *Error) {
	t.failed, t.undoable = err, err.from.Undoable
}
