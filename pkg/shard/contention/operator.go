package contention

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// The key of a rule's row is a byte for its kind, followed by the key or prefix.
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

// maxApplied bounds the applied requests that are remembered to answer copies.
const maxApplied = 256

// onSetHotPolicy sets a rule or the mode, once per request, and only if the rules are still those that the
// request names. So a late copy never replaces a newer rule, however late it is, and also after a restart.
func (p *Part) onSetHotPolicy(q *msg.SetHotPolicy) {
	r := &msg.HotStatusResponse{Request: q.Request}
	switch {
	case p.planner == nil:
		r.Failure = detectionOff()
	// A copy of an applied request only gets the status.
	case !slices.Contains(p.applied, q.Request):
		r.Failure = p.staleChange(q)
		if r.Failure == nil {
			r.Failure = p.applyPolicy(q)
		}
	}
	if r.Failure == nil {
		p.fillStatus(r)
	}
	p.sendStatus(q.Gateway, r)
}

// staleChange returns the failure of a request that is not remembered if the rules have changed since it was
// sent, nil if they have not. If all changes since then are remembered, the request was certainly not
// applied.
//
//	operator A                 hot shard                  operator B
//	lists rules: change 5
//	                           change 6 ◀──────────────── sets a rule
//	sets a rule, change 5 ───▶ rejected: A has not seen B's rule
//	the gateway's retry of it ─▶ not among the applied ones: rejected again
func (p *Part) staleChange(q *msg.SetHotPolicy) *msg.Failure {
	switch {
	case q.Incarnation == p.env.Inc && q.Change == p.changeCount:
		return nil
	case q.Incarnation == p.env.Inc && p.changeCount-q.Change <= uint64(len(p.applied)):
		return msg.Fail(msg.ReasonStaleRead, kv.KindAborted, "another request has changed the rules for hot keys")
	}
	// More requests than are remembered have followed, or the shard has restarted: this one may be among the
	// applied ones.
	f := msg.Fail(msg.ReasonIncarnation, kv.KindOutcomeUnknown,
		"the hot shard has restarted or no longer knows the request; the rule or mode may be set")
	f.Hint = "list the rules; set the rule again if it is missing"
	return f
}

// applyPolicy sets the rule and the mode of a request.
//
// Rules and mode are rows of the hot shard's log, and so survive its restart; the answer leaves when they are durable.
func (p *Part) applyPolicy(q *msg.SetHotPolicy) *msg.Failure {
	if q.Rule != nil && !p.setRule(q.Rule) {
		f := msg.Fail(msg.ReasonRequest, kv.KindResourceExhausted,
			fmt.Sprintf("there are %d rules for hot keys, which is the limit", maxRules))
		f.Hint = "remove a rule, or use one with a prefix"
		return f
	}
	if q.Mode > 0 {
		p.mode = hotshard.Mode(q.Mode - 1)
		p.env.Put(entry.TableHotRule, []byte{modeRow}, &entry.HotRule{Mode: q.Mode})
		p.planner.SetMode(p.mode)
	}
	// Half of the memory is dropped at a time, which is cheap and keeps the newest ones.
	if len(p.applied) >= maxApplied {
		p.applied = slices.Delete(p.applied, 0, maxApplied/2)
	}
	p.applied = append(p.applied, q.Request)
	p.changeCount++
	p.scheduleReport()
	return nil
}

// maxRules bounds the operator's rules.
const maxRules = 1000

// setRule sets a rule, and reports whether the bound allows it.
//
// A rule that replaces one for the same key or prefix does not count against the bound.
func (p *Part) setRule(q *msg.HotRule) bool {
	rule := hotshard.Rule{Key: q.Key, Prefix: q.Prefix, Order: hotshard.Order(q.Order)}
	row := append([]byte{keyRow}, q.Key...)
	if q.Prefix {
		row[0] = prefixRow
	}
	same := func(o hotshard.Rule) bool { return o.Prefix == rule.Prefix && string(o.Key) == string(rule.Key) }
	rules := slices.DeleteFunc(slices.Clone(p.rules), same)
	switch {
	// Free removes the rule.
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

// onHotStatusRequest responds with the known contention.
func (p *Part) onHotStatusRequest(q *msg.HotStatusRequest) {
	r := &msg.HotStatusResponse{Request: q.Request}
	if p.planner == nil {
		r.Failure = detectionOff()
	} else {
		p.fillStatus(r)
	}
	p.sendStatus(q.Gateway, r)
}

// fillStatus fills in the known contention.
func (p *Part) fillStatus(r *msg.HotStatusResponse) {
	r.Mode, r.Busy = uint32(p.mode)+1, p.busyShare
	r.Incarnation, r.Change = p.env.Inc, p.changeCount
	for _, k := range p.planner.Keys(p.env.Now) {
		if k.Shard == p.env.ID {
			k.Waits.Queue = p.shard.Queue(k.Key) // the reported number is older
		}
		k.Since = 0
		if g, is := p.moved.keys[string(k.Key)]; is {
			k.Since = g.Since
		}
		r.Keys = append(r.Keys, k)
	}
	for _, mv := range p.planner.Moves() {
		at := p.env.Wall - (p.env.Now - mv.At)
		r.Moves = append(r.Moves, msg.MovedKey{Key: mv.Key, From: mv.From, To: mv.To, Time: at, Reason: mv.Reason})
	}
	for _, rule := range p.rules {
		r.Rules = append(r.Rules, msg.HotRule{Key: rule.Key, Prefix: rule.Prefix, Order: uint32(rule.Order)})
	}
}

// sendStatus sends a response when the rules in it are durable.
func (p *Part) sendStatus(to kv.NodeID, r *msg.HotStatusResponse) {
	m := msg.ToGateway(to)
	m.Body = r
	p.env.Send(m)
}

// detectionOff is the failure of requests that need a planner.
func detectionOff() *msg.Failure {
	return msg.Fail(msg.ReasonRequest, kv.KindInvalid, "hot key detection is off on this server")
}
