package lockreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// Checks verify that a reader's locks were held throughout, and release them. The zero value has no requests.
type Checks struct {
	open  []*msg.Envelope
	retry env.Retry
}

// Start sends a check to each shard that has granted locks, except where optimistic reads were validated: that step
// has checked the grants too.
func (c *Checks) Start(e *env.Env, txn kv.TxnRef, touched []*session.Part) {
	*c = Checks{}
	for _, t := range touched {
		if len(t.Grants) == 0 || len(t.Seen) > 0 {
			continue
		}
		q := e.SendTo(t.Shard)
		q.Body = &msg.Check{Txn: txn, Gateway: e.Node, Incarnation: t.Incarnation, Grants: t.Grants}
		c.open = append(c.open, q)
	}
	if len(c.open) > 0 {
		e.StartRetry(&c.retry, 0)
	}
}

// HasPending reports whether a shard has not responded.
func (c *Checks) HasPending() bool { return len(c.open) > 0 }

// PendingShards lists the shards that have not responded.
func (c *Checks) PendingShards() []kv.ShardID {
	out := make([]kv.ShardID, len(c.open))
	for i, q := range c.open {
		out[i] = q.Shard
	}
	return out
}

// Tick retries the checks that are due.
func (c *Checks) Tick(e *env.Env) {
	if e.IsDue(&c.retry, 0) {
		e.Send(c.open...)
	}
}

// OnResponse handles the response of a shard, and reports whether one was pending.
func (c *Checks) OnResponse(from kv.ShardID) bool {
	i := slices.IndexFunc(c.open, func(q *msg.Envelope) bool { return q.Shard == from })
	if i < 0 {
		return false
	}
	c.open = slices.Delete(c.open, i, i+1)
	return true
}
