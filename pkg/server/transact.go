package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/users"
)

// transact is one Transact stream: at most one transaction is open on it.
type transact struct {
	service *service
	caller  *guard.Caller
	// tx is the open transaction, nil when there is none.
	tx Tx
	// began is the user that began it; nil if no user is known. begun: opened has it.
	began *users.User
	begun bool
	// id, attempt, readOnly and used belong to tx; id and attempt stay for
	// later errors.
	id       kv.TxnID
	attempt  uint32
	readOnly bool
	used     budget
	// limit is the largest response that the client receives, in bytes.
	limit uint32
	// held is the memory of the open transaction: what it has written and read.
	held held
	// marked: it has had a savepoint, so that a failed step does not end it;
	// broken: a step has failed, and is to be taken back first.
	marked, broken bool
	// parent is the caller's trace, as the stream's metadata have it.
	parent trace.Parent
}

// Transact serves a stream: this goroutine runs the steps, a second one
// receives them, so that a stopping server can end a stream on which nothing
// is open.
func (s *service) Transact(stream grpc.BidiStreamingServer[pb.TransactRequest, pb.TransactResponse]) error {
	t := &transact{service: s, caller: guard.CallerOf(stream.Context()), parent: s.parent(stream.Context()),
		held: held{account: guard.AccountOf(stream.Context())}}
	defer t.over()
	defer t.rollback()
	steps, stop := make(chan received), make(chan struct{})
	defer close(stop)
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		receive(stream, steps, stop)
	}()
	for {
		var idle <-chan struct{}
		if t.tx == nil {
			idle = s.draining
		}
		select {
		case <-idle:
			return statusOf(stopping(), kv.TxnID{})
		case <-s.cutting:
			return statusOf(stopping(), t.id)
		case in := <-steps:
			refused := (*refusedMessage)(nil)
			var out *pb.TransactResponse
			switch {
			case errors.Is(in.err, io.EOF):
				return nil
			case errors.As(in.err, &refused):
				out = t.refused(stream.Context(), refused.why)
			case in.err != nil:
				return in.err
			default:
				out = t.step(stream.Context(), in.step)
			}
			if err := stream.Send(out); err != nil {
				return err
			}
		}
	}
}

// refused answers a step that there was no memory for.
func (t *transact) refused(ctx context.Context, err *kv.Error) *pb.TransactResponse {
	if t.tx == nil {
		t.id, t.attempt = kv.TxnID{}, 0 // it would have begun one
		return t.failed(ctx, err)
	}
	return t.failedStep(ctx, err)
}

// received is a step or the reason why there are no more.
type received struct {
	step *pb.TransactRequest
	err  error
}

func receive(stream grpc.BidiStreamingServer[pb.TransactRequest, pb.TransactResponse], to chan<- received,
	stop <-chan struct{}) {
	for {
		step, err := stream.Recv()
		select {
		case to <- received{step, err}:
		case <-stop:
			return
		}
		refused := (*refusedMessage)(nil)
		if err != nil && !errors.As(err, &refused) {
			return
		}
	}
}

// step runs one step and answers it.
func (t *transact) step(ctx context.Context, in *pb.TransactRequest) *pb.TransactResponse {
	if t.broken && t.tx != nil && in.GetRollbackTo() == nil && in.GetRollback() == nil {
		return t.failedStep(ctx, invalid("an earlier step of the transaction failed",
			"roll back to a savepoint from before that step, or roll back the transaction"))
	}
	switch s := in.Step.(type) {
	case *pb.TransactRequest_Begin:
		return t.beginWith(ctx, s.Begin)
	case *pb.TransactRequest_Execute:
		return t.do(ctx, s.Execute)
	case *pb.TransactRequest_Commit:
		return t.commitWith(ctx, s.Commit)
	case *pb.TransactRequest_Savepoint:
		return t.mark(ctx, s.Savepoint.Name, Tx.Savepoint)
	case *pb.TransactRequest_RollbackTo:
		return t.mark(ctx, s.RollbackTo.Name, Tx.RollbackTo)
	case *pb.TransactRequest_Release:
		return t.mark(ctx, s.Release.Name, Tx.Release)
	case *pb.TransactRequest_Rollback:
		if t.tx == nil {
			return t.failed(ctx, notOpen())
		}
		tx := t.tx
		t.tx = nil
		defer t.over()
		if err := tx.RollbackChecked(ctx); err != nil {
			return t.failed(ctx, err)
		}
		return &pb.TransactResponse{Response: &pb.TransactResponse_RolledBack{RolledBack: &pb.RolledBack{}}}
	}
	return t.failed(ctx, invalid("the server does not know this kind of step",
		"use one of begin, do, commit, rollback, savepoint, rollback_to, release"))
}

