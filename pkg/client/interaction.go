package client

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// interaction is one attempt of an interactive transaction.
//
// Operations without a result (puts, deletes, additions) are buffered and sent with the next
// operation that has one, or with the commit; so is the begin. A transaction that reads once and
// writes twice is two round trips.
type interaction struct {
	db       *DB
	r        *retrier
	session  *session
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
	// step is the context of the current step.
	step context.Context
	// end ends attempt.
	end context.CancelFunc
	// course is reported to, may be nil.
	course *course

	// stream is nil until something has to be sent; stop ends the watch that breaks it when the
	// context ends.
	stream *txStream
	stop   func() bool
	// begun: the node has been sent the begin, and open: it has not ended the transaction yet, so
	// far as is known.
	begun, open bool
	// broken: the stream failed, so the last step may or may not have reached the node.
	broken bool
	// uncertain: the commit was sent, and there is no response that says whether it was applied.
	uncertain bool
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
	all, skip := t.buffer, len(t.buffer)
	for _, op := range ops {
		if p := op.part(); looksFirst(p) {
			// The node does not look whether a key exists that a transaction deletes.
			all = append(all, GetForUpdateOp(p.Key()))
		}
		all = append(all, op)
	}
	answer, err := t.exchange(all, nil)
	if err != nil {
		t.failed = err
		t.inCall(err, all, ops)
		return err
	}
	results := arrange(ops, resultsIn(answer)[skip:])
	err = fill(ops, &pb.ExecuteResponse{TxnId: t.ref.TxnID, Results: results})
	if err != nil {
		err.Outcome = NotApplied
		t.failed, t.undoable = err, true
		err.inArguments(ops)
		return err
	}
	return nil
}

// looksFirst reports whether a read of the key has to find out whether there is something to delete.
func looksFirst(o *operation) bool {
	return o.op.Kind == msg.OpDelete && o.op.Expect == msg.ExpectNothing && o.returns
}

// arrange gives each operation its result, and a delete whether the read before it has found the key.
func arrange(ops []Op, results []pb.Result) []pb.Result {
	if len(results) == len(ops) {
		return results
	}
	out := make([]pb.Result, 0, len(ops))
	for _, op := range ops {
		found := false
		if looksFirst(op.part()) {
			found, results = results[0].Found, results[1:]
			results[0].Found = found
		}
		out, results = append(out, results[0]), results[1:]
	}
	return out
}

// inCall completes an error about one of the operations that were sent. Those in the buffer are none of
// the call's; the read before a delete is a part of that.
func (t *interaction) inCall(e *Error, all, ops []Op) {
	sent := e.Op
	e.Op = -1
	if sent < 0 || sent >= len(all) {
		return
	}
	for i, op := range ops {
		p := op.part()
		if all[sent] == op || looksFirst(p) && sent+1 < len(all) && all[sent+1] == op {
			e.Op, p.err = i, e
			e.about(p)
			return
		}
	}
	e.about(all[sent].part())
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
		t.failed = err
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
		t.failed = err
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
	if _, err := t.exchange(nil, step); err != nil {
		t.failed = err
		return err
	}
	return nil
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
	if over := t.ended("before the step was sent"); over != nil {
		t.failed = over
		return over
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
		case t.readOnly && !op.ReadOnly():
			e := errorf(KindInvalid, nil, "a View cannot write")
			e.Op, e.Hint = i, "use DB.Update"
			return e
		case p.op.Stored:
			e := errorf(KindInvalid, nil, "a dump or a restore is not for an interactive transaction")
			e.Op, e.Hint = i, "use Execute of the DB"
			return e
		}
	}
	return nil
}

// ended returns an error if the context of the call or that of the step has ended, or the DB is
// closed.
func (t *interaction) ended(when string) *Error {
	over := t.r.over(when)
	if over == nil && t.step != nil && t.step.Err() != nil {
		return contextError(t.step, when)
	}
	return over
}

