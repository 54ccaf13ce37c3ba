package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// question is one to the hot shard, which has the snapshot registry and the planner of hot
// keys. The zero value asks nothing.
type hotShardQuery struct {
	// count is how many the call has asked; the name of a question has it as the attempt.
	number uint32
	env   *msg.Envelope
	retry env.Retry
}

// ask asks the hot shard until it answers.
func (gw *Gateway) query(f Querier, fill func(e *msg.Envelope, request kv.TxnRef)) Outcome {
	c := f.Base()
	c.query.number++
	c.Phase = Querying
	down := gw.Shards.Unreachable(gw.Hot())
	if down != nil {
		return Aborted(down)
	}
	c.query.env = gw.To(gw.Hot())
	fill(c.query.env, kv.TxnRef{TxnID: c.Ref.TxnID, Attempt: c.query.number})
	gw.Start(&c.query.retry, 0)
	gw.Timed(c.deadline)
	return Continue
}

// RepeatQuestion asks again.
func (c *Call) RetryQuery(e *env.Env) {
	if e.Due(&c.query.retry, 0) {
		e.Send(c.query.env)
	}
}

// EndQuestion ends the question of a name and gives it; nil if it is not the one under way.
func (c *Call) TakeQuery(request kv.TxnRef) *msg.Envelope {
	if c.Phase != Querying || c.query.number != request.Attempt {
		return nil
	}
	asked := c.query.env
	c.query.env = nil
	return asked
}
