package readreq

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// lease is a registration on one shard as the gateway counts it: it ends no later than the shard's.
type lease struct {
	shard       kv.ShardID
	incarnation kv.Incarnation // 0 until the first response
	until       int64
	// renewAt is the time of the next renewal, env.Never for a round. renewNumber is the number of the renewal request
	// in flight, 0 if there is none; it was sent at renewSent.
	renewAt, renewSent int64
	renewNumber        uint32
	// granted is the duration that the shard has stated last; 0 if that is the requested one.
	granted int64
	// unconfirmed: the reading waits for the response to a renewal that was sent after all reads (Reading.IsConfirmed).
	unconfirmed bool
}

// maxRenewInterval bounds the time between renewals of a lease that a leader has shortened to its own. That is renewed
// all the time, and lasts about 600 ms (R14.1).
const maxRenewInterval = int64(200 * time.Millisecond)

// addLease counts a lease from now on, the time at which it is requested.
func (r *Reading) addLease(e *env.Env, s kv.ShardID) {
	l := &lease{shard: s, until: e.Now + usableLease(e, int64(e.Lease)), renewAt: e.Now + int64(e.Lease)/3}
	r.leases = append(r.leases, l)
	e.WakeAt(l.renewAt)
}

// addRoundLease counts the lease of a round. It is not renewed: at 85 % of it the snapshot is discarded.
//
// Renewals would let a round hold the updates of a shard for as long as another shard is slow.
func (r *Reading) addRoundLease(e *env.Env, s kv.ShardID) {
	r.leases = append(r.leases, &lease{shard: s, until: roundLeaseEnd(e), renewAt: env.Never})
}

// roundLeaseEnd is the end of a round's lease that counts from now on.
func roundLeaseEnd(e *env.Env) int64 { return e.Now + int64(e.Round.Lease)*85/100 }

// restartLeases counts the leases of a round from now on, when one of its waits begins, if the shards confirm at its
// end what they have registered (IsConfirmed). Then this clock proves nothing, and the leases only bound each wait:
//
//	a clock at twice the rate    85 ms by it are 43 ms, and 30 ms are 15 ms
//	the shards, then the last    respond in 14 ms each: within the waits
//	the shards                   confirm 18 ms later: they have been registered for 46 ms of 100 ms
//
// Counted from the first request, the leases would end each attempt of the round.
func (r *Reading) restartLeases(e *env.Env) {
	if !r.mustConfirm(e) {
		return
	}
	for _, l := range r.leases {
		l.until = max(l.until, roundLeaseEnd(e))
	}
}

// limit shortens a lease to the duration that the response to a request states, from the time at which that was sent.
func (l *lease) limit(e *env.Env, sent, granted int64) {
	if granted == 0 || l.ignoresGrant(e) {
		return
	}
	l.until = min(l.until, sent+usableLease(e, granted))
	if l.renewAt == env.Never { // of a round
		return
	}
	l.granted = granted
	l.renewAt = min(l.renewAt, sent+l.renewInterval(e))
	e.WakeAt(l.renewAt)
}

// renewInterval is the time between renewals: a third of the lease.
func (l *lease) renewInterval(e *env.Env) int64 {
	if l.granted == 0 {
		return int64(e.Lease) / 3
	}
	return min(l.granted/3, maxRenewInterval)
}

func (r *Reading) lease(s kv.ShardID) *lease {
	i := slices.IndexFunc(r.leases, func(l *lease) bool { return l.shard == s })
	if i < 0 {
		return nil
	}
	return r.leases[i]
}

// CheckIncarnation records the incarnation in which a response found the reader registered, and the duration that it
// states; the request was sent at a time. It reports false if an earlier response named another incarnation: the shard
// has restarted, or has another leader, and the registration is lost.
//
// Later responses do not change the lease: the registration lasts while it is renewed.
//
// History: R registers on s for x; s restarts, and its first incarnation's leases have ended; T changes x and y and
// commits; R reads y on s, and is registered there again. Without this check R would have the old x and the new y.
func (r *Reading) CheckIncarnation(e *env.Env, p *msg.ReadResponse, sent int64) bool {
	l := r.lease(p.Reading.Shard)
	if l == nil {
		return true
	}
	if l.incarnation == 0 {
		l.incarnation = p.Reading.Incarnation
		l.limit(e, sent, p.LeaseNanos)
	}
	return l.isOf(e, p.Reading.Incarnation)
}