func notOpen() *kv.Error {
	return invalid("no transaction is open on the stream", "begin one; a failed step has ended the previous transaction")
}

// beginWith begins a transaction, and runs the operations that came with the step.
func (t *transact) beginWith(ctx context.Context, in *pb.BeginStep) *pb.TransactResponse {
	out := t.begin(ctx, in)
	begun := out.GetBegun()
	if begun == nil || in.First == nil {
		return out
	}
	done := t.do(ctx, in.First)
	begun.Executed = done.GetExecuted()
	if begun.Executed == nil {
		return done
	}
	return out
}

func (t *transact) begin(ctx context.Context, in *pb.BeginStep) *pb.TransactResponse {
	if t.tx != nil {
		return t.failed(ctx, invalid("a transaction is already open on the stream", "commit it or roll it back first"))
	}
	t.id, t.attempt, t.readOnly, t.used = t.service.idOr(in.TxnId), max(1, in.Attempt), in.ReadOnly, budget{}
	t.marked, t.broken = false, false
	kerr := t.service.rejection()
	if kerr != nil {
		return t.failed(ctx, kerr)
	}
	t.began, kerr = t.caller.User()
	if kerr != nil {
		return t.failed(ctx, kerr)
	}
	how, kerr := t.service.how(in.At, in.CausalityToken, in.Plan)
	if kerr != nil {
		return t.failed(ctx, kerr)
	}
	how.User = t.caller.Account()
	t.limit, kerr = maxResponse(in.MaxResponseBytes)
	if kerr != nil {
		return t.failed(ctx, kerr)
	}
	tx, err := t.service.backend().Begin(ctx, gateway.TxOptions{ID: t.id, Attempt: t.attempt, ReadOnly: t.readOnly,
		How:    how,
		Parent: t.parentOf(in)})
	if err != nil {
		return t.failed(ctx, err)
	}
	t.tx = tx
	t.service.opened.begin(ctx, t.id)
	t.begun = true
	return &pb.TransactResponse{Response: &pb.TransactResponse_Begun{Begun: &pb.Begun{TxnId: t.id, Attempt: t.attempt}}}
}

// parentOf is the trace of one transaction of the stream.
func (t *transact) parentOf(in *pb.BeginStep) trace.Parent {
	if !t.service.opts.Traces || in.Traceparent == "" || len(in.Traceparent) > maxTraceparent {
		return t.parent
	}
	return trace.Parent(in.Traceparent)
}

func (t *transact) do(ctx context.Context, in *pb.ExecuteStep) *pb.TransactResponse {
	if t.tx == nil {
		return t.failed(ctx, notOpen())
	}
	written := t.used.memory()
	ops, kerr := operations(in.Ops, &t.used)
	if kerr != nil {
		return t.failedStep(ctx, kerr)
	}
	if slices.ContainsFunc(ops, func(o msg.Op) bool { return o.Stored }) {
		return t.failedStep(ctx, invalid("interactive transactions do not support dump and restore", "use Execute"))
	}
	if kerr := t.caller.CheckOpen(ops); kerr != nil {
		return t.failed(ctx, kerr)
	}
	if t.readOnly && t.used.writes {
		return t.failedStep(ctx, invalid("the transaction is read-only and the step writes", "use a read-write transaction"))
	}
	ctx, cancel := within(ctx, in.TimeoutMs)
	defer cancel()
	rs, err := t.run(ctx, ops, t.used.memory()-written)
	if err != nil {
		return t.failedStep(ctx, err)
	}
	waited := txn.Contention{Receipt: t.tx.Waited()}
	t.service.opened.hide(ctx, &waited)
	done := &pb.Executed{Results: results(nil, rs), Receipt: worded(receipt(&waited))}
	if done.Size()+frameBytes > int(t.limit) {
		done.Receipt = nil
	}
	return &pb.TransactResponse{Response: &pb.TransactResponse_Executed{Executed: done}}
}

