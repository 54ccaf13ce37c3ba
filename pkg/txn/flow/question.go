package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// question is one to the hot shard, which has the snapshot registry and the planner of hot
// keys. The zero value asks nothing.
type question struct {
	// count is how many the call has asked; the name of a question has it as the attempt.
	count uint32
	env   *msg.Envelope
	retry env.Retry
}

// ask asks the hot shard until it answers.
func (h *Host) ask(f Asker, fill func(e *msg.Envelope, request kv.TxnRef)) Outcome {
	c := f.Base()
	c.question.count++
	c.Phase = Asking
	down := h.Shards.Unreachable(h.Hot())
	if down != nil {
		return Aborted(down)
	}
	c.question.env = h.To(h.Hot())
	fill(c.question.env, kv.TxnRef{TxnID: c.Ref.TxnID, Attempt: c.question.count})
	h.Start(&c.question.retry, 0)
	h.Timed(c.deadline)
	return GoesOn
}

// RepeatQuestion asks again.
func (c *Call) RepeatQuestion(e *env.Env) {
	if e.Due(&c.question.retry, 0) {
		e.Send(c.question.env)
	}
}

// EndQuestion ends the question of a name and gives it; nil if it is not the one under way.
func (c *Call) EndQuestion(request kv.TxnRef) *msg.Envelope {
	if c.Phase != Asking || c.question.count != request.Attempt {
		return nil
	}
	asked := c.question.env
	c.question.env = nil
	return asked
}