// ExpiredLease returns a shard on which the lease has expired; ok is false if all leases hold.
//
// It is asked before anything that the reader has read is relied on: at its end, before a failure is reported, and
// before it continues at a snapshot.
func (r *Reading) ExpiredLease(e *env.Env) (s kv.ShardID, ok bool) {
	for _, l := range r.leases {
		if l.hasExpired(e, r.fixes) {
			return l.shard, true
		}
	}
	return 0, false
}

// TickLeases sends the renewals that are due.
//
// A lease is renewed after a third, and the request repeated after a sixth, so three requests may be lost.
func (r *Reading) TickLeases(e *env.Env) {
	for _, l := range r.leases {
		if e.Now >= l.renewAt && l.incarnation != 0 {
			r.renew(e, l)
		}
		at := env.Never
		if l.renewAt != env.Never {
			at = max(l.renewAt, e.Now+int64(e.Repeat))
		}
		if l.until > e.Now {
			at = min(at, l.until)
		}
		e.WakeAt(at)
	}
}

// renew requests a longer lease, and retries after half the interval.
//
// The new lease counts from the sending of the request: the shard cannot have started it earlier.
func (r *Reading) renew(e *env.Env, l *lease) {
	q := &msg.RenewLease{Reader: r.Name, Gateway: e.Node, Incarnation: l.incarnation, LeaseNanos: int64(e.Lease)}
	again := l.renewInterval(e) / 2
	if l.unconfirmed {
		q.LeaseNanos, q.Reading = int64(e.Round.Lease), r.Response(l.shard).Reading.Number
		again = int64(e.Repeat)
	}
	r.number++
	q.Number = r.number
	l.renewNumber, l.renewSent, l.renewAt = r.number, e.Now, e.Now+again
	e.SendTo(l.shard).Body = q
}

// IsConfirmed reports whether a round's registrations were valid until its last shard had fixed its CSN. With leases
// the gateway's clock proves that. Without them it requests the shards to renew what they have registered with their
// responses, and returns true when all have: no other leader of a shard can have been elected before that, since such a
// response leaves only when the shard's leader is confirmed (R3.14).
//
//	round        registers on s1 and fixes its CSN 7; s1 has another leader, which knows no registration
//	s1           decides A, which changes s1 and s2
//	s2, last     fixes its CSN, with A
//	round        without the confirmation: a half of A
//
// The last shard is not registered: the instant of the snapshot is that at which it has fixed its CSN.
func (r *Reading) IsConfirmed(e *env.Env) bool {
	if !r.mustConfirm(e) {
		return true
	}
	if !r.confirming {
		r.confirming = true
		r.restartLeases(e)
		for _, l := range r.leases {
			if r.last == nil || l.shard != r.lastShard {
				l.unconfirmed = true
				r.renew(e, l)
				e.WakeAt(l.renewAt)
			}
		}
	}
	return !r.AwaitsConfirmation()
}

// AwaitsConfirmation reports whether IsConfirmed has requested confirmations that are not here.
func (r *Reading) AwaitsConfirmation() bool {
	return slices.ContainsFunc(r.leases, func(l *lease) bool { return l.unconfirmed })
}

// OnRenewLeaseResponse handles the response to a renewal, and reports whether the reader is still registered. A
// response that arrives after the end of the old lease does not count.
func (r *Reading) OnRenewLeaseResponse(e *env.Env, p *msg.RenewLeaseResponse) bool {
	l := r.lease(p.Shard)
	if l == nil || p.Number != l.renewNumber {
		return true
	}
	if !p.Ok || l.hasExpired(e, r.fixes) {
		return false
	}
	l.renewNumber, l.granted = 0, p.LeaseNanos
	if l.unconfirmed { // the reading ends
		l.unconfirmed, l.renewAt = false, env.Never
		return true
	}
	l.until = max(l.until, l.renewSent+usableLease(e, l.duration(e)))
	l.renewAt = l.renewSent + l.renewInterval(e)
	e.WakeAt(l.renewAt)
	return true
}

// LateFailure is the failure of a reader that needs a shard which did not respond in time.
func LateFailure(of kv.ShardID) *msg.Failure {
	return env.Failure(msg.ReasonLate, kv.KindAborted, "shard "+of.String()+" did not respond in time")
}

// ExpiredLeaseFailure is the failure of a reader whose registration may have been interrupted.
func ExpiredLeaseFailure(on kv.ShardID) *msg.Failure {
	text := "the reader's registration on shard " + on.String() + " expired, or the shard restarted"
	return env.Failure(msg.ReasonLapsed, kv.KindAborted, text)
}
