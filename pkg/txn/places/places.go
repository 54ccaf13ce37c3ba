// Package places is where a gateway looks for keys.
//
// A key is at home, by the router, unless it has been moved to the hot shard. The hot shard
// reports which keys it has taken in, and the home of a moved key answers with a forwarding
// tombstone. Neither has to be known, or right: a shard that does not have a key says where
// it is, and the attempt goes on there. So this is a cache, and it may forget.
package places

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// maxMoved bounds the keys that a gateway knows to have moved; the hot shard takes in far
// fewer. The home of a key that is forgotten says again where it is.
const maxMoved = 4096

// Places is what one gateway machine knows of keys that have moved.
type Places struct {
	env   *env.Env
	moved map[string]kv.ShardID
	// epoch is that of the newest report of the hot shard.
	epoch uint64
}

// New makes the places of a machine that has been told of no moves.
func New(e *env.Env) *Places { return &Places{env: e, moved: map[string]kv.ShardID{}} }

// Learn takes which keys the hot shard has taken in, as of an epoch. An earlier epoch is
// ignored.
func (p *Places) Learn(epoch uint64, keys [][]byte) {
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

// note has all calls from now on look for a key where it is.
func (p *Places) note(key []byte, at kv.ShardID, home bool) {
	if home {
		delete(p.moved, string(key))
		return
	}
	if len(p.moved) >= maxMoved {
		clear(p.moved)
	}
	p.moved[string(key)] = at
}

// Redirects is what one transaction has been told about the places of its keys. The zero
// value is that of one that has been told nothing.
type Redirects struct {
	present map[string]kv.ShardID
	// past are places at the state of the past that the transaction reads.
	past map[string]pastPlace
}

// pastPlace is where a key was. forwarded: its home has said so.
type pastPlace struct {
	shard     kv.ShardID
	forwarded bool
}

// Of is the shard on which a transaction looks for a key.
func (p *Places) Of(r *Redirects, key []byte) kv.ShardID {
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

// Redirect takes note of where a key is, if that is why a request failed. inPast: the
// transaction reads a state of the past.
func (p *Places) Redirect(r *Redirects, f *msg.Failure, inPast bool) bool {
	if f.Reason != msg.ReasonMoved {
		return false
	}
	if p.env.Mutants.Has(mutant.RedirectIgnored) && !inPast {
		return true
	}
	home := f.MovedTo == p.env.Router.Shard(f.Key)
	if inPast {
		if r.past == nil {
			r.past = map[string]pastPlace{}
		}
		r.past[string(f.Key)] = pastPlace{shard: f.MovedTo, forwarded: !home}
		return true
	}
	if r.present == nil {
		r.present = map[string]kv.ShardID{}
	}
	r.present[string(f.Key)] = f.MovedTo
	p.note(f.Key, f.MovedTo, home)
	return true
}

// ForgetPast forgets where keys were at a state that is no longer read.
func (r *Redirects) ForgetPast() { r.past = nil }

// Forward has operations on the past say that the homes of their keys have forwarded them.
func (r *Redirects) Forward(ops []msg.Op) []msg.Op {
	if len(r.past) == 0 {
		return ops
	}
	ops = slices.Clone(ops) // an earlier request may still be on its way
	for i := range ops {
		ops[i].Marked = r.past[string(ops[i].Key)].forwarded
	}
	return ops
}
