package sim

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// heat configures how shards report hot keys.
func (w *sim) heat() shard.HeatConfig {
	return shard.HeatConfig{Every: w.opt.HeatEvery, Hot: w.Router.HotShard(), Nodes: len(w.nodes),
		Node: w.Router.Node(w.Router.HotShard())}
}

// startFalseHeatMaps sends false heat maps to random gateways, each with other keys. So gateways disagree about the
// last agent of a transaction, and about the shard that is read last. Heat may only affect speed.
func (w *sim) startFalseHeatMaps() {
	if w.opt.FalseHeatMaps == 0 {
		return
	}
	var next func()
	next = func() {
		if w.unfinished == 0 || w.Calm {
			return
		}
		n := w.nodes[w.Rng.IntN(len(w.nodes))]
		env := msg.ToGateway(n.ID)
		env.Body = w.falseHeatMap()
		w.Send(world.Source{Node: n.Node}, env)
		w.After(w.About(w.opt.FalseHeatMaps), next)
	}
	w.After(w.About(w.opt.FalseHeatMaps), next)
}

func (w *sim) falseHeatMap() *msg.HeatMap {
	m := &msg.HeatMap{Number: w.maxHeatMap + 1}
	hot := w.shards[w.Router.HotShard()]
	if hot.M != nil {
		m.Incarnation = hot.M.Incarnation()
	}
	add := func(key []byte) {
		if w.Rng.IntN(2) == 0 {
			m.Keys = append(m.Keys, msg.KeyHeat{Key: key, Shard: w.Router.Shard(key), Heat: 1 + 1000*w.Rng.Float64()})
		}
	}
	if w.opt.Anchored && w.Rng.IntN(2) == 0 {
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
