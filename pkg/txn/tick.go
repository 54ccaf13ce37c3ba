package txn

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// awaits lists the shards that have not answered a call which has not asked
// to commit, and so can be given up.
func (g *Gateway) awaits(c *call) (out []kv.ShardID) {
	switch c.phase {
	case phaseLocking:
		for _, a := range c.session.asks {
			out = append(out, a.env.Shard)
		}
	case phaseReading:
		for _, a := range c.reading.asks {
			out = append(out, a.env.Shard)
		}
	case phaseChecking:
		for _, env := range c.check.envs {
			out = append(out, env.Shard)
		}
	case phaseAsking:
		out = append(out, g.cfg.Router.HotShard())
	case phasePaging:
		for _, p := range c.scan.parts {
			if c.token != nil && p.ask != nil {
				out = append(out, p.shard)
			}
		}
	}
	return out
}

// Tick repeats what has no answer and ends what is late.
func (g *Gateway) Tick(now int64) {
	g.now = max(g.now, now)
	if g.now < g.next {
		return
	}
	g.next = never
	for _, c := range g.sorted() {
		if g.find(c.ref) == c {
			g.tickCall(c)
		}
	}
	g.tryRound()
	g.tickEnquiries()
	g.tickKept()
}

func (g *Gateway) sorted() []*call {
	out := slices.AppendSeq(make([]*call, 0, len(g.ids)+len(g.earlier)), maps.Values(g.ids))
	out = slices.AppendSeq(out, maps.Values(g.earlier))
	slices.SortFunc(out, func(a, b *call) int { return a.ref.CompareAge(b.ref) })
	return out
}

func (g *Gateway) tickCall(c *call) {
	switch c.phase {
	case phaseIdle:
		g.tickIdle(c)
		return
	case phaseCommitting:
		g.tickCommit(c)
		return
	case phaseBackoff:
		if g.now >= c.retryAt {
			g.start(c)
			return
		}
		g.timed(c.retryAt)
	}
	f := g.overdue(c)
	if f != nil {
		g.endScan(c)
		g.abort(c, f)
		return
	}
	g.timed(c.endAt())
	g.repeatCall(c)
}

// overdue says why a call that has not asked to commit is given up now: it is late, or
// waits for a node that is down; nil if it is not.
func (g *Gateway) overdue(c *call) *msg.Failure {
	if g.now >= c.endAt() {
		if c.doBy != 0 && g.now < c.deadline {
			return g.late(c)
		}
		return failure(msg.ReasonCancelled, kv.KindAborted, "")
	}
	f := g.unreachable(g.awaits(c))
	if f != nil && c.phase == phaseAsking {
		f.Hint = "what was asked of the hot shard may have been done; ask again when the node is back"
	}
	return f
}

// repeatCall repeats what a call has no answer to, and has an open reader pinned in time.
func (g *Gateway) repeatCall(c *call) {
	switch c.phase {
	case phaseLocking:
		g.repeatLocks(c)
	case phaseReading:
		if c.pinAt == 0 || g.now < c.pinAt || g.putOff(c) {
			g.tickReading(c)
			g.timedPin(c)
		} else {
			g.pinOpen(c)
		}
	case phasePinning:
		if c.reading != nil { // it stays registered until it is pinned
			g.tickReading(c)
		}
	case phaseChecking:
		g.repeatChecks(c)
	case phasePaging:
		g.repeatPages(c)
	case phaseAsking:
		g.repeatQuestion(c)
	}
}

func (g *Gateway) tickIdle(c *call) {
	switch {
	case c.marked && !g.cfg.Mutants.Has(mutant.NoIdleGrace) && g.now >= max(c.markedAt, c.idleSince)+int64(g.cfg.IdleGrace):
		g.abort(c, c.blamed(failure(msg.ReasonWounded, kv.KindAborted, "an older transaction waited for this one, which did nothing")))
		return
	case g.now >= c.deadline:
		g.abort(c, failure(msg.ReasonCancelled, kv.KindAborted, "the transaction was open for too long"))
		return
	case c.reading != nil && !g.tickReading(c):
		return
	case c.pinAt != 0 && g.now >= c.pinAt && c.reading != nil:
		g.pinOpen(c)
	case c.marked && !g.cfg.Mutants.Has(mutant.NoIdleGrace):
		g.timed(max(c.markedAt, c.idleSince) + int64(g.cfg.IdleGrace))
	}
	g.timedPin(c)
	g.timed(c.deadline)
}

// timedPin has Tick called when an open reader is to be pinned.
func (g *Gateway) timedPin(c *call) {
	if c.pinAt != 0 {
		g.timed(c.pinAt)
	}
}
