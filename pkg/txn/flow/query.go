package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// hotShardQuery is a query of the hot shard, which has the snapshot registry and the planner of hot
// keys. The zero value is none.
type hotShardQuery struct {
	// number counts the queries of the call. The name of a query has it instead of the attempt number,
	// so that a late response to an earlier query is ignored.
	number uint32
	env    *msg.Envelope
	retry  env.Retry
}

// query queries the hot shard, and retries until it responds. fill sets the body of the message.
//
// Queries do not change anything, and updates name the state that they change (HotPolicy), the snapshot
// that they drop, or an id under which the registry recognizes a retry. So all of them can be repeated.
func (gw *Gateway) query(f Querier, fill func(e *msg.Envelope, request kv.TxnRef)) Outcome {
	c := f.Base()
	c.query.number++
	c.Phase = Querying
	// Without the check the call would wait for its deadline.
	down := c.HeldUpBy(gw.Shards.WhyDown(gw.Hot()))
	if down != nil {
		return Aborted(down)
	}
	c.query.env = gw.SendTo(gw.Hot())
	fill(c.query.env, kv.TxnRef{TxnID: c.Ref.TxnID, Attempt: c.query.number})
	gw.StartRetry(&c.query.retry, 0)
	gw.WakeAt(c.deadline)
	return Continue
}

// RetryQuery retries the query when it is due.
func (c *Call) RetryQuery(e *env.Env) {
	if e.IsDue(&c.query.retry, 0) {
		e.Send(c.query.env)
	}
}

// QueryChanges reports whether the query, if the hot shard has received it, may have changed something.
func (c *Call) QueryChanges() bool {
	e := c.query.env
	return e != nil && !msg.Is[msg.FindSnapshot](e) && !msg.Is[msg.HotStatusRequest](e)
}

// TakeQuery ends the query of a name and returns it; nil if it is not the current one.
func (c *Call) TakeQuery(request kv.TxnRef) *msg.Envelope {
	if c.Phase != Querying || c.query.number != request.Attempt {
		return nil
	}
	q := c.query.env
	c.query.env = nil
	return q
}
