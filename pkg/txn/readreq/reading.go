package readreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Reading is one attempt to read without locks.
//
// Invariant: every shard on which it may be registered has a lease here.
type Reading struct {
	// Name is the attempt's, which no other has had.
	Name kv.TxnRef
	Plan env.Plan
	// fixes: it is a round, which has shards fix their states. complete: they are to be kept.
	fixes, complete bool
	// Left: a shard has been told that the reader leaves it while it is registered on others,
	// or has turned it away. Ended: all shards have been told.
	Left, Ended bool
	// User is whose transaction it is.
	User kv.Account

	number uint32
	asks   []*ask
	// replies are the newest answers that count, by shard.
	replies []*msg.ReadResponse
	leases  []*lease
	// last is the request that is answered last, nil if there is no order, and lastShard the
	// shard that answers it.
	last      *msg.Read
	lastShard kv.ShardID
	// then is the last request while it waits here for the answers of the others, where the
	// gateway waits for them in the place of the last shard.
	then *msg.Read
	// rest are the shards that a round asks when the slow ones have answered; since is from
	// when it waits for those that can answer now. waits: it waits for the slow ones for as long
	// as that takes.
	rest  *Fix
	since int64
	waits bool
	// notifying are the requests whose shards notify the last one. They are repeated as long
	// as that has not answered: a notice may be lost.
	notifying []*msg.Envelope
}

// ask is a request without an answer.
type ask struct {
	env   *msg.Envelope
	sent  int64
	retry env.Retry
}

// New begins a reading. Messages about it find the machine by the affinity of the transaction.
func New(e *env.Env, plan env.Plan, affinity uint64) *Reading {
	return &Reading{Plan: plan, Name: e.NewReader(affinity)}
}

// Ask sends a request, which is sent again until it is answered. lastRepeat is when it is sent
// once more in any case (env.LastRepeat).
func (r *Reading) Ask(e *env.Env, s kv.ShardID, q *msg.Read, lastRepeat int64) {
	r.number++
	q.Reader, q.Gateway, q.Number, q.User = r.Name, e.Node, r.number, r.User
	a := &ask{env: e.To(s), sent: e.Now}
	a.env.Body = q
	if r.fixes && r.rest == nil { // it does not wait for long
		e.StartSteady(&a.retry, min(e.Repeat, kv.DefaultRoundRepeat), lastRepeat)
	} else {
		e.Start(&a.retry, lastRepeat)
	}
	r.asks = append(r.asks, a)
	if q.Notify {
		r.notifying = append(r.notifying, a.env)
	}
	switch {
	case q.LeaseNanos == 0 || r.lease(s) != nil:
	case r.fixes && q.LeaseNanos == int64(e.Round.Lease):
		r.registerShortly(e, s)
	default:
		r.register(e, s)
	}
}

// Open reports whether some request has no answer.
func (r *Reading) Open() bool { return len(r.asks) > 0 }

// Awaits lists the shards that have not answered.
func (r *Reading) Awaits() []kv.ShardID {
	out := make([]kv.ShardID, len(r.asks))
	for i, a := range r.asks {
		out[i] = a.env.Shard
	}
	return out
}

// Replies are the answers, in the order of shards.
func (r *Reading) Replies() []*msg.ReadResponse {
	slices.SortFunc(r.replies, func(a, b *msg.ReadResponse) int { return int(a.Reading.Shard) - int(b.Reading.Shard) })
	return r.replies
}

// Reply is a shard's answer, nil if it has not answered.
func (r *Reading) Reply(s kv.ShardID) *msg.ReadResponse {
	i := slices.IndexFunc(r.replies, func(x *msg.ReadResponse) bool { return x.Reading.Shard == s })
	if i < 0 {
		return nil
	}
	return r.replies[i]
}

// Answered ends the request that an answer is for. It gives its operations and when it was
// sent; ok is false if it is not awaited.
func (r *Reading) Answered(p *msg.ReadResponse) (ops []msg.Op, sent int64, ok bool) {
	i := slices.IndexFunc(r.asks, func(a *ask) bool {
		return a.env.Shard == p.Reading.Shard && msg.As[msg.Read](a.env).Number == p.Number
	})
	if i < 0 {
		return nil, 0, false
	}
	a := r.asks[i]
	r.asks = slices.Delete(r.asks, i, i+1)
	return msg.As[msg.Read](a.env).Ops, a.sent, true
}

