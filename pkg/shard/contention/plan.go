package contention

import (
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func (p *Part) initPlanner(rec Recovered) {
	for _, r := range rec.Rules {
		if r.Mode > 0 {
			p.mode = hotshard.Mode(r.Mode - 1)
			continue
		}
		p.rules = append(p.rules, hotshard.Rule{Key: r.Key[1:], Prefix: r.Key[0] == prefixRow, Order: hotshard.Order(r.Order)})
	}
	p.planner = hotshard.NewPlanner(hotshard.PlannerOptions{Hot: p.env.ID, Home: p.Home, Every: p.cfg.Every, Mode: p.mode,
		Epoch: uint64(p.env.Inc) << 32}) // above those of earlier incarnations
	p.planner.SetRules(p.rules)
	for _, r := range rec.Moved {
		p.planner.Owned(p.env.Now, r.Key, p.env.Now)
	}
	if len(rec.Moved)+len(p.rules) > 0 {
		p.warm()
	}
}

// plan has keys moved by the gateway of this node, and tells all gateways.
func (p *Part) plan() {
	p.planner.Busy(p.env.Now, p.busy)
	for _, mv := range p.planner.Decide(p.env.Now) {
		p.moves++
		id := kv.TxnID{Time: p.around.MoveTime(), Rand: uint64(p.env.Inc)<<32 | p.moves}
		m := msg.ToGateway(p.cfg.Node)
		m.Body = &msg.MoveKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: mv.Key, From: mv.From, To: mv.To}
		p.env.Send(m)
	}
	p.tellMap()
}

// tellMap tells all gateways what they do not know yet.
func (p *Part) tellMap() {
	hm := p.planner.Tell(p.env.Now)
	if hm == nil {
		return
	}
	p.maps++
	hm.Incarnation, hm.Number = p.env.Inc, p.maps
	for n := range p.cfg.Nodes {
		m := msg.ToGateway(kv.NodeID(n + 1))
		m.Body = hm
		p.env.Urgent(m)
	}
}

// planMoved tells the planner what a move has done.
func (p *Part) planMoved(key []byte, here bool) {
	switch {
	case p.planner == nil:
		return
	case here:
		p.planner.Owned(p.env.Now, key, p.env.Now)
	default:
		p.planner.Left(p.env.Now, key)
	}
	p.tellMap() // at once: until then gateways look in the wrong place
	p.warm()
}

// onPairDigest takes which hot keys occur together, as a gateway has seen. A late copy is as harmless
// as one of a LoadReport.
func (p *Part) onPairDigest(d *msg.PairReport) {
	if p.planner != nil {
		p.planner.TakePairs(p.env.Now, d)
		p.warm()
	}
}
