package txn

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// round fixes a state of the whole store for all who wait for it: a call of
// its own, without a client. Who asks while one is under way shares the next:
// the one under way may have fixed the index of some shard before the caller
// came (docs/protocol.md, section 7).
type round struct {
	waiters []*call
	// name is the reader's for whom the shards keep the state, users the calls
	// that read at it. When there are none the shards may forget it.
	name  kv.TxnRef
	users int
	// The state, once it is fixed: fixed is when it was the current one, by Now
	// of the hot shard, whose incarnation is inc.
	at    vclock.Clock
	incs  []kv.Incarnation
	inc   kv.Incarnation
	fixed int64
	// renewAt is when the shards are told to keep the state for longer.
	renewAt int64
	// lent: it is of another machine's round, which keeps it.
	lent bool
}

// joinRound has a call wait for a state that is fixed from now on. pinned, or
// unpinned, is called for it.
func (g *Gateway) joinRound(c *call) {
	g.timed(c.endAt())
	f := g.roundless()
	if f != nil {
		g.unpinned(c, f)
		return
	}
	c.waiting = true
	switch {
	case g.before != nil:
		c.waiting, c.round = false, g.before
		g.pinned(c)
	case g.cfg.Borrows && c.kind != scanning && g.borrowing != nil:
		g.nextBorrow = append(g.nextBorrow, c)
	case g.cfg.Borrows && c.kind != scanning:
		g.borrow([]*call{c})
	case g.round != nil && g.cfg.Mutants.Has(mutant.PinJoinedLate):
		g.round.round.waiters = append(g.round.round.waiters, c)
		c.round = g.round.round
	case g.round != nil || g.now < g.roundFrom:
		g.nextRound = append(g.nextRound, c)
		g.tryRound()
	default:
		g.startRound([]*call{c})
	}
}

// tryRound begins the next round, if somebody waits for it and it is time.
func (g *Gateway) tryRound() {
	if g.round != nil || len(g.nextRound) == 0 {
		return
	}
	if g.now < g.roundFrom {
		g.timed(g.roundFrom)
		return
	}
	next := g.nextRound
	g.nextRound = nil
	g.startRound(next)
}

// startRound begins a round under an id of the gateway's own, which leads to
// the same gateway's part as the calls'.
func (g *Gateway) startRound(waiters []*call) {
	g.lastReader = max(g.lastReader+1, g.now)
	id := kv.TxnID{Time: g.lastReader, Rand: uint64(g.lastReader) ^ Affinity(waiters[0].ref.TxnID)}
	c := &call{ref: kv.TxnRef{TxnID: id, Attempt: 1}, kind: pinning, readOnly: true, started: g.now, deadline: g.now + int64(g.cfg.MaxAge)}
	c.round = &round{waiters: waiters}
	for _, w := range waiters {
		w.round = c.round
	}
	g.round = c
	g.rounds++
	g.enter(c)
	g.start(c)
}

// Rounds counts those that were begun.
func (g *Gateway) Rounds() uint64 { return g.rounds }

// startPin has every shard fix its index, the hot one last.
func (g *Gateway) startPin(c *call) {
	if f := g.roundless(); f != nil {
		g.finish(c, Done{Failure: f})
		return
	}
	r := g.newReading(c, PlanPin)
	c.phase = phaseReading
	hot := g.cfg.Router.HotShard()
	ps := make(pieces, g.cfg.Router.Shards())
	for s := range ps {
		ps[s].shard = kv.ShardID(s)
	}
	for _, p := range ps {
		q := &msg.Read{LeaseNanos: int64(g.cfg.Lease), KeepNanos: int64(kv.DefaultScanKeep)}
		g.order(r, q, p.shard, hot, ps)
		if p.shard == hot && g.cfg.Mutants.Has(mutant.PinHotFirst) {
			q.Await, r.last = nil, nil
		}
		if g.cfg.Mutants.Has(mutant.PinUnregistered) {
			q.LeaseNanos = 0
		}
		g.askRead(c, p.shard, q)
	}
}

func (g *Gateway) everyShard() []kv.ShardID {
	all := make([]kv.ShardID, g.cfg.Router.Shards())
	for i := range all {
		all[i] = kv.ShardID(i)
	}
	return all
}

// fixed: every shard has fixed its index, and all registrations stood until
// the hot one had.
func (g *Gateway) fixed(c *call) {
	r, p := c.reading, c.round
	p.name, p.incs = r.id, make([]kv.Incarnation, g.cfg.Router.Shards())
	for _, x := range r.replies {
		p.at.Raise(x.Reading.Shard, x.Index)
		p.incs[x.Reading.Shard] = x.Reading.Incarnation
	}
	hot := r.reply(g.cfg.Router.HotShard())
	p.inc, p.fixed = hot.Reading.Incarnation, hot.Fixed
	waiters := p.waiters
	p.waiters = nil
	g.use(p) // until all have had their say
	if g.cfg.Mutants.Has(mutant.RoundBeforeReader) {
		p.users++
		g.before = p
	}
	g.finish(c, Done{Committed: true})
	for _, w := range waiters {
		if w.waiting && w.round == p {
			w.longest(&c.receipt)
			w.waiting = false
			g.pinned(w)
		}
	}
	g.unuse(p)
}

// endRound: a round has ended; after a while the next begins if somebody waits for it.
func (g *Gateway) endRound(c *call, f *msg.Failure) {
	g.round = nil
	if g.cfg.RoundGap > 0 && !g.cfg.Mutants.Has(mutant.NoRoundGaps) {
		g.roundFrom = g.now + int64(g.cfg.RoundGap)
	}
	waiters := c.round.waiters
	c.round.waiters = nil
	g.tryRound()
	for _, w := range waiters {
		if w.waiting && w.round == c.round && f != nil {
			w.waiting, w.round = false, nil
			g.unpinned(w, f)
		}
	}
}

