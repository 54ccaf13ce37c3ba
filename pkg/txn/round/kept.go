package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// keptEvery is how often the shards are told to keep a state: two messages in a row may be lost.
const keptEvery = int64(kv.DefaultScanKeep) / 4

// keep begins to have a state kept, for one user.
func (r *Rounds) keep(p *Round) {
	p.users++
	p.renewAt = r.env.Now + keptEvery
	r.kept = append(r.kept, p)
	r.env.Timed(p.renewAt)
}

// Use counts one more transaction that reads at a state.
func (r *Rounds) Use(p *Round) { p.users++ }

// Unuse ends one use of a state. After the last the shards forget it.
func (r *Rounds) Unuse(p *Round) {
	p.users--
	switch {
	case p.users > 0:
		return
	case p.lent:
		r.GiveBack = append(r.GiveBack, p.Name)
		return
	}
	r.kept = slices.DeleteFunc(r.kept, func(x *Round) bool { return x == p })
	r.forget(p)
}

// Tick has the states that are read at kept for longer.
func (r *Rounds) Tick() {
	for _, p := range r.kept {
		if r.env.Now >= p.renewAt {
			p.renewAt = r.env.Now + keptEvery
			r.renew(p)
		}
		r.env.Timed(p.renewAt)
	}
}

func (r *Rounds) renew(p *Round) {
	for _, s := range p.shards() {
		r.env.To(s).Body = &msg.ReadPage{
			Txn:         p.Name,
			Gateway:     r.env.Node,
			Incarnation: p.Incs[s],
			Index:       p.At.At(s),
			KeepNanos:   int64(kv.DefaultScanKeep),
		}
	}
}

// forget has the shards forget what they keep for a round. They would do so by themselves
// after kv.DefaultScanKeep.
func (r *Rounds) forget(p *Round) {
	for _, s := range p.shards() {
		r.env.To(s).Body = &msg.ReadPage{Txn: p.Name, Done: true}
	}
}

// shards lists those that have a part in the state.
func (s *State) shards() (out []kv.ShardID) {
	for i := range s.Incs {
		if s.Has(kv.ShardID(i)) {
			out = append(out, kv.ShardID(i))
		}
	}
	return out
}
