package contention

import (
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// initPlanner creates the planner with the rules and moved keys in the log.
//
// The heat before the restart is lost. A moved key therefore counts as just arrived: it stays for the time that a key
// stays at least, during which its heat is measured again.
func (p *Part) initPlanner(rec Recovered) {
	for _, r := range rec.Rules {
		if r.Mode > 0 {
			p.mode = hotshard.Mode(r.Mode - 1)
			continue
		}
		rule := hotshard.Rule{Key: r.Key[1:], Prefix: r.Key[0] == prefixRow, Order: hotshard.Order(r.Order)}
		p.rules = append(p.rules, rule)
	}
	p.planner = hotshard.NewPlanner(hotshard.PlannerOptions{Hot: p.env.ID, Home: p.Home, Every: p.cfg.Every, Mode: p.mode,
		Epoch: uint64(p.env.Inc) << 32}) // above those of earlier incarnations
	p.planner.SetRules(p.rules)
	// The planner measures the moved keys anew; those without contention are moved home.
	for _, r := range rec.Moved {
		p.planner.KeyArrived(p.env.Now, r.Key, p.env.Now)
	}
	if len(rec.Moved)+len(p.rules) > 0 {
		p.scheduleReport()
	}
}

// planMoves requests moves from the gateway of this node, and sends the heat map.
//
// A request may be lost, or the move may abort: the planner requests it again if the reports still call for it.
func (p *Part) planMoves() {
	p.planner.SetBusyShare(p.env.Now, p.busyShare)
	for _, mv := range p.planner.Decide(p.env.Now) {
		// The id is unique by the incarnation and the number, and one minute in the past by its time: the move is
		// older than the transactions that wait for the key, and wins against them.
		p.moveCount++
		id := kv.TxnID{Time: p.shard.MoveTime(), Rand: uint64(p.env.Inc)<<32 | p.moveCount}
		m := msg.ToGateway(p.cfg.Node)
		m.Body = &msg.MoveKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: mv.Key, From: mv.From, To: mv.To}
		p.env.Send(m)
	}
	p.sendHeatMap()
}

// sendHeatMap sends the heat map to all gateways if it has changed.
//
// It is sent without waiting for the log: the rows of moved keys are authoritative, and after a crash the map only
// sends requests to the wrong shard, which redirects them.
func (p *Part) sendHeatMap() {
	hm := p.planner.HeatMap(p.env.Now)
	if hm == nil {
		return
	}
	p.mapCount++
	// Gateways ignore maps that are older than theirs.
	hm.Incarnation, hm.Number = p.env.Inc, p.mapCount
	for n := range p.cfg.Nodes {
		m := msg.ToGateway(kv.NodeID(n + 1))
		m.Body = hm
		p.env.Urgent(m)
	}
}

// onMoved reports a completed move to the planner.
//
// The planner counts a move only when it has happened: a requested move may abort, or find the key gone.
func (p *Part) onMoved(key []byte, here bool) {
	switch {
	case p.planner == nil:
		return
	case here:
		p.planner.KeyArrived(p.env.Now, key, p.env.Now)
	default:
		p.planner.KeyLeft(p.env.Now, key)
	}
	p.sendHeatMap() // immediately: until then gateways send requests to the wrong shard
	p.scheduleReport()
}

// onPairReport handles the report of a gateway about hot keys that occur together. A late copy affects speed
// only.
func (p *Part) onPairReport(d *msg.PairReport) {
	if p.planner != nil {
		p.planner.ApplyPairReport(p.env.Now, d)
		p.scheduleReport()
	}
}
