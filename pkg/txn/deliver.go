package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Deliver takes a message for this gateway.
func (g *Gateway) Deliver(now int64, env *msg.Envelope) {
	g.now = max(g.now, now)
	switch {
	case env.Answer != nil:
		g.onAnswer(env.Answer)
	case env.LockReply != nil:
		g.onLockReply(env.LockReply)
	case env.CheckReply != nil:
		g.onCheckReply(env.CheckReply)
	case env.Mark != nil:
		g.onMark(env.Mark)
	case env.Push != nil:
		g.onPush(env.Push)
	case env.EnquireReply != nil:
		g.onEnquireReply(env.EnquireReply)
	case env.ScanPage != nil:
		g.onScanPage(env.ScanPage)
	case env.ReadReply != nil:
		g.onReadReply(env.ReadReply)
	case env.RenewReply != nil:
		g.onRenewReply(env.RenewReply)
	case env.Announce != nil:
		a := env.Announce
		g.LearnAborts(a.Shard, kv.Known{Incarnation: a.Incarnation, Aborts: a.Aborts})
	case env.PinReply != nil:
		g.onPinReply(env.PinReply)
	case env.HotReply != nil:
		g.onHotReply(env.HotReply)
	case env.Due != nil && env.Due.ExpireKey != nil:
		g.onExpireKey(env.Due.ExpireKey)
	case env.Due != nil:
		g.onPinDue()
	case env.HeatMap != nil:
		g.SetHeat(g.now, NewHeat(env.HeatMap))
	case env.MoveKey != nil:
		g.onMoveKey(env.MoveKey)
	case env.Waits != nil:
		g.onWaits(env.Waits)
	}
}

// onMark: an older transaction waits for one of ours.
func (g *Gateway) onMark(mk *msg.Mark) {
	c := g.find(mk.Txn)
	if c == nil {
		return
	}
	if !c.marked {
		c.marked, c.markedAt, c.conflict = true, g.now, mk.Conflict
	}
	switch c.phase {
	case phaseLocking:
		if !g.cfg.Mutants.Has(mutant.LockWithoutMark) {
			g.askNoWait(c)
		}
	case phaseCommitting:
		if g.cfg.Mutants.Has(mutant.GatewayDropsMarks) {
			return
		}
		if c.kind == oneShot && g.cfg.Mutants.Has(mutant.RetryWithoutAbort) {
			g.afterAbort(c, wounded(mk))
			return
		}
		c.commit.noWait(g.cfg.Mutants)
		g.sendShard(c.commit.last, func(e *msg.Envelope) { e.Mark = mk })
	case phaseIdle:
		g.timed(c.markedAt + int64(g.cfg.IdleGrace))
	}
}

func wounded(mk *msg.Mark) *msg.Failure {
	return failure(msg.ReasonWounded, kv.KindAborted, "an older transaction, "+mk.By.String()+", needed a lock that this one held")
}

// blamed is a failure with what it was for, if the gateway knows better than
// who has failed.
func (c *call) blamed(f *msg.Failure) *msg.Failure {
	if f.Reason != msg.ReasonWounded || f.Conflict != nil || c.conflict == nil {
		return f
	}
	known := *f
	known.Conflict = c.conflict
	return &known
}

// onPush: a shard asks whether an attempt still lives. A scan that is past its
// opening has no use for locks.
func (g *Gateway) onPush(p *msg.Push) {
	c := g.find(p.Txn)
	known := c != nil && c.phase != phasePaging
	g.sendShard(p.Shard, func(e *msg.Envelope) { e.PushReply = &msg.PushReply{Txn: p.Txn, Known: known} })
}

// abort ends an attempt that has not sent its commit. A one-shot may go on
// with the next.
func (g *Gateway) abort(c *call, f *msg.Failure) {
	g.release(c)
	g.afterAbort(c, f)
}

// release gives up whatever the attempt may hold on any shard.
func (g *Gateway) release(c *call) {
	g.endScan(c)
	g.endReading(c)
	if c.session == nil {
		return
	}
	for _, s := range c.session.shards() {
		g.sendShard(s, func(e *msg.Envelope) { e.Release = &msg.Release{Txn: c.ref} })
	}
}

// again reports whether another attempt may fare better.
func again(f *msg.Failure) bool {
	switch f.Reason {
	case msg.ReasonWounded, msg.ReasonStaleGrant, msg.ReasonStaleRead, msg.ReasonIncarnation, msg.ReasonTombstone,
		msg.ReasonRefused, msg.ReasonLapsed, msg.ReasonMoved, msg.ReasonRival:
		return true
	}
	return false
}

// afterAbort: the attempt is known to be aborted.
func (g *Gateway) afterAbort(c *call, f *msg.Failure) {
	f = c.blamed(f)
	c.contested = c.contested || f.Reason == msg.ReasonRival
	c.note(f)
	g.noteLost(c, f)
	if g.redirected(c, f) && c.kind == moving {
		g.finish(c, Done{Failure: f}) // it is not where it was said to be
		return
	}
	if c.kind == interactive || !again(f) || g.now >= c.cancelAt() {
		switch {
		case f.Reason == msg.ReasonCancelled && c.commit.without != nil:
			f = c.commit.without
		case f.Reason == msg.ReasonCancelled && g.now >= c.cancelAt():
			f = g.late(c)
		}
		g.finish(c, Done{Failure: f})
		return
	}
	g.leave(c)
	if c.readOnly && f.Reason == msg.ReasonMoved {
		c.redirects++ // a reader that looks elsewhere loses nothing
	} else {
		c.aborts = append(c.aborts, f.Reason)
	}
	c.ref.Attempt++
	g.enter(c)
	c.marked, c.session, c.reading, c.commit, c.check = false, nil, nil, commit{}, checks{}
	c.conflict, c.open = nil, nil
	if c.past != nil && c.past.want.IsZero() {
		c.past = nil
	}
	g.leaveRound(c)
	if n := c.ref.Attempt; n > 4 {
		c.phase = phaseBackoff
		c.retryAt = g.now + g.pauseBefore(n, c.ref.TxnID)
		g.timed(c.retryAt)
		return
	}
	g.start(c)
}

// pauseBefore is how long attempt n waits, in nanoseconds: 2 to 64 ms, and up to half as much
// again, which differs from gateway to gateway. Two that were sent the same id would
// otherwise get in each other's way at each attempt.
func (g *Gateway) pauseBefore(n uint32, id kv.TxnID) int64 {
	pause := int64(1_000_000) << min(n-4, 6)
	mix := (id.Rand ^ uint64(g.cfg.Node)<<32 ^ uint64(n)) * 0x9e3779b97f4a7c15
	return pause + int64(mix>>54)*pause/2048
}

// late is the failure of what did not end before its deadline, and was not
// applied.
func (g *Gateway) late(c *call) *msg.Failure {
	if f := g.unreachable(g.shardsOf(c)); f != nil {
		return f
	}
	if c.kind == ruling {
		return unruled()
	}
	return failure(msg.ReasonCancelled, kv.KindDeadline, "the deadline passed first; nothing was applied")
}

func (g *Gateway) shardsOf(c *call) []kv.ShardID {
	if c.session != nil {
		return c.session.shards()
	}
	if c.reading != nil {
		return g.awaits(c)
	}
	return c.commit.shards()
}
