// Package routing is where a gateway routes keys.
//
// A key is on its home shard unless it has been moved to the hot shard. The gateway learns moves from the hot shard's
// list of moved keys, and from redirects by move tombstones. Neither is needed for safety: a shard that does not have
// a key returns where it is, and the next attempt uses that shard. So this is a cache of at most 4,096 keys, and it
// may drop entries.
//
//	lookup of a key: redirects of this transaction ─▶ known moves ─▶ home shard
//
// Example: k has been moved back, and gateway A has not learned it. A transaction of A is routed to the hot shard,
// which redirects it to the home shard. The transaction continues there, and A drops its entry for k.
//
// Guarantee: a transaction that is redirected looks for the key on the shard of the redirect, whatever this gateway
// learns from others meanwhile. Otherwise two stale entries could send it back and forth.
//
// Hazard: redirects at a snapshot and in the present differ, and are kept apart.
package routing

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// maxMoved bounds the known moves; the hot shard has far fewer keys. A key without an entry is redirected
// by its home.
const maxMoved = 4096

// Routes are the moves that one state machine of a gateway knows.
type Routes struct {
	env   *env.Env
	moved map[string]kv.ShardID
	// epoch is the epoch of the newest list of the hot shard.
	epoch uint64
}

// New makes a table without moves.
func New(e *env.Env) *Routes { return &Routes{env: e, moved: map[string]kv.ShardID{}} }

// Learn replaces the known moves by the hot shard's list of an epoch. A list that is not newer is ignored.
//
// Redirects since the list was made are dropped with the older list; a key that has moved since costs one redirect
// again.
func (p *Routes) Learn(epoch uint64, keys [][]byte) {
	if epoch <= p.epoch {
		return
	}
	p.epoch = epoch
	clear(p.moved)
	hot := p.env.Hot()
	for _, k := range keys {
		if p.env.Router.Shard(k) != hot && len(p.moved) < maxMoved {
			p.moved[string(k)] = hot
		}
	}
}

// store routes a key to a shard for all later lookups.
//
// A full table is cleared: it fills again with the keys in use, at one redirect for each.
func (p *Routes) store(key []byte, at kv.ShardID, home bool) {
	if home {
		delete(p.moved, string(key))
		return
	}
	if len(p.moved) >= maxMoved {
		clear(p.moved)
	}
	p.moved[string(key)] = at
}

// Redirects are the redirects of one transaction. The zero value has none.
type Redirects struct {
	present map[string]kv.ShardID
	// past are the shards of keys at the snapshot that the transaction reads.
	past map[string]pastPlace
}

// pastPlace is the shard of a key at a snapshot. redirected: its home shard has redirected to it.
type pastPlace struct {
	shard      kv.ShardID
	redirected bool
}

// Shard returns the shard on which a transaction looks for a key.
func (p *Routes) Shard(r *Redirects, key []byte) kv.ShardID {
	if len(r.past) > 0 {
		x, ok := r.past[string(key)]
		if ok {
			return x.shard
		}
	}
	to, ok := r.present[string(key)]
	if ok {
		return to
	}
	if len(p.moved) > 0 {
		to, ok = p.moved[string(key)]
		if ok {
			return to
		}
	}
	return p.env.Router.Shard(key)
}

// Redirect stores the redirect in a failure, and reports whether it is one. inPast: the transaction reads at a
// snapshot, so the redirect does not affect others.
//
// A redirect at a snapshot is of the past: today the key may be on another shard.
func (p *Routes) Redirect(r *Redirects, f *msg.Failure, inPast bool) bool {
	if f.Reason != msg.ReasonMoved {
		return false
	}
	if !inPast {
		p.follow(r, f.Key, f.MovedTo)
		return true
	}
	if r.past == nil {
		r.past = map[string]pastPlace{}
	}
	r.past[string(f.Key)] = pastPlace{shard: f.MovedTo, redirected: f.MovedTo != p.env.Router.Shard(f.Key)}
	return true
}

// DropPast drops the redirects at a snapshot that is no longer read.
func (r *Redirects) DropPast() { r.past = nil }

// MarkRedirected marks the operations at a snapshot that their home shard has redirected. Without the mark, the hot
// shard would redirect a key that it did not have at the snapshot back home.
//
//	gateway ─ read k at snapshot 7 ─▶ home: move tombstone at 7 ── redirect ─▶ gateway
//	gateway ─ read k, redirected ───▶ hot shard: k is absent at 7, and was here: the answer is "absent"
func (r *Redirects) MarkRedirected(ops []msg.Op) []msg.Op {
	if len(r.past) == 0 {
		return ops
	}
	ops = slices.Clone(ops) // an earlier request may be in flight
	for i := range ops {
		ops[i].Redirected = r.past[string(ops[i].Key)].redirected
	}
	return ops
}
