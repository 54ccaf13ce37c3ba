package readreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// lease is a registration on one shard as the gateway counts it.
type lease struct {
	shard kv.ShardID
	inc   kv.Incarnation // once known
	until int64
	// renew is when to ask for more, env.Never for a round's; renewing is the number of the request that was sent at
	// asked, 0 if none is open.
	renew, asked int64
	renewing     uint32
}

// reliedOn is how much of a lease the gateway relies on: clocks may differ in their rates.
func reliedOn(e *env.Env) int64 {
	if e.Mutants.Has(mutant.LeaseWithoutMargin) {
		return int64(e.Lease)
	}
	return int64(e.Lease) - int64(e.Lease)/10
}

// register counts a lease from now, when it is asked for.
func (r *Reading) register(e *env.Env, s kv.ShardID) {
	l := &lease{shard: s, until: e.Now + reliedOn(e), renew: e.Now + int64(e.Lease)/3}
	r.leases = append(r.leases, l)
	e.Timed(l.renew)
}

// registerShortly counts the lease of a round, which is not renewed.
func (r *Reading) registerShortly(e *env.Env, s kv.ShardID) {
	r.leases = append(r.leases, &lease{shard: s, until: e.Now + int64(e.Round.Lease)*85/100, renew: env.Never})
}

func (r *Reading) lease(s kv.ShardID) *lease {
	i := slices.IndexFunc(r.leases, func(l *lease) bool { return l.shard == s })
	if i < 0 {
		return nil
	}
	return r.leases[i]
}

// Registered notes in which incarnation of its shard an answer finds the reader registered,
// and reports whether that is the one in which it was found before. Without a lease there is
// nothing to note.
func (r *Reading) Registered(e *env.Env, p *msg.ReadResponse) bool {
	l := r.lease(p.Reading.Shard)
	if l == nil {
		return true
	}
	if l.inc == 0 {
		l.inc = p.Reading.Incarnation
	}
	if l.inc != p.Reading.Incarnation && !e.Mutants.Has(mutant.LeaseUnchecked) {
		return false
	}
	if e.Mutants.Has(mutant.LeaseFromReply) {
		l.until = max(l.until, e.Now+reliedOn(e))
	}
	return true
}

// Lapsed finds a shard on which the lease has lapsed; ok is false if all stand.
func (r *Reading) Lapsed(e *env.Env) (s kv.ShardID, ok bool) {
	for _, l := range r.leases {
		revives := l.renewing != 0 && e.Mutants.Has(mutant.LeaseRevived)
		unchecked := e.Mutants.Has(mutant.LeaseUnchecked) || r.fixes && e.Mutants.Has(mutant.RoundLeaseUnchecked)
		if e.Now >= l.until && !revives && !unchecked {
			return l.shard, true
		}
	}
	return 0, false
}

// TickLeases renews leases.
func (r *Reading) TickLeases(e *env.Env) {
	for _, l := range r.leases {
		if e.Now >= l.renew && l.inc != 0 {
			r.renew(e, l)
		}
		at := env.Never
		if l.renew != env.Never {
			at = max(l.renew, e.Now+int64(e.Repeat))
		}
		if l.until > e.Now {
			at = min(at, l.until)
		}
		e.Timed(at)
	}
}

// renew asks for a longer lease, and again before long if no answer comes.
func (r *Reading) renew(e *env.Env, l *lease) {
	r.number++
	l.renewing, l.asked, l.renew = r.number, e.Now, e.Now+int64(e.Lease)/6
	e.To(l.shard).Body = &msg.RenewLease{
		Reader:      r.Name,
		Gateway:     e.Node,
		Number:      r.number,
		Incarnation: l.inc,
		LeaseNanos:  int64(e.Lease),
	}
}

// Renewed takes the answer to a renewal, and reports whether the reader is still registered.
// The answer counts only if the old lease stands when it comes.
func (r *Reading) Renewed(e *env.Env, p *msg.RenewLeaseResponse) bool {
	l := r.lease(p.Shard)
	if l == nil || p.Number != l.renewing {
		return true
	}
	tooLate := e.Now >= l.until && !e.Mutants.Has(mutant.LeaseRevived) && !e.Mutants.Has(mutant.LeaseUnchecked)
	if !p.Ok || tooLate {
		return false
	}
	l.until = max(l.until, l.asked+reliedOn(e))
	l.renew = l.asked + int64(e.Lease)/3
	l.renewing = 0
	e.Timed(l.renew)
	return true
}

// Late is the failure of an attempt to fix a state that a shard was needed for.
func Late(of kv.ShardID) *msg.Failure {
	return env.Failure(msg.ReasonLapsed, kv.KindAborted, "shard "+of.String()+" did not respond in time")
}

// Lapse is the failure of a reader that may not have been registered all along.
func Lapse(on kv.ShardID) *msg.Failure {
	text := "the reader's registration on shard " + on.String() + " expired, or the shard restarted"
	return env.Failure(msg.ReasonLapsed, kv.KindAborted, text)
}