// run runs operations, which take so many bytes. If they fail, the transaction may go on,
// without what their results were expected to have.
func (t *transact) run(ctx context.Context, ops []msg.Op, bytes int64) ([]msg.Result, error) {
	has := t.held.bytes + bytes
	t.held.class = t.used.class
	if err := t.held.expect(ctx, bytes); err != nil {
		return nil, err
	}
	rs, err := t.tx.Do(ctx, ops)
	if err != nil {
		t.held.saw(answerBytes(nil, errorOf(err)))
		t.held.failed(ctx, t.held.bytes-has)
		return nil, err
	}
	t.held.saw(resultBytes(rs))
	none := tooLarge(rs, t.limit)
	if none == nil {
		none = t.held.has(has + int64(resultBytes(rs)))
	}
	if none != nil {
		t.held.give(t.held.bytes - has)
		return nil, none
	}
	return rs, nil
}

// within bounds what a step may take; 0 is no bound.
func within(ctx context.Context, timeoutMs uint32) (context.Context, context.CancelFunc) {
	if timeoutMs == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(timeoutMs)*time.Millisecond)
}

// commitWith runs the operations that came with the step, and commits.
func (t *transact) commitWith(ctx context.Context, in *pb.CommitStep) *pb.TransactResponse {
	var results []pb.Result
	if in.Last != nil {
		out := t.do(ctx, in.Last)
		done := out.GetExecuted()
		if done == nil {
			return out
		}
		results = done.Results
	}
	ctx, cancel := within(ctx, in.TimeoutMs)
	defer cancel()
	out := t.commit(ctx)
	if committed := out.GetCommitted(); committed != nil {
		committed.Results = results
		fit(committed, int(t.limit))
	}
	return out
}

func (t *transact) commit(ctx context.Context) *pb.TransactResponse {
	if t.tx == nil {
		return t.failed(ctx, notOpen())
	}
	if err := t.caller.Unchanged(t.began); err != nil {
		return t.failed(ctx, err)
	}
	r := t.tx.Commit(ctx)
	t.tx = nil
	t.over()
	settle(&r, t.id, t.used.writes, t.limit)
	t.service.opened.hide(ctx, &r.Contention)
	if r.Attempts == 0 {
		r.Attempts = int(t.attempt)
	}
	if r.Err != nil {
		d := failedResponse(&r)
		worded(d.Receipt)
		fitError(d, int(t.limit))
		return &pb.TransactResponse{Response: &pb.TransactResponse_Failed{Failed: d}}
	}
	out := new(pb.ExecuteResponse)
	t.service.response(out, &r)
	worded(out.Receipt)
	fit(out, int(t.limit))
	return &pb.TransactResponse{Response: &pb.TransactResponse_Committed{Committed: out}}
}

// mark changes the transaction's savepoints.
func (t *transact) mark(ctx context.Context, name string,
	do func(Tx, context.Context, string) error) *pb.TransactResponse {
	if t.tx == nil {
		return t.failed(ctx, notOpen())
	}
	if err := do(t.tx, ctx, name); err != nil {
		return t.failedStep(ctx, err)
	}
	t.marked, t.broken = true, false
	return &pb.TransactResponse{Response: &pb.TransactResponse_Executed{Executed: &pb.Executed{}}}
}

// failedStep answers a step that has failed. A transaction with savepoints waits
// for what its client makes of that, if the failure has left it open.
func (t *transact) failedStep(ctx context.Context, err error) *pb.TransactResponse {
	if !t.marked || !t.tx.Open() {
		return t.failed(ctx, err)
	}
	t.broken = true
	d := failedCall(t.service.opened.hidden(ctx, err), t.id, int(t.attempt))
	return &pb.TransactResponse{Response: &pb.TransactResponse_StepFailed{StepFailed: d}}
}

// failed rolls back what is open: after a failure a transaction is over. The step
// may have failed because of what the client had read. So the failure is reported
// only if that was current; if it was not, the error is retryable.
func (t *transact) failed(ctx context.Context, err error) *pb.TransactResponse {
	if t.tx != nil && !kv.KindOf(err).Retryable() {
		if stale := t.tx.RollbackChecked(ctx); stale != nil {
			err = stale
		}
	}
	t.rollback()
	return &pb.TransactResponse{Response: &pb.TransactResponse_Failed{Failed: failedCall(t.service.opened.hidden(ctx, err),
		t.id, int(t.attempt))}}
}

func (t *transact) rollback() {
	if t.tx != nil {
		t.tx.Rollback()
		t.tx = nil
		t.over()
	}
}

// over gives back the memory of a transaction that has ended.
func (t *transact) over() {
	t.held.release()
	if t.begun {
		t.service.opened.end(t.id)
		t.begun = false
	}
}
