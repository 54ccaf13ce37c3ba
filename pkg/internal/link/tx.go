package link

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Tx sends the steps of one attempt of an interactive transaction, and receives the responses. It is for
// one goroutine, and is ended by Close.
//
//	Begin ── Exchange ──► open ── the node has ended it ──► Close: the stream is for the next one
//	                       │
//	                       └── the context ended, or the connection ──► Close: the stream is cancelled
type Tx struct {
	call    *Call
	session *Session
	// stream is nil until something has to be sent; stop ends the watch that breaks it when the
	// context of the call ends.
	stream *txStream
	stop   func() bool
	// step is the context of the current step, which may be the call's.
	step context.Context
	// open: the node has not ended the transaction yet, so far as is known.
	open bool
	// broken: the stream failed, so the last step may or may not have reached the node.
	broken bool
	// late is what Late returns.
	late *Error
}

// Begin begins an attempt at the live session. It sends nothing.
func (c *Call) Begin() (Tx, *Error) {
	s, err := c.Session()
	if err != nil {
		return Tx{}, err
	}
	return Tx{call: c, session: s}, nil
}

// Close returns the stream for the next transaction, if this one has ended on both sides, and else
// breaks it, which makes the node abort.
func (t *Tx) Close() {
	defer t.session.Release()
	if t.stream == nil {
		return
	}
	if t.stop() && !t.open && !t.broken {
		t.session.streams.put(t.stream)
		return
	}
	t.stream.cancel()
}

// Combines reports whether the node runs operations that come along with a begin or a commit. An older
// one would ignore them, and commit the rest.
func (t *Tx) Combines() bool { return t.session.welcome.Revision >= 1 }

// Ended returns an error if the context of the call or that of the step has ended, or the Link is closed.
func (t *Tx) Ended(step context.Context, when string) *Error {
	over := t.call.Ended(when)
	if over == nil && step.Err() != nil {
		return ContextError(step, when)
	}
	return over
}

// Late returns why no more steps are possible although the last one was successful: its context ended
// at the same moment. It is nil if they are.
func (t *Tx) Late() *Error { return t.late }

// Exchange sends steps, without waiting in between, and returns the response to the last one. It sets
// how long the node may take for them. The end of step ends the transaction; it may be [Call.Context].
func (t *Tx) Exchange(step context.Context, steps ...*pb.TransactRequest) (*pb.TransactResponse, *Error) {
	over := t.Ended(step, "before the step was sent")
	if over != nil {
		return nil, over
	}
	t.step = step
	err := t.connect()
	if err != nil {
		return nil, err
	}
	t.open = true
	t.setTimeouts(steps)
	unwatch := t.watchStep()
	answer, err := t.sendAndReceive(steps)
	if !unwatch() {
		t.broken = true
		if err == nil {
			t.late = ContextError(step, "after the step")
		}
	}
	return answer, err
}

// Commit sends steps of which the last is the commit of the transaction id, and returns its response. If
// it is lost and the transaction writes, the outcome is queried; without writes another attempt is safe.
func (t *Tx) Commit(id kv.TxnID, writes bool, steps ...*pb.TransactRequest) (*pb.ExecuteResponse, *Error) {
	answer, err := t.Exchange(t.call.Context(), steps...)
	if err == nil && answer.GetCommitted() == nil {
		t.broken = true
		err = errorf(kv.KindInternal, nil, "the node responded to a commit with %T", answer.Response)
		err.uncertain = true
	}
	switch {
	case err == nil:
		return answer.GetCommitted(), nil
	case !err.uncertain:
		return nil, err
	case !writes:
		// It cannot have changed anything; but the attempt may have ended well.
		err.Spent = true
		return nil, err.ofReads()
	}
	return t.call.resolve(id, err.Text)
}

