package heat

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Map says how hot keys are: in writes a second that another write is in the way of. It
// does not change, so that several machines may share it.
type Map struct {
	keys map[string]float64
	// Moved are the keys that the hot shard has taken in, as of Epoch.
	Moved [][]byte
	Epoch uint64
	// incarnation is the hot shard's, and number counts its maps in it.
	incarnation kv.Incarnation
	number      uint64
}

// NewMap takes what the planner reported.
func NewMap(m *msg.HeatMap) *Map {
	h := &Map{
		keys:        make(map[string]float64, len(m.Keys)),
		Moved:       m.Moved,
		Epoch:       m.Epoch,
		incarnation: m.Incarnation,
		number:      m.Number,
	}
	for i := range m.Keys {
		h.keys[string(m.Keys[i].Key)] = m.Keys[i].Heat
	}
	return h
}

// isNewer reports whether the hot shard has sent a map after another one.
func (m *Map) isNewer(o *Map) bool {
	if m.incarnation != o.incarnation {
		return m.incarnation > o.incarnation
	}
	return m.number > o.number
}

const (
	// lasts is how long a gateway goes by a heat map if it gets no newer one.
	lasts = 4 * kv.DefaultHeatEvery
	// mostTogether is of how many hot keys of a transaction, the hottest, it is counted that
	// they occur together.
	mostTogether = 4
	// pairsReported is how many pairs are in a report to the planner.
	pairsReported = 32
)

// Heat is what one gateway machine knows of hot keys.
type Heat struct {
	env *env.Env
	// hot is the newest map, nil if there is none; it is good until until.
	hot   *Map
	until int64
	// pairs counts which hot keys occur together; news: some have since the last report.
	pairs  *hotshard.Pairs
	news   bool
	habits habits
}

// New makes the view of a machine to which no key is hot.
func New(e *env.Env) *Heat {
	return &Heat{env: e, pairs: hotshard.NewPairs(hotshard.PairOptions{})}
}

// Set takes a newer map, and reports to the planner which hot keys occur together. An older one, or a
// copy, is ignored.
func (h *Heat) Set(m *Map) {
	if h.hot != nil && !m.isNewer(h.hot) {
		return
	}
	h.hot = m
	h.until = h.env.Now + int64(lasts)
	h.report()
}

func (h *Heat) known() bool {
	return h.hot != nil && len(h.hot.keys) > 0 && h.env.Now < h.until
}

// hotKey is a hot key of a transaction.
type hotKey struct {
	key   []byte
	heat  float64
	shard kv.ShardID
}

// NoteTogether counts the hot keys of a transaction that are not on the same shard.
func (h *Heat) NoteTogether(ps piece.Pieces) {
	if len(ps) < 2 || !h.known() {
		return
	}
	var room [mostTogether + 1]hotKey
	hot := room[:0]
	for i := range ps {
		for j := range ps[i].Ops {
			op := &ps[i].Ops[j]
			heat, is := h.hot.keys[string(op.Key)]
			again := func(x hotKey) bool { return bytes.Equal(x.key, op.Key) }
			if op.IsRange() || !is || slices.ContainsFunc(hot, again) {
				continue
			}
			hot = append(hot, hotKey{op.Key, heat, ps[i].Shard})
			slices.SortStableFunc(hot, func(a, b hotKey) int { return cmp.Compare(b.heat, a.heat) })
			hot = hot[:min(len(hot), mostTogether)]
		}
	}
	for i := range hot {
		for j := range i {
			if hot[i].shard != hot[j].shard {
				h.pairs.Note(h.env.Now, hot[i].key, hot[j].key)
				h.news = true
			}
		}
	}
}

// report sends the planner which hot keys occur together, if any have since the last
// report. The planner forgets a pair that is not reported again, and a gateway without work
// is silent.
func (h *Heat) report() {
	h.pairs.Fade(h.env.Now)
	if !h.news {
		return
	}
	h.news = false
	top := h.pairs.Top(h.env.Now, pairsReported)
	if len(top) == 0 {
		return
	}
	from := uint32(h.env.Node) + uint32(h.env.Stripe)<<16
	h.env.To(h.env.Hot()).Body = &msg.PairReport{Gateway: from, Pairs: top}
}

// Hottest is the shard whose piece is the hottest, and how hot that is: the sum over its
// keys. Among equals, and where nothing is known, it is the last in the router's order, so
// that the hot shard goes before any.
//
// The order of heat is one on keys, not on shards: what decides where a transaction waits
// is the hottest key that it touches, not what else is on the same shard. Gateways may
// disagree for a while; the protocol is right for any order (docs/protocol.md, section 4).
func (h *Heat) Hottest(ps piece.Pieces) (last kv.ShardID, heat float64) {
	known := h.known()
	last = ps[0].Shard
	for i := range ps {
		sum := 0.0
		for j := range ps[i].Ops {
			op := &ps[i].Ops[j]
			if known && !op.IsRange() {
				sum += h.hot.keys[string(op.Key)]
			}
		}
		if sum > heat || sum == heat && h.env.Router.Hotter(ps[i].Shard, last) {
			last, heat = ps[i].Shard, sum
		}
	}
	return last, heat
}
