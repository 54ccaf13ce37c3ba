package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// A round's state is kept by every shard for kv.DefaultScanKeep. Whoever reads at it
// may take longer, and come late to a shard of which he has read nothing yet. So as
// long as somebody reads at it, all shards are told to keep it.

// keptEvery is how often they are told: two in a row may be lost.
const keptEvery = int64(kv.DefaultScanKeep) / 4

// use begins to have a round's state kept.
func (g *Gateway) use(p *round) {
	p.users++
	p.renewAt = g.now + keptEvery
	g.kept = append(g.kept, p)
	g.timed(p.renewAt)
}

// unuse has the shards forget a state that nobody reads at.
func (g *Gateway) unuse(p *round) {
	p.users--
	switch {
	case p.users > 0:
		return
	case p.lent:
		g.out.GiveBack = append(g.out.GiveBack, p.name)
		return
	}
	g.kept = slices.DeleteFunc(g.kept, func(x *round) bool { return x == p })
	g.forgetKept(p.name)
}

// tickKept has the states that are read at kept for longer.
func (g *Gateway) tickKept() {
	for _, p := range g.kept {
		if g.now >= p.renewAt {
			p.renewAt = g.now + keptEvery
			for _, s := range g.everyShard() {
				g.sendShard(s, func(e *msg.Envelope) {
					e.ScanAt = &msg.ScanAt{Txn: p.name, Gateway: g.cfg.Node, Incarnation: p.incs[s], Index: p.at.At(s), KeepNanos: int64(kv.DefaultScanKeep)}
				})
			}
		}
		g.timed(p.renewAt)
	}
}

// forgetKept has the shards forget what they keep under the name of a round's
// attempt. They would do so by themselves after kv.DefaultScanKeep.
func (g *Gateway) forgetKept(name kv.TxnRef) {
	for s := range g.cfg.Router.Shards() {
		g.sendShard(kv.ShardID(s), func(e *msg.Envelope) { e.ScanAt = &msg.ScanAt{Txn: name, Done: true} })
	}
}
