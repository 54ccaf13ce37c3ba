package txn

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Heat says how hot keys are: in writes a second that another write is in the
// way of. It does not change, so that several gateways may share it.
type Heat struct {
	keys  map[string]float64
	moved [][]byte
	epoch uint64
}

// NewHeat takes what the planner told.
func NewHeat(m *msg.HeatMap) *Heat {
	h := &Heat{keys: make(map[string]float64, len(m.Keys)), moved: m.Moved, epoch: m.Epoch}
	for i := range m.Keys {
		h.keys[string(m.Keys[i].Key)] = m.Keys[i].Heat
	}
	return h
}

// heatLasts is how long a gateway goes by what it was told of heat, if it hears
// nothing more.
const heatLasts = 4 * kv.DefaultHeatEvery

// SetHeat says from now on which keys are hot.
func (g *Gateway) SetHeat(now int64, h *Heat) {
	g.now = max(g.now, now)
	g.heat, g.heatUntil = h, g.now+int64(heatLasts)
	g.setMoved(h.epoch, h.moved)
	g.tellPairs()
}

func (g *Gateway) heatKnown() bool {
	return g.heat != nil && len(g.heat.keys) > 0 && g.now < g.heatUntil
}

// mostTogether is of how many hot keys of a transaction, the hottest, it is
// noted that they occur together.
const mostTogether = 4

// noteTogether takes note of the hot keys of a transaction that do not live on
// the same shard.
func (g *Gateway) noteTogether(ps pieces) {
	if len(ps) < 2 || !g.heatKnown() {
		return
	}
	type hotKey struct {
		key   []byte
		heat  float64
		shard kv.ShardID
	}
	var room [mostTogether + 1]hotKey
	hot := room[:0]
	for i := range ps {
		for j := range ps[i].piece.Ops {
			op := &ps[i].piece.Ops[j]
			heat, is := g.heat.keys[string(op.Key)]
			if op.IsRange() || !is || slices.ContainsFunc(hot, func(h hotKey) bool { return bytes.Equal(h.key, op.Key) }) {
				continue
			}
			hot = append(hot, hotKey{op.Key, heat, ps[i].shard})
			slices.SortStableFunc(hot, func(a, b hotKey) int { return cmp.Compare(b.heat, a.heat) })
			hot = hot[:min(len(hot), mostTogether)]
		}
	}
	for i := range hot {
		for j := range i {
			if hot[i].shard != hot[j].shard {
				g.pairs.Note(g.now, hot[i].key, hot[j].key)
				g.pairsNew = true
			}
		}
	}
}

// pairsTold is how many pairs the planner is told of.
const pairsTold = 32

// tellPairs tells the planner which hot keys occur together, if any have since
// it was told last. What is not repeated the planner forgets by itself, and a
// gateway without work is silent.
func (g *Gateway) tellPairs() {
	g.pairs.Fade(g.now)
	if !g.pairsNew {
		return
	}
	g.pairsNew = false
	top := g.pairs.Top(g.now, pairsTold)
	if len(top) == 0 {
		return
	}
	g.sendShard(g.cfg.Router.HotShard(), func(e *msg.Envelope) {
		e.PairDigest = &msg.PairDigest{Gateway: uint32(g.cfg.Node) + uint32(g.cfg.Stripe)<<16, Pairs: top}
	})
}

// hottest is the shard whose piece is the hottest, and how hot that is: the sum
// over its keys. Among equals, and where nothing is known, it is the last in
// the router's order, so that the hot shard goes before any.
//
// The order of heat is one on keys, not on shards: what decides where a
// transaction waits is the hottest key that it touches, not what else lives
// beside that. Gateways may disagree for a while; the protocol is right for any
// order (docs/protocol.md, section 4).
func (g *Gateway) hottest(ps pieces) (last kv.ShardID, heat float64) {
	known := g.heatKnown()
	last = ps[0].shard
	for i := range ps {
		h := 0.0
		for j := range ps[i].piece.Ops {
			if op := &ps[i].piece.Ops[j]; known && !op.IsRange() {
				h += g.heat.keys[string(op.Key)]
			}
		}
		if h > heat || h == heat && g.cfg.Router.Hotter(ps[i].shard, last) {
			last, heat = ps[i].shard, h
		}
	}
	return last, heat
}
