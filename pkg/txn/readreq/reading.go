package readreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Reading is one attempt to read without locks. It has a lease for every shard on which the attempt may be
// registered.
type Reading struct {
	// Name names the attempt. No other attempt has ever had it.
	Name kv.TxnRef
	Plan env.Plan
	// fixes: a snapshot round, which fixes CSNs. complete: the shards shall retain them.
	fixes, complete bool
	// confirming: all reads have a response, and the registrations are being confirmed.
	confirming bool
	// Deregistered: the reader has deregistered from a shard, or was refused by one, while it is registered on others.
	// Ended: it has deregistered from all shards.
	Deregistered, Ended bool
	// User is the user of the transaction.
	User kv.Account

	number  uint32
	pending []*pendingRead
	// pending are the requests without a response. responses are the newest valid ones, one per shard.
	responses []*msg.ReadResponse
	leases    []*lease
	// last is the request that is executed last, by lastShard; nil if there is no order.
	last      *msg.Read
	lastShard kv.ShardID
	// deferredLast is the last request while the gateway waits for the other responses before it sends it.
	deferredLast *msg.Read
	// remaining are the shards of a round that are sent requests after the slow ones have responded. since is the
	// begin of the round's bounded wait. awaitsSlow: it waits for the slow shards without a bound.
	remaining  *Fix
	since      int64
	awaitsSlow bool
	// notifying are the requests whose shards notify the last one. They are repeated until that has responded: a notice
	// may be lost.
	notifying []*msg.Envelope
}

// pendingRead is a request without a response.
type pendingRead struct {
	env   *msg.Envelope
	sent  int64
	retry env.Retry
}

// New begins a reading. The affinity of the transaction routes its messages to the right state machine.
func New(e *env.Env, plan env.Plan, affinity uint64) *Reading {
	return &Reading{Plan: plan, Name: e.NewReader(affinity)}
}

// Send sends a request, and retries it until there is a response. At lastRepeat it is sent once more
// (env.LastRetryTime).
//
// The lease is counted from now, and not from the response: the shard may have registered the reader at any time since.
func (r *Reading) Send(e *env.Env, s kv.ShardID, q *msg.Read, lastRepeat int64) {
	r.number++
	q.Reader, q.Gateway, q.Number, q.User = r.Name, e.Node, r.number, r.User
	a := &pendingRead{env: e.SendTo(s), sent: e.Now}
	a.env.Body = q
	if r.fixes && r.remaining == nil { // its wait is bounded, so backoff would lose retries
		e.StartSteadyRetry(&a.retry, min(e.Repeat, kv.DefaultRoundRepeat), lastRepeat)
	} else {
		e.StartRetry(&a.retry, lastRepeat)
	}
	r.pending = append(r.pending, a)
	if q.Notify {
		r.notifying = append(r.notifying, a.env)
	}
	switch {
	case q.LeaseNanos == 0 || r.lease(s) != nil:
	case r.fixes && q.LeaseNanos == int64(e.Round.Lease):
		r.addRoundLease(e, s)
	default:
		r.addLease(e, s)
	}
}

// HasPending reports whether a request has no response.
func (r *Reading) HasPending() bool { return len(r.pending) > 0 }

// PendingShards lists the shards that have not responded.
func (r *Reading) PendingShards() []kv.ShardID {
	out := make([]kv.ShardID, len(r.pending))
	for i, a := range r.pending {
		out[i] = a.env.Shard
	}
	return out
}

// Responses returns the responses in the order of shards.
//
// The order is that of shards and not of arrival, so that a run can be reproduced.
func (r *Reading) Responses() []*msg.ReadResponse {
	slices.SortFunc(r.responses, func(a, b *msg.ReadResponse) int { return int(a.Reading.Shard) - int(b.Reading.Shard) })
	return r.responses
}

// Response returns the response of a shard, nil if there is none.
func (r *Reading) Response(s kv.ShardID) *msg.ReadResponse {
	i := slices.IndexFunc(r.responses, func(x *msg.ReadResponse) bool { return x.Reading.Shard == s })
	if i < 0 {
		return nil
	}
	return r.responses[i]
}

// EndRequest ends the request of a response and returns it and the time at which it was sent. ok is false if no such
// request is pending.
//
// A late copy of a response, or the response to a request that a newer one has replaced, has another number and is
// ignored.
func (r *Reading) EndRequest(p *msg.ReadResponse) (q *msg.Read, sent int64, ok bool) {
	i := slices.IndexFunc(r.pending, func(a *pendingRead) bool {
		return a.env.Shard == p.Reading.Shard && msg.As[msg.Read](a.env).Number == p.Number
	})
	if i < 0 {
		return nil, 0, false
	}
	a := r.pending[i]
	r.pending = slices.Delete(r.pending, i, i+1)
	return msg.As[msg.Read](a.env), a.sent, true
}