// leaveRound: a call does not wait for, or read at, its pin any more.
func (g *Gateway) leaveRound(c *call) {
	if c.kind == pinning {
		return
	}
	p := c.round
	waited := c.waiting
	if waited {
		g.nextRound = slices.DeleteFunc(g.nextRound, func(w *call) bool { return w == c })
		g.leaveBorrowers(c)
	}
	c.waiting, c.round = false, nil
	if p != nil && !waited {
		g.unuse(p)
	}
}

// pinned: the state that a call waited for is fixed.
func (g *Gateway) pinned(c *call) {
	p := c.round
	switch c.kind {
	case scanning:
		p.users++
		c.scan.name = p.name
		for _, e := range g.everyShard() {
			c.scan.fixed(e, p.incs[e], p.at.At(e))
		}
		g.startPaging(c)
	case snapping:
		c.round = nil
		g.keepPin(c, p)
	case lending:
		g.lend(c, p)
	case oneShot:
		p.users++
		c.past = &past{kept: p.name, at: &p.at}
		g.start(c)
	case interactive:
		g.openPinned(c, p)
	}
}

// shutPause is after how long a reader that was turned away tries again, if no state can
// be fixed for it because a node is down or drains. Somewhat arbitrary: half of what has
// a key closed.
const shutPause = 10 * time.Millisecond

// unpinned: there will be no such state. A reader that was only to hold nobody does not
// need the node for which there is none: it reads on where it is registered, or leaves
// and begins anew.
func (g *Gateway) unpinned(c *call, f *msg.Failure) {
	switch {
	case c.kind == interactive && c.phase == phaseIdle:
		c.pinAt = g.now + int64(g.cfg.OpenBudget) // it stays registered
		g.timed(c.pinAt)
	case !isRoundless(f):
		g.abort(c, f)
	case c.kind == oneShot && g.forced(c) != PlanPin:
		g.tryLater(c)
	case c.kind == interactive:
		g.openUnpinned(c, f)
	default:
		g.abort(c, f)
	}
}

// openUnpinned: an open reader in the middle of a call is not pinned. Where it has left,
// or was turned away, it cannot read on under the same name. If it has been told nothing
// yet it begins anew.
func (g *Gateway) openUnpinned(c *call, f *msg.Failure) {
	switch {
	case c.reading == nil || !c.reading.left:
		c.pinAt = g.now + int64(g.cfg.OpenBudget)
		g.fetch(c, c.ops)
	case len(c.ops) > 0 && c.ops[0].Seq == 0:
		g.endReading(c)
		c.reading, c.pinAt = nil, 0
		c.session.unlearn()
		g.tryLater(c)
	default:
		g.abort(c, failure(msg.ReasonExhausted, kv.KindUnavailable,
			"the view cannot read on, because others wait for it, and no state of the store can be fixed to read at"+
				" instead: "+f.Text))
	}
}

// tryLater has a reader that is registered nowhere begin anew after a while.
func (g *Gateway) tryLater(c *call) {
	c.phase, c.retryAt = phaseBackoff, g.now+int64(shutPause)
	g.timed(c.retryAt)
}

// putOff has an open reader pinned later if a node is down or drains, without which no
// state can be fixed, and reports whether it has.
func (g *Gateway) putOff(c *call) bool {
	if g.roundless() == nil {
		return false
	}
	c.pinAt = g.now + int64(g.cfg.OpenBudget)
	return true
}

// openPinned: an open reader, which was registered until now, reads at the pin
// from here on and holds nobody any more. What it has read before was current
// at the instant of the pin.
func (g *Gateway) openPinned(c *call, p *round) {
	if r := c.reading; r != nil {
		if l := g.firstLapsed(r); l != nil {
			c.round = nil
			g.lapsed(c, l.shard)
			return
		}
		g.endReading(c)
		c.reading = nil
	}
	p.users++
	c.past = &past{kept: p.name, at: &p.at}
	if c.phase == phasePinning {
		g.fetch(c, c.ops)
	}
}

// pinOpen has an open reader pinned while it is still registered. A call that
// comes meanwhile waits, and so does one that is under way: what its reads would
// come to may be newer than the pin, and is not used.
func (g *Gateway) pinOpen(c *call) {
	c.pinAt = 0
	if c.phase == phaseReading {
		c.phase = phasePinning
		g.giveUpReads(c)
	}
	if g.cfg.Mutants.Has(mutant.OpenLeftBeforePin) && c.reading != nil {
		g.endReading(c)
		c.reading = nil
	}
	if c.reading != nil && !g.tickLeases(c) {
		return
	}
	g.joinRound(c)
}

// giveUpReads forgets the requests of an open reader that have no answer. It leaves
// where it has no answer at all: it relies on nothing there.
func (g *Gateway) giveUpReads(c *call) {
	r := c.reading
	if g.cfg.Mutants.Has(mutant.LateReadsUsed) {
		return
	}
	r.asks = nil
	r.leases = slices.DeleteFunc(r.leases, func(l *lease) bool {
		if r.reply(l.shard) != nil {
			return false
		}
		r.left = true
		g.sendShard(l.shard, func(e *msg.Envelope) { e.Leave = &msg.Leave{Reader: r.id} })
		return true
	})
}

// turnedAway: a shard has told a reader to read at a pin. One that is known as a whole
// leaves at once, and reads everything there.
func (g *Gateway) turnedAway(c *call) {
	if c.kind == interactive {
		c.reading.left = true
		g.pinOpen(c)
		return
	}
	g.endReading(c)
	c.reading, c.commit, c.phase = nil, commit{}, phasePinning
	g.joinRound(c)
}
