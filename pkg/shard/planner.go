package shard

// What the hot shard does with the planner (hotshard.Planner): it has keys
// moved, tells gateways, and keeps the operator's rules.

import (
	"fmt"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func (m *Machine) initPlanner(rec Recovered) {
	h := &m.heat
	for _, r := range rec.Rules {
		if r.Mode > 0 {
			h.mode = hotshard.Mode(r.Mode - 1)
			continue
		}
		h.rules = append(h.rules, hotshard.Rule{Key: r.Key[1:], Prefix: r.Key[0] == prefixRow, Order: hotshard.Order(r.Order)})
	}
	// Epochs of this life are above those of the last.
	h.planner = hotshard.NewPlanner(hotshard.PlannerOptions{Hot: m.cfg.ID, Home: m.home, Every: m.cfg.Heat.Every, Mode: h.mode, Epoch: uint64(m.inc) << 32})
	h.planner.SetRules(h.rules)
	for _, r := range rec.Moved {
		h.planner.Owned(m.now, r.Key, m.now)
	}
	if len(rec.Moved)+len(h.rules) > 0 {
		m.warm()
	}
}

// plan has keys moved by the gateway of this node, and tells all gateways.
func (m *Machine) plan() {
	h := &m.heat
	h.planner.Busy(m.now, h.busy)
	for _, mv := range h.planner.Decide(m.now) {
		h.moves++
		id := kv.TxnID{Time: m.olderBy(min(kv.MaxTxnAge, m.cfg.Retention/4)), Rand: uint64(m.inc)<<32 | h.moves}
		env := msg.ToGateway(m.cfg.Heat.Node)
		env.MoveKey = &msg.MoveKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: mv.Key, From: mv.From, To: mv.To}
		m.send(env)
	}
	m.tellMap()
}

// olderBy is the age of a transaction that began so much earlier, but not so early
// that it would be refused. Moves are made older than they are: who is older goes
// first for a lock, and for the keys that are to be moved so many wait that a
// move's turn might come too late.
func (m *Machine) olderBy(d time.Duration) int64 { return max(m.ids.wall-int64(d), m.floor) }

// tellMap tells all gateways what they do not know yet.
func (m *Machine) tellMap() {
	hm := m.heat.planner.Tell(m.now)
	if hm == nil {
		return
	}
	for n := range m.cfg.Heat.Nodes {
		env := msg.ToGateway(kv.NodeID(n + 1))
		env.HeatMap = hm
		m.urgent(env)
	}
}

// planMoved tells the planner what a move has done.
func (m *Machine) planMoved(key []byte, here bool) {
	p := m.heat.planner
	switch {
	case p == nil:
		return
	case here:
		p.Owned(m.now, key, m.now)
	default:
		p.Left(m.now, key)
	}
	m.tellMap() // at once: until then gateways look in the wrong place
	m.warm()
}

func (m *Machine) onPairDigest(d *msg.PairDigest) {
	if p := m.heat.planner; p != nil {
		p.TakePairs(m.now, d)
		m.warm()
	}
}

// Rows of the operator's rules are named by a byte and the key or prefix.
const (
	keyRow    = 'k'
	prefixRow = 'p'
	modeRow   = 'm'
)

// RuleRow is a row of TableHotRule.
type RuleRow struct {
	Key []byte
	entry.HotRule
}

// setsKept is how many requests that set something are remembered: a gateway
// repeats one for as long as it has no answer, and the repeat may come when
// another request has set something else.
const setsKept = 256

// onSetHot keeps a rule, or the mode, once for each request.
func (m *Machine) onSetHot(q *msg.SetHot) {
	r := &msg.HotReply{Request: q.Request}
	h := &m.heat
	if h.planner == nil {
		r.Failure = failure(msg.ReasonRequest, kv.KindInvalid, "hot keys are not looked for on this server")
		m.replyHot(q.Gateway, r)
		return
	}
	if slices.Contains(h.set, q.Request) {
		m.fillHot(r)
		m.replyHot(q.Gateway, r)
		return
	}
	if q.Rule != nil && !m.setRule(q.Rule) {
		r.Failure = failure(msg.ReasonRequest, kv.KindExhausted, fmt.Sprintf("there are %d rules for hot keys, which is the limit", maxRules))
		r.Failure.Hint = "remove one, or make one for a prefix"
		m.replyHot(q.Gateway, r)
		return
	}
	if q.Mode > 0 {
		h.mode = hotshard.Mode(q.Mode - 1)
		m.put(entry.TableHotRule, []byte{modeRow}, &entry.HotRule{Mode: q.Mode})
		h.planner.SetMode(h.mode)
	}
	if len(h.set) >= setsKept {
		h.set = slices.Delete(h.set, 0, setsKept/2)
	}
	h.set = append(h.set, q.Request)
	m.warm()
	m.fillHot(r)
	m.replyHot(q.Gateway, r)
}

// maxRules bounds the operator's rules.
const maxRules = 1000

// setRule reports whether there was room for the rule.
func (m *Machine) setRule(q *msg.HotRule) bool {
	h := &m.heat
	rule := hotshard.Rule{Key: q.Key, Prefix: q.Prefix, Order: hotshard.Order(q.Order)}
	row := append([]byte{keyRow}, q.Key...)
	if q.Prefix {
		row[0] = prefixRow
	}
	rules := slices.DeleteFunc(slices.Clone(h.rules), func(o hotshard.Rule) bool { return o.Prefix == rule.Prefix && string(o.Key) == string(rule.Key) })
	switch {
	case rule.Order == hotshard.Free:
		m.del(entry.TableHotRule, row)
	case len(rules) >= maxRules:
		return false
	default:
		rules = append(rules, rule)
		m.put(entry.TableHotRule, row, &entry.HotRule{Order: q.Order})
	}
	h.rules = rules
	h.planner.SetRules(h.rules)
	return true
}

func (m *Machine) onAskHot(q *msg.AskHot) {
	r := &msg.HotReply{Request: q.Request}
	if m.heat.planner == nil {
		r.Failure = failure(msg.ReasonRequest, kv.KindInvalid, "hot keys are not looked for on this server")
	} else {
		m.fillHot(r)
	}
	m.replyHot(q.Gateway, r)
}

// fillHot tells what is known.
func (m *Machine) fillHot(r *msg.HotReply) {
	h := &m.heat
	r.Mode, r.Busy = uint32(h.mode)+1, h.busy
	for _, k := range h.planner.Keys(m.now) {
		s := msg.HotState{Key: k.Key, Shard: k.Shard, Heat: k.Heat, Waited: k.Waited, Would: k.Would, Why: k.Why, Order: uint32(k.Order), Moving: k.Moving, Waits: k.Waits}
		if k.Shard == m.cfg.ID {
			s.Waits.Queue = m.queueOf(k.Key) // what was told is a moment old
		}
		if g, is := m.guests.keys[string(k.Key)]; is {
			s.Since = g.Since
		}
		r.Keys = append(r.Keys, s)
	}
	for _, mv := range h.planner.Moves() {
		r.Moves = append(r.Moves, msg.HotMoved{Key: mv.Key, From: mv.From, To: mv.To, Time: m.wall - (m.now - mv.At), Why: mv.Reason})
	}
	for _, rule := range h.rules {
		r.Rules = append(r.Rules, msg.HotRule{Key: rule.Key, Prefix: rule.Prefix, Order: uint32(rule.Order)})
	}
}

func (m *Machine) replyHot(to kv.NodeID, r *msg.HotReply) {
	env := msg.ToGateway(to)
	env.HotReply = r
	m.send(env)
}
