package client

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// interaction is one attempt of an interactive transaction.
//
// What tells the function nothing (puts, deletes, additions) is kept back and
// goes along with the next operation that does, or with the commit; so does
// the beginning. A transaction that reads once and writes twice is two round
// trips.
type interaction struct {
	r        *retrier
	session  *session
	ref      kv.TxnRef
	readOnly bool
	how      *how // nil is the usual way
	// before is what the attempts before this one have told.
	before Receipt

	// stream is nil until something has to be sent; stop ends the watch that
	// breaks it when the context ends.
	stream *txStream
	stop   func() bool
	// begun: the server was told of the transaction, and open: it has not
	// ended it yet, so far as is known.
	begun, open bool
	// broken: the stream failed, so the last step may or may not have reached
	// the server.
	broken bool
	// uncertain: the commit was sent, and there is no response that says whether it was
	// applied.
	uncertain bool
	// over: the function has returned.
	over bool
	// wrote: something was sent, or kept back, that could change the store.
	wrote bool
	// kept are the operations kept back, and keptBytes their size.
	kept      []Op
	keptBytes int
	// failed is what ended the transaction; it is told again for each later
	// operation. If undoable, a return to a savepoint takes it back.
	failed   *Error
	undoable bool
}

// How much is kept back before it is sent without waiting for a reason.
const (
	maxKeptOps   = 256
	maxKeptBytes = 1 << 20
)

// do runs operations and waits for their results.
func (t *interaction) do(ops ...Op) ([]Result, error) {
	if err := t.check(ops); err != nil {
		return nil, err
	}
	skip := len(t.kept)
	answer, err := t.exchange(append(t.kept, ops...), nil)
	if err != nil {
		t.failed = err
		return nil, err
	}
	return resultsOf(resultsIn(answer)[skip:]), nil
}

// keep takes an operation whose result nobody waits for.
func (t *interaction) keep(op Op) error {
	if err := t.check([]Op{op}); err != nil {
		return err
	}
	t.kept = append(t.kept, op.clone())
	t.keptBytes += opBytes(&op.op)
	if len(t.kept) >= maxKeptOps || t.keptBytes >= maxKeptBytes {
		_, err := t.do()
		return err
	}
	return nil
}

// mark sends a step about savepoints, behind what was kept back.
func (t *interaction) mark(step *pb.TransactRequest) error {
	if err := t.check(nil); err != nil {
		return err
	}
	if _, err := t.exchange(t.kept, step); err != nil {
		t.failed = err
		return err
	}
	return nil
}

// rollbackTo returns to a savepoint. What is kept back came after all of them.
func (t *interaction) rollbackTo(name string) error {
	if t.failed != nil && t.undoable && !t.over {
		t.failed, t.undoable = nil, false
	}
	if err := t.check(nil); err != nil {
		return err
	}
	t.kept, t.keptBytes = t.kept[:0], 0
	step := &pb.TransactRequest{Step: &pb.TransactRequest_RollbackTo{RollbackTo: &pb.SavepointStep{Name: name}}}
	if _, err := t.exchange(nil, step); err != nil {
		t.failed = err
		return err
	}
	return nil
}

func (t *interaction) check(ops []Op) error {
	if t.over {
		e := errorf(kv.KindInvalid, nil, "the transaction is over")
		e.Hint = "use it only inside the function that it was given to"
		return e
	}
	if t.failed != nil {
		return t.failed
	}
	over := t.r.over("before the step was sent")
	if over != nil {
		t.failed = over
		return over
	}
	if len(ops) > 0 {
		if err := checkOps(ops); err != nil {
			return asError(err)
		}
	}
	for i := range ops {
		t.wrote = t.wrote || !ops[i].ReadOnly()
	}
	return nil
}

func (t *interaction) commit() *Error {
	if !t.begun && len(t.kept) == 0 {
		return nil
	}
	commit, before := &pb.CommitStep{TimeoutMs: t.timeoutMs()}, t.kept
	if t.along() {
		commit.Last, before = t.doStep(t.kept), nil
	}
	answer, err := t.exchange(before, &pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: commit}})
	if err == nil && answer.GetCommitted() == nil {
		t.broken, t.uncertain = true, true
		err = errorf(kv.KindInternal, nil, "the server answered a commit with %T", answer.Response)
	}
	if err == nil {
		t.report(outcomeOf(answer.GetCommitted()))
	}
	return err
}

