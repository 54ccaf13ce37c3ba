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

// Ask sends a request to a shard. The caller sets Txn, Ops, NoWait and Optimistic. At last it is sent once more
// (env.LastRepeat).
func (r *Requests) Ask(e *env.Env, s kv.ShardID, l *msg.Lock, last int64) {
	r.number++
	l.Gateway, l.Number = e.Node, r.number
	q := &request{env: e.To(s), lock: l}
	q.env.Body = l
	e.Start(&q.retry, last)
	r.open = append(r.open, q)
}

// Sent is the number of requests sent so far, without retries.
func (r *Requests) Sent() uint32 { return r.number }

// Open reports whether a request has no response.
func (r *Requests) Open() bool { return len(r.open) > 0 }

// Awaits lists the shards that have not responded.
func (r *Requests) Awaits() []kv.ShardID {
	out := make([]kv.ShardID, len(r.open))
	for i, q := range r.open {
		out[i] = q.env.Shard
	}
	return out
}

// NoWait resends the pending requests of a wounded transaction with NoWait: a request that waits then fails. A
// request that is granted gets its response, which may be in flight: it leaves the shard later than the wound.
// Requests are copied, since the first copies may be in flight.
func (r *Requests) NoWait(e *env.Env) {
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
		if e.Due(&q.retry, last) {
			e.Send(q.env)
		}
	}
}

// Answered returns the request of a response, nil if none is pending. A request that failed stays pending.
func (r *Requests) Answered(p *msg.LockResponse) *msg.Lock {
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

// Forget drops all pending requests.
func (r *Requests) Forget() { r.open = nil }
