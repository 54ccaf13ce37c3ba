package sim

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// heat configures how shards report hot keys.
func (w *world) heat() shard.HeatConfig {
	return shard.HeatConfig{Every: w.opt.HeatEvery, Hot: w.router.HotShard(), Nodes: len(w.nodes),
		Node: w.router.Node(w.router.HotShard())}
}

// startFalseHeatMaps sends false heat maps to random gateways, each with other keys. So gateways disagree about the
// last agent of a transaction, and about the shard that is read last. Heat may only affect speed.
func (w *world) startFalseHeatMaps() {
	if w.opt.FalseHeatMaps == 0 {
		return
	}
	var next func()
	next = func() {
		if w.unfinished == 0 || w.calm {
			return
		}
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		env := msg.ToGateway(n.id)
		env.Body = w.falseHeatMap()
		w.send(n, env)
		w.after(w.about(w.opt.FalseHeatMaps), next)
	}
	w.after(w.about(w.opt.FalseHeatMaps), next)
}

func (w *world) falseHeatMap() *msg.HeatMap {
	m := &msg.HeatMap{Number: w.maxHeatMap + 1}
	hot := w.shards[w.shardAt(w.router.HotShard())]
	if hot.m != nil {
		m.Incarnation = hot.m.Incarnation()
	}
	add := func(key []byte) {
		if w.rng.IntN(2) == 0 {
			m.Keys = append(m.Keys, msg.KeyHeat{Key: key, Shard: w.router.Shard(key), Heat: 1 + 1000*w.rng.Float64()})
		}
	}
	if w.opt.Anchored && w.rng.IntN(2) == 0 {
		add(anchor) // both commits of a resent id get this last agent
		return m
	}
	for i := range w.opt.Registers {
		add(regKey(i))
	}
	for i := range w.opt.Counters {
		add(counterKey(i))
	}
	return m
}
