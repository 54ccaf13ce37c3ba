package sim

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// heat is how shards tell which of their keys are hot.
func (w *world) heat() shard.HeatConfig {
	return shard.HeatConfig{Every: w.opt.HeatEvery, Hot: w.router.HotShard(), Nodes: len(w.nodes), Node: w.router.Node(w.router.HotShard())}
}

// startLies has gateways be told now and then that some keys are hot, or that
// none is, whatever is the case: each something else, so that they disagree
// about which shard is the last agent, and about which is read last.
func (w *world) startLies() {
	if w.opt.Lies == 0 {
		return
	}
	var next func()
	next = func() {
		if w.busy == 0 || w.calm {
			return
		}
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		env := msg.ToGateway(n.id)
		env.Body = w.lie()
		w.send(n, env)
		w.after(w.about(w.opt.Lies), next)
	}
	w.after(w.about(w.opt.Lies), next)
}

func (w *world) lie() *msg.HeatMap {
	m := &msg.HeatMap{Number: w.maps + 1}
	hot := w.shards[w.shardAt(w.router.HotShard())]
	if hot.m != nil {
		m.Incarnation = hot.m.Incarnation()
	}
	tell := func(key []byte) {
		if w.rng.IntN(2) == 0 {
			m.Keys = append(m.Keys, msg.KeyHeat{Key: key, Shard: w.router.Shard(key), Heat: 1 + 1000*w.rng.Float64()})
		}
	}
	if w.opt.Anchored && w.rng.IntN(2) == 0 {
		tell(anchor) // both commits of an id that is sent again have this last agent
		return m
	}
	for i := range w.opt.Registers {
		tell(regKey(i))
	}
	for i := range w.opt.Counters {
		tell(counterKey(i))
	}
	return m
}