// report fills what the caller has given to Into.
func (t *interaction) report(out *Outcome) {
	if t.how == nil || t.how.into == nil {
		return
	}
	*t.how.into = *out
	t.how.into.ID = t.ref.TxnID
	t.how.into.Receipt.after(t.before)
}

func (t *interaction) rollback() *Error {
	if !t.begun {
		return nil
	}
	_, err := t.exchange(nil, &pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.RollbackStep{}}})
	return err
}

// exchange sends what there is to send, without waiting in between: the
// beginning if it has not been sent, ops if there are any, along with it if the node
// knows that, and last if it is not nil. It returns the answer to the last of them.
func (t *interaction) exchange(ops []Op, last *pb.TransactRequest) (*pb.TransactResponse, *Error) {
	over := t.r.over("before the step was sent")
	if over != nil {
		return nil, over
	}
	if err := t.connect(); err != nil {
		return nil, err
	}
	var steps []*pb.TransactRequest
	do := t.doStep(ops)
	if !t.begun {
		begin := &pb.BeginStep{TxnId: t.ref.TxnID, Attempt: t.ref.Attempt, ReadOnly: t.readOnly,
			MaxResponseBytes: pb.MaxMessageBytes,
			Traceparent:      t.r.db.opts.traceparent(t.r.ctx)}
		if t.along() {
			begin.First, do = do, nil
		}
		if t.how != nil {
			begin.At, begin.CausalityToken, begin.Plan = t.how.at, t.how.token, t.how.plan
		}
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: begin}})
		t.begun, t.open = true, true
	}
	if do != nil {
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: do}})
	}
	t.kept, t.keptBytes = t.kept[:0], 0
	if last != nil {
		steps = append(steps, last)
	}
	return t.sendAndReceive(steps)
}

// along says that the node runs operations that come along with a begin or a commit. One
// of before that was possible would ignore them, and commit what is left.
func (t *interaction) along() bool { return t.session.welcome.Revision >= 1 }

// doStep is a step that runs ops, nil if there are none.
func (t *interaction) doStep(ops []Op) *pb.ExecuteStep {
	if len(ops) == 0 {
		return nil
	}
	return &pb.ExecuteStep{Ops: wireOps(ops), TimeoutMs: t.timeoutMs()}
}

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
			t.broken = true
			e := failure(t.r.context(), err)
			// What gRPC says of its own may come after a commit; a node that drains,
			// or has no memory for the stream, ends it instead of the steps that it has
			// not answered.
			refused := (e.Kind == kv.KindUnavailable || e.Kind == kv.KindResourceExhausted) && detail.From(err) != nil
			t.uncertain = commits && !refused
			return nil, e
		}
		if f := answer.GetStepFailed(); f != nil && undoable == nil {
			undoable = fromDetail(f)
		}
		if undoable != nil && i == len(steps)-1 {
			t.undoable = true
			return nil, undoable
		}
		if f := answer.GetFailed(); f != nil {
			// Answers to the steps behind it are still on their way.
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

// operationsIn is how many operations a step asks for.
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

// resultsIn are the results of the operations of the step that is answered.
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

// ignored is the error of a step whose operations the node has not run as they were asked.
func ignored(results, operations int) *Error {
	e := errorf(kv.KindInternal, nil, "the node has answered %d operations with %d results", operations, results)
	e.Hint = "it speaks another version, and may have committed the transaction without some of them: let clients and nodes be of one version"
	return e
}

// timeoutMs is what the server is to take at most for a step, 0 for any time.
func (t *interaction) timeoutMs() uint32 {
	return timeoutMs(margin(t.r.ctx))
}

// beginCommit is called before the commit is sent. From then on the end of the context
// breaks the stream only after CommitGrace, unless there is a response by then. It returns
// an error if the context has ended.
func (t *interaction) beginCommit() *Error {
	ctx, st, grace := t.r.context(), t.stream, t.how.commitGrace()
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

// leave gives the stream back for the next transaction, if this one has ended
// on both sides, and else breaks it, which makes the server abort.
func (t *interaction) leave() {
	t.over = true
	if t.stream == nil {
		return
	}
	if t.stop() && !t.open && !t.broken {
		t.session.streams.put(t.stream)
		return
	}
	t.stream.cancel()
}
