package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// reading is an attempt of a read-only transaction that takes no locks: it is
// registered in the snapshot-queues of the shards instead (docs/protocol.md,
// section 5). The gateway answers for it that it was registered everywhere
// until the instant at which everything it read was current.
//
// Invariant: every shard on which it may be registered has a lease here.
type reading struct {
	// id is the attempt's name, which no other has had.
	id     kv.TxnRef
	plan   Plan
	number uint32
	asks   []*readAsk
	// replies are the newest answers that count, by shard.
	replies []*msg.ReadReply
	leases  []*lease
	// last is the request that is answered last, nil if there is no order, and
	// lastShard the shard that answers it.
	last      *msg.Read
	lastShard kv.ShardID
	// then is the last request while it waits here for the answers of the others,
	// where the gateway gathers them.
	then *msg.Read
	// notifying are the requests whose shards tell the last one. They are
	// repeated as long as that has not answered: a notice may be lost.
	notifying []*msg.Envelope
	// asked is when the first request was sent.
	asked int64
	// ended: the shards have been told. left: one has been told that the reader leaves it
	// while it is still registered on others, or has turned it away.
	ended, left bool
}

// readAsk is a request without an answer.
type readAsk struct {
	env        *msg.Envelope
	sent       int64
	next, wait int64
}

// lease is a registration on one shard as the gateway counts it.
type lease struct {
	shard kv.ShardID
	inc   kv.Incarnation // once known
	until int64
	// renew is when to ask for more; renewing is the number of the request
	// that was sent at asked, 0 if none is open.
	renew, asked int64
	renewing     uint32
}

// newReading begins an attempt under a new name: a number that this gateway
// never uses again, nor did before a restart, since it starts at the time; the
// node; and something of the client's name, with which messages find the
// gateway's part that is concerned (Affinity).
func (g *Gateway) newReading(c *call, plan Plan) *reading {
	g.lastReader = max(g.lastReader+1, g.now)
	id := kv.TxnID{Time: g.lastReader, Rand: uint64(g.lastReader) ^ Affinity(c.ref.TxnID)}
	r := &reading{plan: plan, asked: g.now, id: kv.TxnRef{TxnID: id, Attempt: uint32(g.cfg.Node)}}
	c.reading = r
	g.readers[r.id] = c
	return r
}

// Affinity is the same for a transaction and for the names under which it
// reads.
func Affinity(id kv.TxnID) uint64 { return id.Affinity() }

// granted is how much of a lease the gateway relies on: clocks may differ in
// their rates.
func (g *Gateway) granted() int64 {
	if g.cfg.Mutants.Has(mutant.LeaseWithoutMargin) {
		return int64(g.cfg.Lease)
	}
	return int64(g.cfg.Lease) - int64(g.cfg.Lease)/10
}

// startReading sends a one-shot's reads by a plan.
func (g *Gateway) startReading(c *call, ps pieces) {
	plan, last := g.plan(c, ps)
	if plan == PlanPin {
		c.phase = phasePinning
		g.joinRound(c)
		return
	}
	if plan == PlanOne {
		// One shard reads in one step, as it decides: by the same message.
		g.sendCommit(c, ps)
		return
	}
	g.noteTogether(ps)
	r := g.newReading(c, plan)
	c.phase = phaseReading
	gather := g.sparing[last]
	for _, p := range ps {
		q := &msg.Read{Ops: p.piece.Ops, LeaseNanos: int64(g.cfg.Lease)}
		switch {
		case plan == PlanHotLast && gather && p.shard == last:
			q.LeaseNanos = 0
			r.then, r.lastShard = q, last
			if !g.cfg.Mutants.Has(mutant.GatheredTooEarly) {
				continue
			}
			r.last, r.then = q, nil
		case plan == PlanHotLast && !gather:
			g.order(r, q, p.shard, last, ps)
		}
		g.askRead(c, p.shard, q)
	}
}

// plan picks how a one-shot reads, and the shard that reads last if there is
// such an order: the hottest, where updates of what is read have waited lately.
// Readers that are registered there would have each other's updates wait.
func (g *Gateway) plan(c *call, ps pieces) (Plan, kv.ShardID) {
	forced := g.forced(c)
	if len(ps) == 1 && forced != PlanPin {
		return PlanOne, ps[0].shard
	}
	last, heat := g.hottest(ps)
	switch {
	case forced != PlanAny:
		return forced, last
	case (heat > 0 || last == g.cfg.Router.HotShard()) && g.parked[last]:
		return PlanHotLast, last
	}
	return PlanAtOnce, last
}

