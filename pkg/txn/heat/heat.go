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

// Map is a heat map: the conflicting writes per second of each hot key. It is immutable, so state machines
// share it.
type Map struct {
	keys map[string]float64
	// Moved are the keys that have been moved to the hot shard, as of Epoch.
	Moved [][]byte
	Epoch uint64
	// incarnation is that of the hot shard; number is the number of the map in it.
	incarnation kv.Incarnation
	number      uint64
}

// NewMap makes a Map of a message of the hot shard.
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

// isNewer reports whether the hot shard has sent map m after map o.
func (m *Map) isNewer(o *Map) bool {
	if m.incarnation != o.incarnation {
		return m.incarnation > o.incarnation
	}
	return m.number > o.number
}

const (
	// mapLifetime is how long a gateway uses a heat map if it receives no newer one.
	mapLifetime = 4 * kv.DefaultHeatInterval
	// maxPairedKeys is the number of a transaction's hottest keys that are counted as pairs.
	maxPairedKeys = 4
	// maxReportedPairs is the number of pairs in a report.
	maxReportedPairs = 32
)

// Heat is what one state machine of a gateway knows about hot keys.
type Heat struct {
	env *env.Env
	// hot is the newest map, nil if there is none; it expires at until.
	hot   *Map
	until int64
	// pairs counts the hot keys that occur together. unreported: there are new counts since the last report.
	pairs      *hotshard.Pairs
	unreported bool
	habits     habits
}

// New makes a Heat without a map.
func New(e *env.Env) *Heat {
	return &Heat{env: e, pairs: hotshard.NewPairs(hotshard.PairOptions{})}
}

// Set stores a newer map, and reports the pairs to the planner. An older map, or a copy, is ignored.
func (h *Heat) Set(m *Map) {
	if h.hot != nil && !m.isNewer(h.hot) {
		return
	}
	h.hot = m
	h.until = h.env.Now + int64(mapLifetime)
	h.report()
}

func (h *Heat) hasMap() bool {
	return h.hot != nil && len(h.hot.keys) > 0 && h.env.Now < h.until
}

// hotKey is a hot key of a transaction.
type hotKey struct {
	key   []byte
	heat  float64
	shard kv.ShardID
}

// CountPairs counts the pairs of a transaction's hot keys that are on different shards.
//
// Only pairs on different shards count: those on one shard gain nothing by a move. A transaction with many hot keys
// counts its four hottest, so that the cost is bounded.
func (h *Heat) CountPairs(ps piece.Pieces) {
	if len(ps) < 2 || !h.hasMap() {
		return
	}
	var buffer [maxPairedKeys + 1]hotKey
	hot := buffer[:0]
	for i := range ps {
		for j := range ps[i].Ops {
			op := &ps[i].Ops[j]
			heat, is := h.hot.keys[string(op.Key)]
			isSame := func(x hotKey) bool { return bytes.Equal(x.key, op.Key) }
			if op.IsRange() || !is || slices.ContainsFunc(hot, isSame) {
				continue
			}
			hot = append(hot, hotKey{op.Key, heat, ps[i].Shard})
			slices.SortStableFunc(hot, func(a, b hotKey) int { return cmp.Compare(b.heat, a.heat) })
			hot = hot[:min(len(hot), maxPairedKeys)]
		}
	}
	for i := range hot {
		for j := range i {
			if hot[i].shard != hot[j].shard {
				h.pairs.Record(h.env.Now, hot[i].key, hot[j].key)
				h.unreported = true
			}
		}
	}
}

// report sends the pairs to the planner if there are new counts. The planner drops a pair that is not reported again,
// so an idle gateway sends nothing.
func (h *Heat) report() {
	h.pairs.Fade(h.env.Now)
	if !h.unreported {
		return
	}
	h.unreported = false
	top := h.pairs.Top(h.env.Now, maxReportedPairs)
	if len(top) == 0 {
		return
	}
	from := uint32(h.env.Node) + uint32(h.env.Stripe)<<16
	h.env.SendTo(h.env.Hot()).Body = &msg.PairReport{Gateway: from, Pairs: top}
}

// Hottest returns the shard with the hottest piece and its heat, the sum over its keys. Among equals, and without
// heat, it is the last one in the router's order, in which the hot shard is the last.
//
// The heat is that of the transaction's keys, not of the shards: a transaction waits at its own hottest key. Gateways
// may disagree for some time; the protocol is correct for every choice (docs/protocol.md, section 1).
func (h *Heat) Hottest(ps piece.Pieces) (last kv.ShardID, heat float64) {
	known := h.hasMap()
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
