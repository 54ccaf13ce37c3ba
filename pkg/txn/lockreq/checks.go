package lockreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Checks ask the shards whether a reader's locks were held all along, and release them. The
// zero value asks nothing.
type Checks struct {
	open  []*msg.Envelope
	retry env.Retry
}

// Start asks the shards that have granted locks. A shard on which optimistic reads were
// validated has checked its grants in that same step.
func (c *Checks) Start(e *env.Env, txn kv.TxnRef, touched []*session.Touched) {
	*c = Checks{}
	for _, t := range touched {
		if len(t.Grants) == 0 || len(t.Seen) > 0 {
			continue
		}
		q := e.To(t.Shard)
		q.Body = &msg.Check{Txn: txn, Gateway: e.Node, Incarnation: t.Inc, Grants: t.Grants}
		c.open = append(c.open, q)
	}
	if len(c.open) > 0 {
		e.Start(&c.retry, 0)
	}
}

// Open reports whether some shard has not answered.
func (c *Checks) Open() bool { return len(c.open) > 0 }

// Awaits lists the shards that have not answered.
func (c *Checks) Awaits() []kv.ShardID {
	out := make([]kv.ShardID, len(c.open))
	for i, q := range c.open {
		out[i] = q.Shard
	}
	return out
}

// Tick asks again.
func (c *Checks) Tick(e *env.Env) {
	if e.Due(&c.retry, 0) {
		e.Send(c.open...)
	}
}

// Answered takes a shard's answer, and reports whether it was awaited.
func (c *Checks) Answered(from kv.ShardID) bool {
	i := slices.IndexFunc(c.open, func(q *msg.Envelope) bool { return q.Shard == from })
	if i < 0 {
		return false
	}
	c.open = slices.Delete(c.open, i, i+1)
	return true
}