// forced is the plan that the request or the operator wants, PlanAny if neither
// does.
func (g *Gateway) forced(c *call) Plan {
	if c.how.Plan != PlanAny {
		return c.how.Plan
	}
	return g.cfg.Plan
}

// order has one shard read last, when the others have told it that they have
// read; there the reader is not registered.
func (g *Gateway) order(r *reading, q *msg.Read, shard, last kv.ShardID, ps pieces) {
	if shard != last {
		q.Notify, q.Last = true, last
		return
	}
	q.LeaseNanos = 0
	for _, p := range ps {
		if p.shard != last {
			q.Await = append(q.Await, p.shard)
		}
	}
	r.last, r.lastShard = q, last
}

// askRead sends a request, which is repeated until it is answered.
func (g *Gateway) askRead(c *call, s kv.ShardID, q *msg.Read) {
	r := c.reading
	r.number++
	q.Reader, q.Gateway, q.Number = r.id, g.cfg.Node, r.number
	a := &readAsk{env: msg.ToShard(s), sent: g.now, wait: int64(g.cfg.Repeat)}
	a.env.Read = q
	a.next = nextRepeat(g.now, a.wait, c.lastAsk())
	r.asks = append(r.asks, a)
	if q.Notify {
		r.notifying = append(r.notifying, a.env)
	}
	g.out.Send = append(g.out.Send, a.env)
	g.timed(min(a.next, c.endAt()))
	if q.LeaseNanos > 0 && r.lease(s) == nil {
		l := &lease{shard: s, until: g.now + g.granted(), renew: g.now + int64(g.cfg.Lease)/3}
		r.leases = append(r.leases, l)
		g.timed(l.renew)
	}
}

func (r *reading) lease(s kv.ShardID) *lease {
	i := slices.IndexFunc(r.leases, func(l *lease) bool { return l.shard == s })
	if i < 0 {
		return nil
	}
	return r.leases[i]
}

func (r *reading) reply(s kv.ShardID) *msg.ReadReply {
	i := slices.IndexFunc(r.replies, func(x *msg.ReadReply) bool { return x.Reading.Shard == s })
	if i < 0 {
		return nil
	}
	return r.replies[i]
}

// onReadReply takes an answer. A failure, of a condition for instance, is one
// of the transaction: it is so at the instant at which that shard read.
func (g *Gateway) onReadReply(p *msg.ReadReply) {
	g.Learn(p.Reading.Shard, p.Reading.Incarnation)
	c := g.readers[p.Reader]
	if c == nil || c.phase != phaseReading && !(c.phase == phasePinning && g.cfg.Mutants.Has(mutant.LateReadsUsed)) {
		return
	}
	r, s := c.reading, p.Reading.Shard
	i := slices.IndexFunc(r.asks, func(a *readAsk) bool { return a.env.Shard == s && a.env.Read.Number == p.Number })
	if i < 0 {
		return
	}
	a := r.asks[i]
	r.asks = slices.Delete(r.asks, i, i+1)
	if c.past == nil {
		g.parked[s], g.sparing[s] = p.Parked, p.Busy
	}
	c.heard(s, &p.Receipt)
	g.noteCrowd(c, p)
	switch {
	case p.Failure != nil && p.Failure.Reason == msg.ReasonClosed:
		g.turnedAway(c)
	case !g.registeredBy(r.lease(s), p):
		g.lapsed(c, s)
	case p.Failure != nil && g.redirected(c, p.Failure) && c.kind != pinning:
		g.readElsewhere(c, s, a.env.Read.Ops)
	case p.Failure != nil:
		g.conclude(c, c.ofCall(p.Failure))
	default:
		g.haveRead(c, a, p)
	}
}

// registeredBy notes in which life of its shard an answer finds the reader registered,
// and reports whether that is the one in which it found it before. There may be no lease.
func (g *Gateway) registeredBy(l *lease, p *msg.ReadReply) bool {
	if l == nil {
		return true
	}
	if l.inc == 0 {
		l.inc = p.Reading.Incarnation
	}
	if l.inc != p.Reading.Incarnation && !g.cfg.Mutants.Has(mutant.LeaseUnchecked) {
		return false
	}
	if g.cfg.Mutants.Has(mutant.LeaseFromReply) {
		l.until = max(l.until, g.now+g.granted())
	}
	return true
}

