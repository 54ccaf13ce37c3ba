package readreq

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Fix lists the shards that fix their states for a round (docs/protocol.md, section 7).
type Fix struct {
	// First are asked first, and awaited for as long as it takes: they are known to be slow. No
	// other shard is registered meanwhile.
	First []kv.ShardID
	// Rest are the others, and Last is the shard, of either list, that fixes its state last.
	Rest []kv.ShardID
	Last kv.ShardID
}

// Fix has the shards of a round fix their states and keep them.
func (r *Reading) Fix(e *env.Env, f Fix, lastRepeat int64) {
	r.fixes = true
	if len(f.First) == 0 {
		r.fixRest(e, &f, lastRepeat)
		return
	}
	r.rest = &f
	r.awaitFrom(e)
	for _, s := range f.First {
		r.Ask(e, s, &msg.Read{LeaseNanos: int64(e.Lease), KeepNanos: int64(kv.DefaultScanKeep)}, lastRepeat)
	}
}

// fixRest asks the shards that have not been asked. They notify the last one, unless the gateway
// gathers their answers, which it does where slow shards were asked first.
func (r *Reading) fixRest(e *env.Env, f *Fix, lastRepeat int64) {
	gather := len(f.First) > 0
	all := slices.Clone(f.Rest)
	if !slices.Contains(all, f.Last) {
		all = append(all, f.Last) // once more: it was registered first
	}
	for _, s := range all {
		// What it keeps outlives its registration: word that the state is complete may come late.
		q := &msg.Read{LeaseNanos: int64(e.Round.Lease), KeepNanos: int64(e.Lease)}
		if gather && s == f.Last {
			q.LeaseNanos = 0
			r.then, r.lastShard = q, s
			continue
		}
		if !gather {
			r.order(q, s, f.Last, all)
		}
		if s == f.Last && e.Mutants.Has(mutant.PinHotFirst) {
			q.Await, r.last = nil, nil
		}
		if e.Mutants.Has(mutant.PinUnregistered) {
			q.LeaseNanos = 0
		}
		r.Ask(e, s, q, lastRepeat)
	}
	if r.Open() {
		r.awaitFrom(e)
		return
	}
	r.Next(e, lastRepeat) // there is none but the last
}

// awaitFrom has the round wait from now for the shards that can answer now.
func (r *Reading) awaitFrom(e *env.Env) {
	r.since = e.Now
	e.Timed(e.Now + int64(e.Round.Wait))
}

// othersOpen lists the shards other than the last one that have not answered.
func (r *Reading) othersOpen() []kv.ShardID {
	return slices.DeleteFunc(r.Awaits(), func(s kv.ShardID) bool { return s == r.lastShard })
}

// FixTook notes that a shard has answered. The last one can answer when all others have.
func (r *Reading) FixTook(e *env.Env) {
	if r.rest == nil && r.Open() && len(r.othersOpen()) == 0 {
		r.awaitFrom(e)
	}
}

// late reports whether the round has waited for long enough.
func (r *Reading) late(e *env.Env) bool {
	at := r.since + int64(e.Round.Wait)
	if e.Now < at {
		e.Timed(at)
		return false
	}
	return true
}

// Slow lists the shards that are asked first and have not answered in time, if others that were taken
// for slow have: these should not be registered until the slow ones answer. It does so once.
func (r *Reading) Slow(e *env.Env) []kv.ShardID {
	if r.rest == nil || r.waits || !r.late(e) {
		return nil
	}
	r.waits = true
	if len(r.replies) == 0 {
		return nil
	}
	return r.Awaits()
}

// Stuck lists the shards that are asked first and have not answered for longer than a round holds the
// updates of others.
func (r *Reading) Stuck(e *env.Env) []kv.ShardID {
	if r.rest == nil || e.Now < r.since+int64(e.Round.Lease) {
		return nil
	}
	return r.Awaits()
}

// Late lists the shards for which the round does not wait any longer. It waits for the last one
// from when all others have answered.
func (r *Reading) Late(e *env.Env) []kv.ShardID {
	if r.rest != nil || !r.Open() || e.Mutants.Has(mutant.RoundsWaitForever) || !r.late(e) {
		return nil
	}
	others := r.othersOpen()
	if len(others) > 0 {
		return others
	}
	return r.Awaits()
}

// LeaveOut has a round go on without shards that have not answered. If the last one is among
// them the state is complete with the answers of the others: all of these are registered.
func (r *Reading) LeaveOut(e *env.Env, shards []kv.ShardID, lastRepeat int64) {
	is := func(s kv.ShardID) bool { return slices.Contains(shards, s) }
	r.asks = slices.DeleteFunc(r.asks, func(a *ask) bool { return is(a.env.Shard) })
	r.notifying = slices.DeleteFunc(r.notifying, func(m *msg.Envelope) bool { return is(m.Shard) })
	r.leases = slices.DeleteFunc(r.leases, func(l *lease) bool { return is(l.shard) })
	for _, s := range shards {
		r.leave(e, s)
	}
	switch {
	case is(r.lastShard):
		r.last, r.then = nil, nil
	case r.last != nil && r.Reply(r.lastShard) == nil: // it does not await them any more
		q := *r.last
		q.Await = slices.DeleteFunc(slices.Clone(q.Await), is)
		r.asks = slices.DeleteFunc(r.asks, func(a *ask) bool { return a.env.Shard == r.lastShard })
		r.last = &q
		r.Ask(e, r.lastShard, &q, lastRepeat)
	}
	r.awaitFrom(e)
}

// Complete has the shards keep what they have fixed when the reading ends.
func (r *Reading) Complete() { r.complete = true }
