package readreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Fix lists the shards of a snapshot round (docs/protocol.md, section 7).
type Fix struct {
	// First are shards known to be slow. They are sent their requests first, and the round waits for them without a
	// bound. No other shard is registered meanwhile.
	First []kv.ShardID
	// Rest are the other shards. Last, of either list, fixes its CSN last.
	Rest []kv.ShardID
	Last kv.ShardID
}

// Fix requests that the shards of a round fix their CSNs and retain these states.
//
//	slow shards (First)   register, respond when nothing sealed is undecided      no bound
//	the others (Rest)     register and fix; a lease of 100 ms begins              30 ms
//	the last one          fixes when all others have: the instant of the snapshot 30 ms
func (r *Reading) Fix(e *env.Env, f Fix, lastRepeat int64) {
	r.fixes = true
	if len(f.First) == 0 {
		r.sendFixes(e, &f, lastRepeat)
		return
	}
	r.remaining = &f
	r.restartWait(e)
	for _, s := range f.First {
		r.Send(e, s, &msg.Read{LeaseNanos: int64(e.Lease), RetainNanos: int64(kv.DefaultScanRetention)}, lastRepeat)
	}
}

// sendFixes sends the requests to Rest and Last. The shards notify the last one, except after slow shards: then the
// gateway itself waits for their responses before it sends the last request.
func (r *Reading) sendFixes(e *env.Env, f *Fix, lastRepeat int64) {
	gatewayWaits := len(f.First) > 0
	all := slices.Clone(f.Rest)
	if !slices.Contains(all, f.Last) {
		all = append(all, f.Last) // again: as a slow shard it was only registered
	}
	for _, s := range all {
		// The state is retained for longer than the registration lasts: the deregistration that reports the snapshot
		// as complete may arrive late.
		q := &msg.Read{LeaseNanos: fixLease(e), RetainNanos: int64(e.Lease)}
		if gatewayWaits && s == f.Last {
			r.deferLast(e, q, s, lastRepeat)
			continue
		}
		if !gatewayWaits {
			r.setFixOrder(e, q, s, f.Last, all)
		}
		r.Send(e, s, q, lastRepeat)
	}
	if r.HasPending() {
		r.restartWait(e)
		return
	}
	r.SendNext(e, lastRepeat) // there is no shard but the last
}

// restartWait starts the bounded wait of a round, for the shards that can respond from now on.
func (r *Reading) restartWait(e *env.Env) {
	r.since = e.Now
	e.WakeAt(e.Now + int64(e.Round.Wait))
	r.restartLeases(e)
}

// pendingExceptLast lists the shards without a response, except the last one.
func (r *Reading) pendingExceptLast() []kv.ShardID {
	return slices.DeleteFunc(r.PendingShards(), func(s kv.ShardID) bool { return s == r.lastShard })
}

// OnFixResponse handles the response of a shard. The last shard can respond when all others have.
//
// Its wait of 30 ms begins then: before, it was waiting for others.
func (r *Reading) OnFixResponse(e *env.Env) {
	if r.remaining == nil && r.HasPending() && len(r.pendingExceptLast()) == 0 {
		r.restartWait(e)
	}
}

// isOverdue reports whether the round has waited for its full time.
func (r *Reading) isOverdue(e *env.Env) bool {
	at := r.since + int64(e.Round.Wait)
	if e.Now < at {
		e.WakeAt(at)
		return false
	}
	return true
}

// SlowShards lists the shards in First that have not responded in time, if others in First have: the latter should not
// stay registered until the slow ones respond. It returns them once.
//
// A registered shard decides no conflicting update. With slow shards beside it in First, it would be blocked for as
// long as these need, which may be seconds.
func (r *Reading) SlowShards(e *env.Env) []kv.ShardID {
	if r.remaining == nil || r.awaitsSlow || !r.isOverdue(e) {
		return nil
	}
	r.awaitsSlow = true
	if len(r.responses) == 0 {
		return nil
	}
	return r.PendingShards()
}

// StuckShards lists the shards in First that have not responded for a lease, the longest time for which a round
// holds updates.
func (r *Reading) StuckShards(e *env.Env) []kv.ShardID {
	if r.remaining == nil || e.Now < r.since+int64(e.Round.Lease) {
		return nil
	}
	return r.PendingShards()
}

// LateShards lists the shards for which the round waits no longer. The wait for the last shard begins when all others
// have responded.
func (r *Reading) LateShards(e *env.Env) []kv.ShardID {
	if !r.hasTimeout(e) || !r.HasPending() || !r.isOverdue(e) {
		return nil
	}
	others := r.pendingExceptLast()
	if len(others) > 0 {
		return others
	}
	return r.PendingShards()
}

// LeaveOut continues a round without shards that have not responded. If the last one is among them, the snapshot is
// complete without it: all other shards are still registered, so no CSN has changed since the last of them responded.
func (r *Reading) LeaveOut(e *env.Env, shards []kv.ShardID, lastRepeat int64) {
	is := func(s kv.ShardID) bool { return slices.Contains(shards, s) }
	r.pending = slices.DeleteFunc(r.pending, func(a *pendingRead) bool { return is(a.env.Shard) })
	r.notifying = slices.DeleteFunc(r.notifying, func(m *msg.Envelope) bool { return is(m.Shard) })
	r.leases = slices.DeleteFunc(r.leases, func(l *lease) bool { return is(l.shard) })
	for _, s := range shards {
		r.deregister(e, s)
	}
	switch {
	case is(r.lastShard):
		r.last, r.deferredLast = nil, nil
	case r.last != nil && r.Response(r.lastShard) == nil: // it must not wait for the left-out shards
		q := *r.last
		q.Await = slices.DeleteFunc(slices.Clone(q.Await), is)
		r.pending = slices.DeleteFunc(r.pending, func(a *pendingRead) bool { return a.env.Shard == r.lastShard })
		r.last = &q
		r.Send(e, r.lastShard, &q, lastRepeat)
	}
	r.restartWait(e)
}

// RetainAtEnd makes the final deregistrations report the snapshot as complete, so that the shards retain it.
func (r *Reading) RetainAtEnd() { r.complete = true }