// StoreResponse stores a response, replacing an earlier one of the shard.
//
// The reader may have read there before, in an open transaction: the CSN of the last read counts.
func (r *Reading) StoreResponse(p *msg.ReadResponse) {
	earlier := func(x *msg.ReadResponse) bool { return x.Reading.Shard == p.Reading.Shard }
	r.responses = append(slices.DeleteFunc(r.responses, earlier), p)
}

// WithdrawRequests withdraws the pending requests to shards that receive new ones, and passes their operations to add.
// A shard executes one request of a reader at a time and drops an earlier one, so the new request must contain both.
func (r *Reading) WithdrawRequests(shards func(kv.ShardID) bool, add func(kv.ShardID, []msg.Op)) {
	r.pending = slices.DeleteFunc(r.pending, func(a *pendingRead) bool {
		again := shards(a.env.Shard)
		if again {
			add(a.env.Shard, msg.As[msg.Read](a.env).Ops)
		}
		return again
	})
}

// SendNext sends the request that follows when all others have a response, and reports whether there is one: the rest
// of a round, the last read of an order, or that read again if the last shard relied on other reads than those whose
// values are here.
func (r *Reading) SendNext(e *env.Env, lastRepeat int64) bool {
	if r.remaining != nil {
		f := r.remaining
		r.remaining = nil
		r.sendFixes(e, f, lastRepeat)
		return true
	}
	if r.deferredLast != nil {
		r.last, r.deferredLast = r.deferredLast, nil
		r.Send(e, r.lastShard, r.last, lastRepeat)
		r.restartWait(e)
		return true
	}
	if r.mustReadLastAgain(e) {
		again := *r.last
		r.Send(e, r.lastShard, &again, lastRepeat)
		r.resendNotifying(e)
		return true
	}
	return false
}

// reliesOnHeldValues reports whether the last shard relied on the reads whose values are here. A shard that a round
// has left out meanwhile does not count.
//
// Example: shard 1 has executed the read twice, since its first response was late: read 1 with x = 1, read 2 with x =
// 2. The values here are those of read 1. The last shard relied on read 2: it has read k at an instant at which x was
// 2.
func (r *Reading) reliesOnHeldValues() bool {
	for _, on := range r.Response(r.lastShard).Awaited {
		p := r.Response(on.Shard)
		if p == nil && r.fixes {
			continue
		}
		if p == nil || p.Reading != on {
			return false
		}
	}
	return true
}

// resendNotifying resends the requests of shards that have responded, so that they notify the last one again. Other
// requests are retried anyway.
func (r *Reading) resendNotifying(e *env.Env) {
	for _, m := range r.notifying {
		if !slices.ContainsFunc(r.pending, func(a *pendingRead) bool { return a.env == m }) {
			e.Send(m)
		}
	}
}

// Tick retries the requests that are due.
func (r *Reading) Tick(e *env.Env, lastRepeat int64) {
	for _, a := range r.pending {
		if !e.IsDue(&a.retry, lastRepeat) {
			continue
		}
		e.Send(a.env)
		if len(msg.As[msg.Read](a.env).Await) > 0 {
			r.resendNotifying(e)
		}
	}
}

// End deregisters the reader from all shards.
//
// A shard whose request has no response may have registered the reader, too.
func (r *Reading) End(e *env.Env) {
	if r.Ended {
		return
	}
	r.Ended = true
	for _, l := range r.leases {
		r.deregister(e, l.shard)
	}
	// The last shard dropped the reader with its response. In a round it retains its state, and a late copy of the
	// request would make it fix a CSN again, so it needs a deregistration.
	if r.last != nil && (r.Response(r.lastShard) == nil || r.fixes) && r.lease(r.lastShard) == nil {
		r.deregister(e, r.lastShard)
	}
	for _, a := range r.pending {
		if r.lease(a.env.Shard) == nil && msg.As[msg.Read](a.env) != r.last {
			r.deregister(e, a.env.Shard)
		}
	}
	r.pending = nil
}

// deregister ends the registration on a shard. If it is lost, the lease ends it. A round states whether its snapshot is
// complete.
func (r *Reading) deregister(e *env.Env, s kv.ShardID) {
	l := &msg.Deregister{Reader: r.Name}
	if r.complete {
		l.RetainNanos = int64(kv.DefaultScanRetention)
	}
	e.SendTo(s).Body = l
}

// DropPending drops the pending requests and deregisters from the shards without a response: the reader has used no
// values of these.
//
// A view calls it before it waits for a snapshot: the values may be newer than the snapshot. The registrations of
// shards that have responded stay, since they protect what the client has received.
func (r *Reading) DropPending(e *env.Env) {
	r.pending = nil
	r.leases = slices.DeleteFunc(r.leases, func(l *lease) bool {
		if r.Response(l.shard) != nil {
			return false
		}
		r.Deregistered = true
		r.deregister(e, l.shard)
		return true
	})
}