func (t *interaction) commit() *Error {
	if over := t.r.over("before the commit was sent"); over != nil {
		return over
	}
	if !t.begun && len(t.buffer) == 0 {
		return nil
	}
	commit, before, sent := &pb.CommitStep{TimeoutMs: t.timeoutMs()}, t.buffer, t.buffer
	if t.along() {
		commit.Last, before = t.doStep(t.buffer), nil
	}
	answer, err := t.exchange(before, &pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: commit}})
	if err == nil && answer.GetCommitted() == nil {
		t.broken, t.uncertain = true, true
		err = errorf(KindInternal, nil, "the node responded to a commit with %T", answer.Response)
	}
	if err != nil {
		t.inCall(err, sent, nil)
		return err
	}
	t.report(answer.GetCommitted())
	return nil
}

// report reports the response to a commit.
func (t *interaction) report(r *pb.ExecuteResponse) {
	r.TxnId, r.Receipt = t.ref.TxnID, after(r.Receipt, t.before)
	t.course.responded(r, int(t.ref.Attempt))
}

func (t *interaction) rollback() *Error {
	if !t.begun {
		return nil
	}
	_, err := t.exchange(nil, &pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.RollbackStep{}}})
	return err
}

// exchange sends what there is to send, without waiting in between: the begin if it has not been
// sent, ops if there are any, with the begin if the node supports that, and last if it is not nil. It
// returns the response to the last of them.
func (t *interaction) exchange(ops []Op, last *pb.TransactRequest) (*pb.TransactResponse, *Error) {
	over := t.ended("before the step was sent")
	if over != nil {
		return nil, over
	}
	if err := t.connect(); err != nil {
		return nil, err
	}
	var steps []*pb.TransactRequest
	do := t.doStep(ops)
	if !t.begun {
		begin := t.beginStep()
		if t.along() {
			begin.First, do = do, nil
		}
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: begin}})
		t.begun, t.open = true, true
	}
	if do != nil {
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: do}})
	}
	t.clearBuffer()
	if last != nil {
		steps = append(steps, last)
	}
	unwatch := t.watchStep()
	answer, err := t.sendAndReceive(steps)
	if !unwatch() {
		t.broken = true
		if err == nil {
			t.failed = contextError(t.step, "after the step")
		}
	}
	return answer, err
}

func (t *interaction) beginStep() *pb.BeginStep {
	h := t.r.how
	return &pb.BeginStep{TxnId: t.ref.TxnID, Attempt: t.ref.Attempt, ReadOnly: t.readOnly, MaxResponseBytes: pb.MaxMessageBytes,
		Traceparent: t.db.core.opts.traceparent(t.r.ctx), At: h.at, CausalityToken: h.token, Plan: h.plan}
}

// watchStep breaks the stream when the context of the step ends, until stop is called, which reports
// whether it has not. The context that fn was given ends with the attempt, and not before.
func (t *interaction) watchStep() (stop func() bool) {
	if t.step == nil || t.step == t.attempt {
		return func() bool { return true }
	}
	return context.AfterFunc(t.step, t.stream.cancel)
}

// along reports whether the node runs operations that come along with a begin or a commit. An older
// one would ignore them, and commit the rest.
func (t *interaction) along() bool { return t.session.welcome.Revision >= 1 }

// doStep is a step that runs ops, nil if there are none.
func (t *interaction) doStep(ops []Op) *pb.ExecuteStep {
	if len(ops) == 0 {
		return nil
	}
	return &pb.ExecuteStep{Ops: wireOps(ops), TimeoutMs: t.timeoutMs()}
}

// timeoutMs is how long the node may take for a step, 0 for any time.
func (t *interaction) timeoutMs() uint32 {
	d := margin(t.r.ctx)
	if t.step != nil && t.step != t.attempt {
		if s := margin(t.step); s > 0 && (d == 0 || s < d) {
			d = s
		}
	}
	return timeoutMs(d)
}

