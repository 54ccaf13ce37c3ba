package contention

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

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

// setsKept bounds the requests that are remembered, so that a copy of one gets an answer.
const setsKept = 256

// onSetHot keeps a rule, or the mode, once for each request, and only if the rules are still those
// that the request names. So a late copy of a request never replaces the rule of a newer one,
// however late, and also after a restart.
func (p *Part) onSetHot(q *msg.SetHotPolicy) {
	r := &msg.HotStatusResponse{Request: q.Request}
	switch {
	case p.planner == nil:
		r.Failure = noPlanner()
	case !slices.Contains(p.set, q.Request):
		r.Failure = p.outdated(q)
		if r.Failure == nil {
			r.Failure = p.setHot(q)
		}
	}
	if r.Failure == nil {
		p.fillHot(r)
	}
	p.replyHot(q.Gateway, r)
}

// outdated is the failure of a request that is not remembered, if the rules have been set since those
// that it names; nil if they have not. If the memory is complete since then, the request was not
// applied.
func (p *Part) outdated(q *msg.SetHotPolicy) *msg.Failure {
	switch {
	case q.Incarnation == p.env.Inc && q.Change == p.change:
		return nil
	case q.Incarnation == p.env.Inc && p.change-q.Change <= uint64(len(p.set)):
		return msg.Fail(msg.ReasonStaleRead, kv.KindAborted, "another request has changed the rules for hot keys")
	}
	f := msg.Fail(msg.ReasonIncarnation, kv.KindOutcomeUnknown,
		"the hot shard has restarted or no longer knows the request; the rule or mode may be set")
	f.Hint = "list the rules; set the rule again if it is missing"
	return f
}

// setHot keeps a rule and the mode, as far as a request has them.
func (p *Part) setHot(q *msg.SetHotPolicy) *msg.Failure {
	if q.Rule != nil && !p.setRule(q.Rule) {
		f := msg.Fail(msg.ReasonRequest, kv.KindResourceExhausted, fmt.Sprintf("there are %d rules for hot keys, which is the limit", maxRules))
		f.Hint = "remove a rule, or use one with a prefix"
		return f
	}
	if q.Mode > 0 {
		p.mode = hotshard.Mode(q.Mode - 1)
		p.env.Put(entry.TableHotRule, []byte{modeRow}, &entry.HotRule{Mode: q.Mode})
		p.planner.SetMode(p.mode)
	}
	if len(p.set) >= setsKept {
		p.set = slices.Delete(p.set, 0, setsKept/2)
	}
	p.set = append(p.set, q.Request)
	p.change++
	p.warm()
	return nil
}

// maxRules bounds the operator's rules.
const maxRules = 1000

// setRule reports whether there was room for the rule.
func (p *Part) setRule(q *msg.HotRule) bool {
	rule := hotshard.Rule{Key: q.Key, Prefix: q.Prefix, Order: hotshard.Order(q.Order)}
	row := append([]byte{keyRow}, q.Key...)
	if q.Prefix {
		row[0] = prefixRow
	}
	same := func(o hotshard.Rule) bool { return o.Prefix == rule.Prefix && string(o.Key) == string(rule.Key) }
	rules := slices.DeleteFunc(slices.Clone(p.rules), same)
	switch {
	case rule.Order == hotshard.Free:
		p.env.Delete(entry.TableHotRule, row)
	case len(rules) >= maxRules:
		return false
	default:
		rules = append(rules, rule)
		p.env.Put(entry.TableHotRule, row, &entry.HotRule{Order: q.Order})
	}
	p.rules = rules
	p.planner.SetRules(p.rules)
	return true
}

// onAskHot answers what is known of hot keys.
func (p *Part) onAskHot(q *msg.HotStatusRequest) {
	r := &msg.HotStatusResponse{Request: q.Request}
	if p.planner == nil {
		r.Failure = noPlanner()
	} else {
		p.fillHot(r)
	}
	p.replyHot(q.Gateway, r)
}

// fillHot tells what is known.
func (p *Part) fillHot(r *msg.HotStatusResponse) {
	r.Mode, r.Busy = uint32(p.mode)+1, p.busy
	r.Incarnation, r.Change = p.env.Inc, p.change
	for _, k := range p.planner.Keys(p.env.Now) {
		s := msg.HotKey{Key: k.Key, Shard: k.Shard, Heat: k.Heat, Waited: k.Waited, Would: k.Would, Why: k.Why,
			Order: uint32(k.Order), Moving: k.Moving, Waits: k.Waits}
		if k.Shard == p.env.ID {
			s.Waits.Queue = p.around.Queue(k.Key) // what was told is a moment old
		}
		if g, is := p.moved.keys[string(k.Key)]; is {
			s.Since = g.Since
		}
		r.Keys = append(r.Keys, s)
	}
	for _, mv := range p.planner.Moves() {
		at := p.env.Wall - (p.env.Now - mv.At)
		r.Moves = append(r.Moves, msg.MovedKey{Key: mv.Key, From: mv.From, To: mv.To, Time: at, Why: mv.Reason})
	}
	for _, rule := range p.rules {
		r.Rules = append(r.Rules, msg.HotRule{Key: rule.Key, Prefix: rule.Prefix, Order: uint32(rule.Order)})
	}
}

func (p *Part) replyHot(to kv.NodeID, r *msg.HotStatusResponse) {
	m := msg.ToGateway(to)
	m.Body = r
	p.env.Send(m)
}

// noPlanner is the failure of what only the planner can do.
func noPlanner() *msg.Failure {
	return msg.Fail(msg.ReasonRequest, kv.KindInvalid, "hot key detection is off on this server")
}