// haveRead takes the values of an answer to a.
func (g *Gateway) haveRead(c *call, a *readAsk, p *msg.ReadReply) {
	r, s := c.reading, p.Reading.Shard
	r.replies = append(slices.DeleteFunc(r.replies, func(x *msg.ReadReply) bool { return x.Reading.Shard == s }), p)
	if c.kind == interactive {
		c.session.learn(c.session.at(s), a.env.Read.Ops, false, p.Results)
		if p.HeldNanos > 0 {
			g.pinBy(c, a.sent+int64(g.cfg.OpenBudget)-p.HeldNanos)
		}
	}
	if len(r.asks) == 0 && c.phase == phaseReading {
		g.readAll(c)
	}
}

// noteCrowd (docs/protocol.md, section 5, Starvation): where an update has been held for so
// long that open readers are refused, those who come next would be so too, after they have
// held others. They read at a pin from the start.
func (g *Gateway) noteCrowd(c *call, p *msg.ReadReply) {
	closed := p.Failure != nil && p.Failure.Reason == msg.ReasonClosed
	if c.kind == interactive && g.cfg.OpenBudget >= 0 && (closed || p.HeldNanos >= int64(kv.DefaultHoldBound)) {
		g.crowded = g.now + int64(g.cfg.CrowdFor)
	}
}

// pinBy has an open reader pinned at a time, or earlier: 50 ms after it registered
// first, and no later than 50 ms after somebody began to hold what it holds too.
func (g *Gateway) pinBy(c *call, at int64) {
	if g.cfg.OpenBudget < 0 || c.past != nil || c.waiting {
		return
	}
	if c.pinAt == 0 || at < c.pinAt {
		c.pinAt = at
	}
	g.timed(c.pinAt)
}

// readAll: every request has its answer.
func (g *Gateway) readAll(c *call) {
	r := c.reading
	if r.then != nil {
		r.last, r.then = r.then, nil
		g.askRead(c, r.lastShard, r.last)
		return
	}
	if r.last != nil && !g.reliedRight(r) && !g.cfg.Mutants.Has(mutant.OtherCopyTaken) {
		again := *r.last
		g.askRead(c, r.lastShard, &again)
		g.notifyAgain(r)
		return
	}
	if c.kind == interactive {
		g.evaluateIfRead(c)
		return
	}
	if l := g.firstLapsed(r); l != nil {
		g.lapsed(c, l.shard)
		return
	}
	if c.kind == pinning {
		g.fixed(c)
		return
	}
	var parts []msg.Result
	slices.SortFunc(r.replies, func(a, b *msg.ReadReply) int { return int(a.Reading.Shard) - int(b.Reading.Shard) })
	for _, p := range r.replies {
		parts = append(parts, p.Results...)
	}
	g.finish(c, Done{Committed: true, Results: assemble(c.ops, parts), Plan: r.plan})
}

// reliedRight reports whether the last read relied on the very readings whose
// values are here.
func (g *Gateway) reliedRight(r *reading) bool {
	for _, on := range r.reply(r.lastShard).Relied {
		if p := r.reply(on.Shard); p == nil || p.Reading != on {
			return false
		}
	}
	return true
}

// firstLapsed finds a lease that has lapsed, nil if all stand.
func (g *Gateway) firstLapsed(r *reading) *lease {
	for _, l := range r.leases {
		revives := l.renewing != 0 && g.cfg.Mutants.Has(mutant.LeaseRevived)
		if g.now >= l.until && !revives && !g.cfg.Mutants.Has(mutant.LeaseUnchecked) {
			return l
		}
	}
	return nil
}

// lapsed ends an attempt that may not have been registered all along.
func (g *Gateway) lapsed(c *call, s kv.ShardID) {
	g.abort(c, failure(msg.ReasonLapsed, kv.KindAborted, "the registration of the reader on shard "+s.String()+" lapsed, or the shard has restarted"))
}

// endReading tells the shards that the attempt is over.
func (g *Gateway) endReading(c *call) {
	r := c.reading
	if r == nil || r.ended {
		return
	}
	r.ended = true
	delete(g.readers, r.id)
	tell := func(s kv.ShardID) {
		g.sendShard(s, func(e *msg.Envelope) { e.Leave = &msg.Leave{Reader: r.id} })
	}
	for _, l := range r.leases {
		tell(l.shard)
	}
	// The last one has forgotten the reader with its answer. But a late copy of a
	// request to fix the index would have that kept once more.
	if r.last != nil && (r.reply(r.lastShard) == nil || c.kind == pinning) {
		tell(r.lastShard)
	}
	for _, a := range r.asks {
		if r.lease(a.env.Shard) == nil && a.env.Read != r.last {
			tell(a.env.Shard)
		}
	}
	r.asks = nil
	if c.kind == pinning && c.round.name != r.id {
		g.forgetKept(r.id) // the round has come to nothing
	}
}

