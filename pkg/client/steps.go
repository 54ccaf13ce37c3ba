package client

import (
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// exchange sends what there is to send: the begin if it has not been sent, ops if there are any, and last
// if it is not nil. It returns the response to the last of them.
func (t *interaction) exchange(ops []Op, last *pb.TransactRequest) (*pb.TransactResponse, *Error) {
	answer, failed := t.wire.Exchange(t.step, t.steps(ops, last)...)
	if late := t.wire.Late(); late != nil {
		t.failed = errorOf(late)
	}
	return answer, errorOf(failed)
}

// commit sends the commit, with what is in the buffer.
func (t *interaction) commit() *Error {
	over := t.call.Ended("before the commit was sent")
	if over != nil {
		return errorOf(over)
	}
	if !t.begun && len(t.buffer) == 0 {
		return nil
	}
	commit, before, sent := &pb.CommitStep{}, t.buffer, t.buffer
	if t.wire.Combines() {
		commit.Last, before = executeStep(t.buffer), nil
	}
	steps := t.steps(before, &pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: commit}})
	answer, failed := t.wire.Commit(t.ref.TxnID, t.wrote, steps...)
	if failed != nil {
		err := errorOf(failed)
		t.inCall(err, sent, nil)
		return err
	}
	answer.TxnId, answer.Receipt = t.ref.TxnID, after(answer.Receipt, t.before)
	t.course.responded(answer, int(t.ref.Attempt))
	return nil
}

// rollback sends the rollback. The node responds whether what was read holds.
func (t *interaction) rollback() *Error {
	if !t.begun {
		return nil
	}
	_, err := t.exchange(nil, &pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.RollbackStep{}}})
	return err
}

// steps makes the steps to send, and empties the buffer. The first operations come along with the begin
// if the node supports that.
func (t *interaction) steps(ops []Op, last *pb.TransactRequest) (steps []*pb.TransactRequest) {
	do := executeStep(ops)
	if !t.begun {
		t.begun = true
		begin := t.beginStep()
		if t.wire.Combines() {
			begin.First, do = do, nil
		}
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: begin}})
	}
	if do != nil {
		steps = append(steps, &pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: do}})
	}
	if last != nil {
		steps = append(steps, last)
	}
	t.clearBuffer()
	return steps
}

func (t *interaction) beginStep() *pb.BeginStep {
	h := &t.db.how
	return &pb.BeginStep{TxnId: t.ref.TxnID, Attempt: t.ref.Attempt, ReadOnly: t.readOnly,
		MaxResponseBytes: pb.MaxMessageBytes, Traceparent: t.db.opts.traceparent(t.attempt), At: h.at,
		CausalityToken: h.token, Plan: h.plan}
}

// executeStep is a step that runs ops, nil if there are none.
func executeStep(ops []Op) *pb.ExecuteStep {
	if len(ops) == 0 {
		return nil
	}
	return &pb.ExecuteStep{Ops: wireOps(ops)}
}
