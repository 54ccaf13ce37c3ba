package lockreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Requests are the lock requests of one attempt. The zero value has none.
type Requests struct {
	open   []*request
	number uint32
}

// request is a request without a response.
type request struct {
	env   *msg.Envelope
	lock  *msg.Lock
	retry env.Retry
}

// Send sends a request to a shard. The caller sets Txn, Ops, NoWait and Optimistic. At last it is sent once more
// (env.LastRepeat).
func (r *Requests) Send(e *env.Env, s kv.ShardID, l *msg.Lock, last int64) {
	r.number++
	l.Gateway, l.Number = e.Node, r.number
	q := &request{env: e.SendTo(s), lock: l}
	q.env.Body = l
	e.StartRetry(&q.retry, last)
	r.open = append(r.open, q)
}

// SentCount is the number of requests sent so far, without retries.
func (r *Requests) SentCount() uint32 { return r.number }

// HasPending reports whether a request has no response.
func (r *Requests) HasPending() bool { return len(r.open) > 0 }

// PendingShards lists the shards that have not responded.
func (r *Requests) PendingShards() []kv.ShardID {
	out := make([]kv.ShardID, len(r.open))
	for i, q := range r.open {
		out[i] = q.env.Shard
	}
	return out
}

// ResendNoWait resends the pending requests of a wounded transaction with NoWait: a request that waits then fails. A
// request that is granted gets its response, which may be in flight: it leaves the shard later than the wound.
// Requests are copied, since the first copies may be in flight.
func (r *Requests) ResendNoWait(e *env.Env) {
	for _, q := range r.open {
		if q.lock.NoWait {
			continue
		}
		again, l := *q.env, *q.lock
		l.NoWait = true
		again.Body = &l
		q.env, q.lock = &again, &l
		e.Send(q.env)
	}
}

// Tick retries the requests that are due.
func (r *Requests) Tick(e *env.Env, last int64) {
	for _, q := range r.open {
		if e.IsDue(&q.retry, last) {
			e.Send(q.env)
		}
	}
}

// EndRequest returns the request of a response, nil if none is pending. A request that failed stays pending.
func (r *Requests) EndRequest(p *msg.LockResponse) *msg.Lock {
	i := slices.IndexFunc(r.open, func(q *request) bool { return q.lock.Number == p.Number && q.env.Shard == p.Shard })
	if i < 0 {
		return nil
	}
	l := r.open[i].lock
	if p.Failure == nil {
		r.open = slices.Delete(r.open, i, i+1)
	}
	return l
}

// RepeatLocked repeats a read without locks that has failed, under locks. A later response to the first request is
// ignored.
func (r *Requests) RepeatLocked(e *env.Env, failed *msg.Lock, last int64) {
	i := slices.IndexFunc(r.open, func(q *request) bool { return q.lock == failed })
	s, again := r.open[i].env.Shard, *failed
	r.open = slices.Delete(r.open, i, i+1)
	again.Optimistic = false
	r.Send(e, s, &again, last)
}

// DropPending drops all pending requests.
func (r *Requests) DropPending() { r.open = nil }
