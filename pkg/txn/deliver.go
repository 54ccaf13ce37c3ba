package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
)

// Deliver takes a message for this gateway.
func (g *Gateway) Deliver(now int64, m *msg.Envelope) {
	g.host.At(now)
	switch b := m.Body.(type) {
	case *msg.CommitResponse:
		g.onAnswer(b)
	case *msg.LockResponse:
		g.onLockReply(b)
	case *msg.CheckResponse:
		g.onCheckReply(b)
	case *msg.Wound:
		g.onWound(b)
	case *msg.Push:
		g.onPush(b)
	case *msg.QueryTxnResponse:
		g.status.Answered(b)
		g.endQueries()
	case *msg.ReadPageResponse:
		g.onScanPage(b)
	case *msg.ReadResponse:
		g.onReadReply(b)
	case *msg.RenewLeaseResponse:
		g.onRenewReply(b)
	case *msg.SnapshotResponse:
		g.onReply(b.Request, m)
	case *msg.HotStatusResponse:
		g.onReply(b.Request, m)
	case *msg.WaitReport:
		g.onWaits(b)
	default:
		onNews(g, m)
	}
}

// onNews receives what is not about a call of this gateway.
func onNews(g *Gateway, m *msg.Envelope) {
	switch b := m.Body.(type) {
	case *msg.Announcement:
		g.host.Shards.LearnAborts(b.Shard, kv.Known{Incarnation: b.Incarnation, Aborts: b.Aborts})
	case *msg.Due:
		if b.ExpireKey != nil {
			g.expire(b.ExpireKey)
		} else {
			g.snapshotDue()
		}
	case *msg.HeatMap:
		g.SetHeat(g.host.Now, NewHeat(b))
	case *msg.MoveKey:
		g.moveKey(b)
	}
}

// onAnswer: the last agent has decided.
func (g *Gateway) onAnswer(a *msg.CommitResponse) {
	g.host.Shards.LearnAborts(a.Shard, kv.Known{Incarnation: a.Incarnation, Aborts: a.Aborts})
	for _, s := range a.Seen {
		g.host.Shards.Learn(s.Shard, s.Incarnation)
	}
	f, ok := g.flows.find(a.Txn).(flow.Committer)
	if !ok || f.Base().Phase != flow.Committing || !f.Commit().Answers(a, g.host.Mutants) {
		return
	}
	f.Base().Heard(a.Shard, a.Receipt)
	g.flows.handle(f, f.Answered(g.host, a))
}

func (g *Gateway) onLockReply(r *msg.LockResponse) {
	g.host.Shards.Learn(r.Shard, r.Incarnation)
	found := g.flows.find(r.Txn)
	if found == nil {
		// A late duplicate; if it took a lock again, give that up.
		if len(r.Grants) > 0 {
			g.host.To(r.Shard).Body = &msg.Release{Txn: r.Txn}
		}
		return
	}
	f, ok := found.(flow.Locker)
	if !ok || f.Base().Phase != flow.Locking {
		return
	}
	l := f.Requests().Answered(r)
	if l == nil {
		return
	}
	f.Base().Heard(r.Shard, &r.Receipt)
	g.host.Heat.Waited(&r.Receipt)
	if r.Failure != nil {
		g.flows.handle(f, f.Refused(g.host, r.Failure))
		return
	}
	g.flows.handle(f, f.Locked(g.host, l, r))
}