// sendAndReceive sends steps and receives their responses, and returns the last one.
func (t *interaction) sendAndReceive(steps []*pb.TransactRequest) (*pb.TransactResponse, *Error) {
	commits := false
	for _, step := range steps {
		if step.GetCommit() != nil {
			over := t.beginCommit()
			if over != nil {
				return nil, over
			}
			defer t.session.endCommit()
			commits = true
		}
		if t.stream.stream.Send(step) != nil { // the reason comes from Recv
			commits = false
			break
		}
	}
	var undoable *Error
	for i := range steps {
		answer, err := t.stream.stream.Recv()
		if err != nil {
			return nil, t.lost(err, commits)
		}
		if f := answer.GetStepFailed(); f != nil && undoable == nil {
			undoable = fromDetail(f)
		}
		if undoable != nil && i == len(steps)-1 {
			t.undoable = true
			return nil, undoable
		}
		if f := answer.GetFailed(); f != nil {
			// Responses to the steps behind it are still to come.
			t.open = i < len(steps)-1
			e := fromDetail(f)
			t.uncertain = commits && !t.open && e.uncertain()
			return nil, e
		}
		results, asked := len(resultsIn(answer)), operationsIn(steps[i])
		if undoable == nil && asked > 0 && results != asked {
			return nil, ignored(results, asked)
		}
		if i == len(steps)-1 {
			t.open = answer.GetCommitted() == nil && answer.GetRolledBack() == nil
			return answer, nil
		}
	}
	panic("client: nothing was sent")
}

// lost is the error of a stream that ended before the response to a step.
func (t *interaction) lost(err error, commits bool) *Error {
	t.broken = true
	e := failure(t.r.context(), err)
	if t.step != nil && t.step.Err() != nil && t.r.context().Err() == nil && detail.From(err) == nil {
		e = contextError(t.step, "before the response arrived")
	}
	// The status may be gRPC's own, after a commit; a node that drains, or has no memory for the
	// stream, ends it instead of the steps to which it has not responded.
	refused := (e.Kind == KindUnavailable || e.Kind == KindResourceExhausted) && detail.From(err) != nil
	t.uncertain = commits && !refused
	return e
}

// operationsIn is how many operations a step has.
func operationsIn(step *pb.TransactRequest) int {
	do := step.GetExecute()
	switch {
	case step.GetBegin() != nil:
		do = step.GetBegin().First
	case step.GetCommit() != nil:
		do = step.GetCommit().Last
	}
	if do == nil {
		return 0
	}
	return len(do.Ops)
}

// resultsIn are the results of the operations of the step that has this response.
func resultsIn(answer *pb.TransactResponse) []pb.Result {
	done := answer.GetExecuted()
	if committed := answer.GetCommitted(); committed != nil {
		return committed.Results
	}
	if begun := answer.GetBegun(); begun != nil {
		done = begun.Executed
	}
	if done == nil {
		return nil
	}
	return done.Results
}

// ignored is the error of a step whose operations the node has not all run.
func ignored(results, operations int) *Error {
	e := errorf(KindInternal, nil, "the node has returned %d results for %d operations", results, operations)
	e.Hint = "it has another version, and may have committed the transaction without some of them: use one version for clients and nodes"
	return e
}

// beginCommit is called before the commit is sent. From then on the end of the context breaks the
// stream only after CommitGrace, unless there is a response by then. It returns an error if the
// context has ended.
func (t *interaction) beginCommit() *Error {
	ctx, st, grace := t.r.context(), t.stream, t.r.how.grace
	if !t.stop() {
		t.broken = true
		return contextError(ctx, "before the commit was sent")
	}
	if !t.session.beginCommit() {
		t.broken = true
		return closedError("before the commit was sent")
	}
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-left:
		case <-timer.C:
			st.cancel()
		}
	})
	t.stop = func() bool {
		close(left)
		return stop()
	}
	return nil
}

func (t *interaction) connect() *Error {
	if t.stream != nil {
		return nil
	}
	st := t.session.streams.get()
	if st == nil {
		ctx, cancel := context.WithCancel(context.Background())
		stop := context.AfterFunc(t.r.context(), cancel)
		stream, err := t.session.kv.Transact(ctx)
		if err != nil {
			stop()
			cancel()
			return failure(t.r.context(), err)
		}
		t.stream, t.stop = &txStream{stream, cancel}, stop
		return nil
	}
	t.stream, t.stop = st, context.AfterFunc(t.r.context(), st.cancel)
	return nil
}

// leave returns the stream for the next transaction, if this one has ended on both sides, and else
// breaks it, which makes the node abort.
func (t *interaction) leave() {
	t.over = true
	t.end()
	if t.stream == nil {
		return
	}
	if t.stop() && !t.open && !t.broken {
		t.session.streams.put(t.stream)
		return
	}
	t.stream.cancel()
}
