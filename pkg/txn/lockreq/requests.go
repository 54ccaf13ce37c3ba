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

// request is one without an answer.
type request struct {
	env   *msg.Envelope
	lock  *msg.Lock
	retry env.Retry
}

// Ask sends a request to a shard: Txn, Ops, NoWait and Optimistic are the caller's to fill.
// last is when it is to be sent once more in any case (env.LastRepeat).
func (r *Requests) Ask(e *env.Env, s kv.ShardID, l *msg.Lock, last int64) {
	r.number++
	l.Gateway, l.Number = e.Node, r.number
	q := &request{env: e.To(s), lock: l}
	q.env.Body = l
	e.Start(&q.retry, last)
	r.open = append(r.open, q)
}

// Sent counts the requests that were ever sent.
func (r *Requests) Sent() uint32 { return r.number }

// Open reports whether some request has no answer.
func (r *Requests) Open() bool { return len(r.open) > 0 }

// Awaits lists the shards that have not answered.
func (r *Requests) Awaits() []kv.ShardID {
	out := make([]kv.ShardID, len(r.open))
	for i, q := range r.open {
		out[i] = q.env.Shard
	}
	return out
}

// NoWait has the requests of a transaction that has been wounded say so: a request that
// waits fails. One that has been granted is answered; its answer may be on its way, since it
// leaves the shard after a wound does. Requests are copied, since the first may still be on
// its way.
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

// Tick sends again what has no answer.
func (r *Requests) Tick(e *env.Env, last int64) {
	for _, q := range r.open {
		if e.Due(&q.retry, last) {
			e.Send(q.env)
		}
	}
}

// Answered gives the request that a reply answers, nil if that is not awaited. After a
// failure it stays open.
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

// Forget has no answer awaited any more.
func (r *Requests) Forget() { r.open = nil }