// Take keeps an answer, in the place of an earlier one of its shard.
func (r *Reading) Take(p *msg.ReadResponse) {
	earlier := func(x *msg.ReadResponse) bool { return x.Reading.Shard == p.Reading.Shard }
	r.replies = append(slices.DeleteFunc(r.replies, earlier), p)
}

// Again takes back the requests to shards that are going to be asked again, and gives the
// operations of each to add: a shard reads for one request of a reader at a time, and
// forgets all but the last.
func (r *Reading) Again(shards func(kv.ShardID) bool, add func(kv.ShardID, []msg.Op)) {
	r.asks = slices.DeleteFunc(r.asks, func(a *ask) bool {
		again := shards(a.env.Shard)
		if again {
			add(a.env.Shard, msg.As[msg.Read](a.env).Ops)
		}
		return again
	})
}

// Next sends what is to be asked when all requests have been answered, and reports whether
// there was anything: the last request of an order, or that again if the last shard relied
// on other readings than those whose values are here.
func (r *Reading) Next(e *env.Env, lastRepeat int64) bool {
	if r.rest != nil {
		f := r.rest
		r.rest = nil
		r.fixRest(e, f, lastRepeat)
		return true
	}
	if r.then != nil {
		r.last, r.then = r.then, nil
		r.Ask(e, r.lastShard, r.last, lastRepeat)
		r.awaitFrom(e)
		return true
	}
	if r.last != nil && !r.reliedRight() && !e.Mutants.Has(mutant.OtherCopyTaken) {
		again := *r.last
		r.Ask(e, r.lastShard, &again, lastRepeat)
		r.notifyAgain(e)
		return true
	}
	return false
}

// reliedRight reports whether the last read relied on the very readings whose values are here.
// What it has relied on besides was left out of the round meanwhile.
func (r *Reading) reliedRight() bool {
	for _, on := range r.Reply(r.lastShard).Relied {
		p := r.Reply(on.Shard)
		if p == nil && r.fixes {
			continue
		}
		if p == nil || p.Reading != on {
			return false
		}
	}
	return true
}

// notifyAgain has the shards that have answered notify the last one once more. The others
// are asked again anyway.
func (r *Reading) notifyAgain(e *env.Env) {
	for _, m := range r.notifying {
		if !slices.ContainsFunc(r.asks, func(a *ask) bool { return a.env == m }) {
			e.Send(m)
		}
	}
}

// Tick sends again what has no answer.
func (r *Reading) Tick(e *env.Env, lastRepeat int64) {
	for _, a := range r.asks {
		if !e.Due(&a.retry, lastRepeat) {
			continue
		}
		e.Send(a.env)
		if len(msg.As[msg.Read](a.env).Await) > 0 {
			r.notifyAgain(e)
		}
	}
}

// End tells the shards that the reading is over.
func (r *Reading) End(e *env.Env) {
	if r.Ended {
		return
	}
	r.Ended = true
	for _, l := range r.leases {
		r.leave(e, l.shard)
	}
	// The last one has forgotten the reader with its answer. But a round has it keep the
	// state, and a late copy of the request would have it fixed once more.
	if r.last != nil && (r.Reply(r.lastShard) == nil || r.fixes) && r.lease(r.lastShard) == nil {
		r.leave(e, r.lastShard)
	}
	for _, a := range r.asks {
		if r.lease(a.env.Shard) == nil && msg.As[msg.Read](a.env) != r.last {
			r.leave(e, a.env.Shard)
		}
	}
	r.asks = nil
}

func (r *Reading) leave(e *env.Env, s kv.ShardID) {
	l := &msg.Deregister{Reader: r.Name}
	if r.complete {
		l.KeepNanos = int64(kv.DefaultScanKeep)
	}
	e.To(s).Body = l
}

// GiveUp forgets the requests that have no answer, and leaves the shards that have answered
// none: the reader relies on nothing there.
func (r *Reading) GiveUp(e *env.Env) {
	if e.Mutants.Has(mutant.LateReadsUsed) {
		return
	}
	r.asks = nil
	r.leases = slices.DeleteFunc(r.leases, func(l *lease) bool {
		if r.Reply(l.shard) != nil {
			return false
		}
		r.Left = true
		r.leave(e, l.shard)
		return true
	})
}