// connect takes an idle stream, or opens one.
func (t *Tx) connect() *Error {
	if t.stream != nil {
		return nil
	}
	whole := t.call.Context()
	st := t.session.streams.get()
	if st != nil {
		t.stream, t.stop = st, context.AfterFunc(whole, st.cancel)
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(whole, cancel)
	stream, err := t.session.KV.Transact(ctx)
	if err != nil {
		stop()
		cancel()
		return Failure(whole, err)
	}
	t.stream, t.stop = &txStream{stream, cancel}, stop
	return nil
}

// watchStep breaks the stream when the context of the step ends, until stop is called, which reports
// whether it has not. That of the call is watched already.
func (t *Tx) watchStep() (stop func() bool) {
	if t.step == t.call.Context() {
		return func() bool { return true }
	}
	return context.AfterFunc(t.step, t.stream.cancel)
}

// setTimeouts sets how long the node may take for the steps, 0 for any time.
func (t *Tx) setTimeouts(steps []*pb.TransactRequest) {
	d := margin(t.call.ctx)
	s := margin(t.step)
	if s > 0 && (d == 0 || s < d) {
		d = s
	}
	for _, step := range steps {
		if do := operationsOf(step); do != nil {
			do.TimeoutMs = timeoutMs(d)
		}
		if c := step.GetCommit(); c != nil {
			c.TimeoutMs = timeoutMs(d)
		}
	}
}

// sendAndReceive sends steps and receives their responses, and returns the last one.
func (t *Tx) sendAndReceive(steps []*pb.TransactRequest) (*pb.TransactResponse, *Error) {
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
	for i, step := range steps {
		last := i == len(steps)-1
		answer, err := t.stream.stream.Recv()
		if err != nil {
			return nil, t.lost(err, commits)
		}
		if f := answer.GetStepFailed(); f != nil && undoable == nil {
			undoable = fromDetail(f)
			undoable.Undoable, undoable.uncertain = true, false
		}
		if undoable != nil && last {
			return nil, undoable
		}
		if f := answer.GetFailed(); f != nil {
			// Responses to the steps behind it are still to come.
			t.open = !last
			e := fromDetail(f)
			e.uncertain = e.uncertain && commits && last
			return nil, e
		}
		results, asked := len(ResultsOf(answer)), 0
		if do := operationsOf(step); do != nil {
			asked = len(do.Ops)
		}
		if undoable == nil && asked > 0 && results != asked {
			return nil, ignored(results, asked)
		}
		if last {
			t.open = answer.GetCommitted() == nil && answer.GetRolledBack() == nil
			return answer, nil
		}
	}
	panic("link: nothing was sent")
}

// lost is the error of a stream that ended before the response to a step.
func (t *Tx) lost(err error, commits bool) *Error {
	t.broken = true
	e := Failure(t.call.Context(), err)
	if t.step.Err() != nil && t.call.Context().Err() == nil && detail.From(err) == nil {
		e = ContextError(t.step, "before the response arrived")
	}
	// The status may be gRPC's own, after a commit; a node that drains, or has no memory for the
	// stream, ends it instead of the steps to which it has not responded.
	refused := (e.Kind == kv.KindUnavailable || e.Kind == kv.KindResourceExhausted) && detail.From(err) != nil
	e.uncertain = commits && !refused
	return e
}

// operationsOf is the part of a step that has operations, nil if there is none.
func operationsOf(step *pb.TransactRequest) *pb.ExecuteStep {
	switch {
	case step.GetBegin() != nil:
		return step.GetBegin().First
	case step.GetCommit() != nil:
		return step.GetCommit().Last
	}
	return step.GetExecute()
}

// ResultsOf returns the results of the operations of the step that has this response.
func ResultsOf(answer *pb.TransactResponse) []pb.Result {
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

// beginCommit is called before the commit is sent. From then on the end of the context breaks the
// stream only after Grace, unless there is a response by then. It returns an error if the context has
// ended.
func (t *Tx) beginCommit() *Error {
	ctx, st, grace := t.call.Context(), t.stream, t.call.policy.Grace
	if !t.stop() {
		t.broken = true
		return ContextError(ctx, "before the commit was sent")
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