func (g *Gateway) onCheckReply(r *msg.CheckResponse) {
	f, ok := g.flows.find(r.Txn).(flow.Checker)
	if !ok || f.Base().Phase != flow.Checking || !f.Checks().Answered(r.Shard) {
		return
	}
	switch {
	case !r.Ok && !g.host.Mutants.Has(mutant.CheckSkipped):
		g.flows.Abort(f, env.Failure(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock"))
	case !f.Checks().Open():
		g.flows.handle(f, f.Checked(g.host))
	}
}

// onReadReply takes an answer. A failure, of a condition for instance, is one of the
// transaction: it is so at the instant at which that shard read.
func (g *Gateway) onReadReply(p *msg.ReadResponse) {
	h, s := g.host, p.Reading.Shard
	h.Shards.Learn(s, p.Reading.Incarnation)
	if h.Shards.Probed(p) {
		g.flows.beginRound()
		return
	}
	f := h.Readers[p.Reader]
	if f == nil || !g.readsNow(f) {
		return
	}
	r, c := f.Reading(), f.Base()
	ops, sent, ok := r.Answered(p)
	if !ok {
		return
	}
	if !c.InPast() {
		h.Shards.NoteLoad(s, p.Parked, p.Busy)
	}
	c.Heard(s, &p.Receipt)
	v, views := f.(*flow.View)
	if views {
		v.Crowded(h, p)
	}
	switch {
	case p.Failure != nil && p.Failure.Reason == msg.ReasonClosed:
		g.flows.handle(f, f.TurnedAway(h))
	case !r.Registered(h.Env, p):
		g.flows.Abort(f, readreq.Lapse(s))
	case p.Failure != nil && c.Redirected(h, p.Failure):
		g.flows.handle(f, f.Elsewhere(h, s, ops))
	case p.Failure != nil:
		g.flows.handle(f, f.Refused(h, p.Failure))
	default:
		r.Take(p)
		f.Took(h, p, ops, sent)
		if !r.Open() && c.Phase == flow.Reading && !r.Next(h.Env, c.LastAsk()) {
			g.flows.handle(f, f.ReadAll(h))
		}
	}
}

func (g *Gateway) readsNow(f flow.Reader) bool {
	p := f.Base().Phase
	return p == flow.Reading || p == flow.Pinning && g.host.Mutants.Has(mutant.LateReadsUsed)
}

// onRenewReply: a lease is longer, or has lapsed.
func (g *Gateway) onRenewReply(p *msg.RenewLeaseResponse) {
	f := g.host.Readers[p.Reader]
	if f != nil && !f.Reading().Ended && !f.Reading().Renewed(g.host.Env, p) {
		g.flows.Abort(f, readreq.Lapse(p.Shard))
	}
}

// onReply: the hot shard has answered a question.
func (g *Gateway) onReply(request kv.TxnRef, m *msg.Envelope) {
	f, ok := g.flows.newest(request.TxnID).(flow.Asker)
	if !ok {
		return
	}
	asked := f.Base().EndQuestion(request)
	if asked != nil {
		g.flows.handle(f, f.Replied(g.host, asked, m))
	}
}

func (g *Gateway) onScanPage(p *msg.ReadPageResponse) {
	s := g.host.Pages[p.Number]
	if s != nil {
		g.flows.handle(s, s.Page(g.host, p))
	}
}

// onWound: an older transaction waits for one of ours. While a lock request is outstanding the
// attempt fails; once the commit has been sent the wound is passed on to the last agent;
// otherwise it is remembered, every later request says "no wait", and a transaction that stays
// idle is aborted after a while.
func (g *Gateway) onWound(mk *msg.Wound) {
	f := g.flows.find(mk.Txn)
	if f == nil {
		return
	}
	c := f.Base()
	c.Wounded(g.host.Now, mk.Conflict)
	switch c.Phase {
	case flow.Locking:
		if !g.host.Mutants.Has(mutant.LockWithoutMark) {
			f.(flow.Locker).Requests().NoWait(g.host.Env)
		}
	case flow.Committing:
		passOn(g, f.(flow.Committer), mk)
	case flow.Idle:
		g.host.Timed(c.Wound.At + int64(g.host.IdleGrace))
	}
}

// passOn has the last agent know of a wound.
func passOn(g *Gateway, f flow.Committer, mk *msg.Wound) {
	switch {
	case g.host.Mutants.Has(mutant.GatewayDropsMarks):
	case f.Base().Kind == flow.OneShotKind && g.host.Mutants.Has(mutant.RetryWithoutAbort):
		text := "an older transaction, " + mk.By.String() + ", waited for a lock of this one"
		g.flows.Lose(f, env.Failure(msg.ReasonWounded, kv.KindAborted, text))
	default:
		f.Commit().NoWait(g.host.Mutants)
		g.host.To(f.Commit().Last()).Body = mk
	}
}

// onPush: a shard asks whether an attempt still lives, perhaps because a request waits for it. A
// scan holds no locks.
func (g *Gateway) onPush(p *msg.Push) {
	f := g.flows.find(p.Txn)
	known := f != nil && f.Base().Kind != flow.ScanKind
	o, open := f.(flow.Open)
	if open && p.Wanted {
		o.Opened().Wanted(g.host)
	}
	g.host.To(p.Shard).Body = &msg.PushResponse{Txn: p.Txn, Known: known}
}

// onWaits: a request that was repeated waits.
func (g *Gateway) onWaits(w *msg.WaitReport) {
	f := g.flows.find(w.Txn)
	if f == nil {
		r := g.host.Readers[w.Txn]
		if r == nil {
			return
		}
		f = r
	}
	c := f.Base()
	if c.Phase != flow.Committing && !slices.Contains(g.awaits(f), w.Shard) {
		return
	}
	if w.Prepared && g.host.Shards.AnyDown() && g.waitsForDown(f, w) {
		return
	}
	c.Waiting(w.Shard, w.Receipt)
}
