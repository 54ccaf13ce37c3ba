package readreq

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// usableLease is the part of a lease that the gateway relies on, since clock rates may differ.
//
//	gateway:  request sent ────────── 0.9 L: the reader counts as expired
//	shard:            request arrives ────────────── L: the registration expires
//
// The gateway's end is earlier even if its clock is 10 % slow: it never relies on a registration that has expired.
func usableLease(e *env.Env, nanos int64) int64 {
	if e.Mutants.Has(mutant.LeaseWithoutMargin) {
		return nanos
	}
	return nanos - nanos/10
}

// ignoresGrant: what a shard grants counts, not what was requested. Its next leader does not know the registration
// (R14.1).
func (l *lease) ignoresGrant(e *env.Env) bool { return e.Mutants.Has(mutant.GrantedLeaseIgnored) }

// duration is that of a lease that was granted just now, from when it was requested.
func (l *lease) duration(e *env.Env) int64 {
	if l.granted == 0 || l.ignoresGrant(e) {
		return int64(e.Lease)
	}
	return l.granted
}

// isOf reports whether an incarnation of the shard is the one that has registered the reader. A response does not
// prolong the lease, which counts from the sending of the request.
func (l *lease) isOf(e *env.Env, inc kv.Incarnation) bool {
	if e.Mutants.Has(mutant.LeaseFromResponse) {
		l.until = max(l.until, e.Now+usableLease(e, int64(e.Lease)))
	}
	return l.incarnation == inc || e.Mutants.Has(mutant.LeaseUnchecked)
}

// hasExpired reports whether the lease has ended, even if a renewal is in flight: the shard may have expired it, and
// have decided an update, before that arrives. round: the lease is a round's.
func (l *lease) hasExpired(e *env.Env, round bool) bool {
	if e.Mutants.Has(mutant.LeaseUnchecked) || round && e.Mutants.Has(mutant.RoundLeaseUnchecked) ||
		l.renewNumber != 0 && e.Mutants.Has(mutant.LeaseRevived) {
		return false
	}
	return e.Now >= l.until
}

// mustReadLastAgain reports whether the last shard relied on other reads than those whose values are here: its values
// are of another instant.
func (r *Reading) mustReadLastAgain(e *env.Env) bool {
	return r.last != nil && !r.reliesOnHeldValues() && !e.Mutants.Has(mutant.OtherCopyTaken)
}

// deferLast keeps the request to the last shard until all others have responded. Read earlier, its values could be
// older than theirs: it is not registered there.
func (r *Reading) deferLast(e *env.Env, q *msg.Read, last kv.ShardID, lastRepeat int64) {
	q.LeaseNanos = 0
	r.lastShard = last
	if e.Mutants.Has(mutant.CoLocatedTooEarly) {
		r.last = q
		r.Send(e, last, q, lastRepeat)
		return
	}
	r.deferredLast = q
}

// fixLease is for how long a shard stays registered after it has fixed its CSN. Without a registration an update could
// be decided before another shard fixes its CSN, and the snapshot would have a part of it.
func fixLease(e *env.Env) int64 {
	if e.Mutants.Has(mutant.SnapshotUnregistered) {
		return 0
	}
	return int64(e.Round.Lease)
}

// setFixOrder makes one shard fix its CSN after all others. If it did so earlier, it could decide an update, for which
// it is the last agent, before the others fix theirs.
func (r *Reading) setFixOrder(e *env.Env, q *msg.Read, shard, last kv.ShardID, all []kv.ShardID) {
	r.setReadOrder(q, shard, last, all)
	if shard == last && e.Mutants.Has(mutant.SnapshotHotFirst) {
		q.Await, r.last = nil, nil
	}
}

// mustConfirm reports whether registrations are worth nothing by themselves: no clock bounds them (R3.14).
func (r *Reading) mustConfirm(e *env.Env) bool {
	return e.NoLeases && r.fixes && !e.Mutants.Has(mutant.RoundUnconfirmed)
}

// hasTimeout reports whether a round goes on without shards that do not respond in time: its registrations hold updates
// on all others. It waits for those in First as long as they need.
func (r *Reading) hasTimeout(e *env.Env) bool {
	return r.remaining == nil && !e.Mutants.Has(mutant.RoundsWaitForever)
}