// tickReading repeats what has no answer and renews leases. It reports false
// if that ended the attempt.
func (g *Gateway) tickReading(c *call) bool {
	r := c.reading
	for _, a := range r.asks {
		if g.now >= a.next {
			a.wait = min(2*a.wait, int64(g.cfg.Liveness))
			a.next = nextRepeat(g.now, a.wait, c.lastAsk())
			g.out.Send = append(g.out.Send, a.env)
			if len(a.env.Read.Await) > 0 {
				g.notifyAgain(r)
			}
		}
		g.timed(a.next)
	}
	return g.tickLeases(c)
}

// tickLeases renews leases. It reports false if one has lapsed, which ends the attempt.
func (g *Gateway) tickLeases(c *call) bool {
	r := c.reading
	if l := g.firstLapsed(r); l != nil {
		g.lapsed(c, l.shard)
		return false
	}
	for _, l := range r.leases {
		if g.now >= l.renew && l.inc != 0 {
			g.renew(r, l)
		}
		at := max(l.renew, g.now+int64(g.cfg.Repeat))
		if l.until > g.now {
			at = min(at, l.until)
		}
		g.timed(at)
	}
	return true
}

// notifyAgain has the shards that have answered tell the last one once more.
// The others are asked again anyway.
func (g *Gateway) notifyAgain(r *reading) {
	for _, env := range r.notifying {
		if !slices.ContainsFunc(r.asks, func(a *readAsk) bool { return a.env == env }) {
			g.out.Send = append(g.out.Send, env)
		}
	}
}

// renew asks for a longer lease, and again before long if no answer comes.
func (g *Gateway) renew(r *reading, l *lease) {
	r.number++
	l.renewing, l.asked, l.renew = r.number, g.now, g.now+int64(g.cfg.Lease)/6
	g.sendShard(l.shard, func(e *msg.Envelope) {
		e.Renew = &msg.Renew{Reader: r.id, Gateway: g.cfg.Node, Number: r.number, Incarnation: l.inc, LeaseNanos: int64(g.cfg.Lease)}
	})
}

// onRenewReply counts only if the old lease stands when it comes.
func (g *Gateway) onRenewReply(p *msg.RenewReply) {
	c := g.readers[p.Reader]
	if c == nil || c.reading.ended {
		return
	}
	l := c.reading.lease(p.Shard)
	switch {
	case l == nil || p.Number != l.renewing:
	case !p.Ok, g.now >= l.until && !g.cfg.Mutants.Has(mutant.LeaseRevived) && !g.cfg.Mutants.Has(mutant.LeaseUnchecked):
		g.lapsed(c, p.Shard)
	default:
		l.until, l.renew, l.renewing = max(l.until, l.asked+g.granted()), l.asked+int64(g.cfg.Lease)/3, 0
		g.timed(l.renew)
	}
}

// openRead asks the shards for what an interactive reader wants to see, and
// registers it there.
func (g *Gateway) openRead(c *call, wanted map[kv.ShardID][]msg.Op) {
	if c.kind == interactive && c.reading == nil && c.past == nil && g.now < g.crowded && g.roundless() == nil {
		c.phase = phasePinning
		g.joinRound(c)
		return
	}
	if c.reading == nil {
		plan := PlanOpen
		if c.past != nil {
			plan = PlanPin
		}
		g.newReading(c, plan)
		g.pinBy(c, g.now+int64(g.cfg.OpenBudget))
	}
	c.phase = phaseReading
	for s := range g.cfg.Router.Shards() {
		if ops := wanted[kv.ShardID(s)]; len(ops) > 0 {
			for i := range ops {
				ops[i].ForUpdate = false
			}
			q := &msg.Read{Ops: ops, LeaseNanos: int64(g.cfg.Lease)}
			if c.past != nil {
				c.fillPast(q, kv.ShardID(s))
			}
			g.askRead(c, kv.ShardID(s), q)
		}
	}
	if len(c.reading.asks) == 0 {
		g.evaluateIfRead(c)
	}
}

// endOpen ends an interactive reader: if its leases stand, all it read is
// current now.
func (g *Gateway) endOpen(c *call) {
	if c.reading != nil {
		if l := g.firstLapsed(c.reading); l != nil && !g.cfg.Mutants.Has(mutant.OpenEndUnchecked) {
			g.lapsed(c, l.shard)
			return
		}
	}
	d := Done{Committed: !c.rollback, Results: c.session.results, Plan: PlanOpen, Failure: c.concluded}
	if c.past != nil {
		d.Plan = PlanPin
	}
	g.finish(c, d)
}
