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
	g.gw.At(now)
	switch b := m.Body.(type) {
	case *msg.CommitResponse:
		g.onCommitResponse(b)
	case *msg.LockResponse:
		g.onLockResponse(b)
	case *msg.CheckResponse:
		g.onCheckResponse(b)
	case *msg.Wound:
		g.onWound(b)
	case *msg.Push:
		g.onPush(b)
	case *msg.QueryTxnResponse:
		g.status.Answered(b)
		g.finishQueries()
	case *msg.ReadPageResponse:
		g.onReadPageResponse(b)
	case *msg.ReadResponse:
		g.onReadResponse(b)
	case *msg.RenewLeaseResponse:
		g.onRenewLeaseResponse(b)
	case *msg.SnapshotResponse:
		g.onQueryResponse(b.Request, m)
	case *msg.HotStatusResponse:
		g.onQueryResponse(b.Request, m)
	case *msg.WaitReport:
		g.onWaitReport(b)
	default:
		onNotification(g, m)
	}
}

// onNews receives what is not about a call of this gateway.
func onNotification(g *Gateway, m *msg.Envelope) {
	switch b := m.Body.(type) {
	case *msg.Announcement:
		g.gw.Shards.LearnAborts(b.Shard, kv.Known{Incarnation: b.Incarnation, Aborts: b.Aborts})
	case *msg.Due:
		if b.ExpireKey != nil {
			g.onExpireKey(b.ExpireKey)
		} else {
			g.onSnapshotDue()
		}
	case *msg.HeatMap:
		g.SetHeat(g.gw.Now, NewHeat(b))
	case *msg.MoveKey:
		g.onMoveKey(b)
	}
}

// onAnswer: the last agent has decided.
func (g *Gateway) onCommitResponse(a *msg.CommitResponse) {
	g.gw.Shards.LearnAborts(a.Shard, kv.Known{Incarnation: a.Incarnation, Aborts: a.Aborts})
	for _, s := range a.Seen {
		g.gw.Shards.Learn(s.Shard, s.Incarnation)
	}
	f, ok := g.flows.find(a.Txn).(flow.Committer)
	if !ok || f.Base().Phase != flow.Committing || !f.Commit().Answers(a, g.gw.Mutants) {
		return
	}
	f.Base().OnResponse(a.Shard, a.Receipt)
	g.flows.apply(f, f.OnCommitResponse(g.gw, a))
}

func (g *Gateway) onLockResponse(r *msg.LockResponse) {
	g.gw.Shards.Learn(r.Shard, r.Incarnation)
	found := g.flows.find(r.Txn)
	if found == nil {
		// A late duplicate; if it took a lock again, give that up.
		if len(r.Grants) > 0 {
			g.gw.To(r.Shard).Body = &msg.Release{Txn: r.Txn}
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
	f.Base().OnResponse(r.Shard, &r.Receipt)
	g.gw.Heat.Waited(&r.Receipt)
	if r.Failure != nil {
		g.flows.apply(f, f.OnFailure(g.gw, r.Failure))
		return
	}
	g.flows.apply(f, f.OnLocks(g.gw, l, r))
}

func (g *Gateway) onCheckResponse(r *msg.CheckResponse) {
	f, ok := g.flows.find(r.Txn).(flow.Checker)
	if !ok || f.Base().Phase != flow.Checking || !f.Checks().Answered(r.Shard) {
		return
	}
	switch {
	case !r.Ok && !g.gw.Mutants.Has(mutant.CheckSkipped):
		g.flows.Abort(f, env.Failure(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock"))
	case !f.Checks().Open():
		g.flows.apply(f, f.OnChecked(g.gw))
	}
}

// onReadReply takes an answer. A failure, of a condition for instance, is one of the
// transaction: it is so at the instant at which that shard read.
func (g *Gateway) onReadResponse(p *msg.ReadResponse) {
	gw, s := g.gw, p.Reading.Shard
	gw.Shards.Learn(s, p.Reading.Incarnation)
	if gw.Shards.Probed(p) {
		g.flows.startRounds()
		return
	}
	f := gw.Readers[p.Reader]
	if f == nil || !g.isReading(f) {
		return
	}
	r, c := f.Reading(), f.Base()
	ops, sent, ok := r.Answered(p)
	if !ok {
		return
	}
	if !c.ReadsSnapshot() {
		gw.Shards.NoteLoad(s, p.Parked, p.Busy)
	}
	c.OnResponse(s, &p.Receipt)
	v, views := f.(*flow.View)
	if views {
		v.NoteTimeBlocked(gw, p)
	}
	switch {
	case p.Failure != nil && p.Failure.Reason == msg.ReasonClosed:
		g.flows.apply(f, f.OnClosed(gw))
	case !r.Registered(gw.Env, p):
		g.flows.Abort(f, readreq.Lapse(s))
	case p.Failure != nil && c.LearnRedirect(gw, p.Failure):
		g.flows.apply(f, f.OnRedirect(gw, s, ops))
	case p.Failure != nil:
		g.flows.apply(f, f.OnFailure(gw, p.Failure))
	default:
		r.Take(p)
		f.OnRead(gw, p, ops, sent)
		if !r.Open() && c.Phase == flow.Reading && !r.Next(gw.Env, c.LastRequestRetry()) {
			g.flows.apply(f, f.OnAllRead(gw))
		}
	}
}

func (g *Gateway) isReading(f flow.Reader) bool {
	p := f.Base().Phase
	return p == flow.Reading || p == flow.AwaitingSnapshot && g.gw.Mutants.Has(mutant.LateReadsUsed)
}

// onRenewReply: a lease is longer, or has lapsed.
func (g *Gateway) onRenewLeaseResponse(p *msg.RenewLeaseResponse) {
	f := g.gw.Readers[p.Reader]
	if f != nil && !f.Reading().Ended && !f.Reading().Renewed(g.gw.Env, p) {
		g.flows.Abort(f, readreq.Lapse(p.Shard))
	}
}

// onReply: the hot shard has answered a question.
func (g *Gateway) onQueryResponse(request kv.TxnRef, m *msg.Envelope) {
	f, ok := g.flows.newest(request.TxnID).(flow.Querier)
	if !ok {
		return
	}
	asked := f.Base().TakeQuery(request)
	if asked != nil {
		g.flows.apply(f, f.OnQueryResponse(g.gw, asked, m))
	}
}

func (g *Gateway) onReadPageResponse(p *msg.ReadPageResponse) {
	s := g.gw.Pages[p.Number]
	if s != nil {
		g.flows.apply(s, s.OnPage(g.gw, p))
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
	c.OnWound(g.gw.Now, mk.Conflict)
	switch c.Phase {
	case flow.Locking:
		if !g.gw.Mutants.Has(mutant.LockWithoutMark) {
			f.(flow.Locker).Requests().NoWait(g.gw.Env)
		}
	case flow.Committing:
		forwardWound(g, f.(flow.Committer), mk)
	case flow.Idle:
		g.gw.Timed(c.Wound.At + int64(g.gw.IdleGrace))
	}
}

// passOn has the last agent know of a wound.
func forwardWound(g *Gateway, f flow.Committer, mk *msg.Wound) {
	switch {
	case g.gw.Mutants.Has(mutant.GatewayDropsMarks):
	case f.Base().Kind == flow.OneShotKind && g.gw.Mutants.Has(mutant.RetryWithoutAbort):
		text := "an older transaction, " + mk.By.String() + ", waited for a lock of this one"
		g.flows.OnAborted(f, env.Failure(msg.ReasonWounded, kv.KindAborted, text))
	default:
		f.Commit().NoWait(g.gw.Mutants)
		g.gw.To(f.Commit().Last()).Body = mk
	}
}

// onPush: a shard asks whether an attempt still lives, perhaps because a request waits for it. A
// scan holds no locks.
func (g *Gateway) onPush(p *msg.Push) {
	f := g.flows.find(p.Txn)
	known := f != nil && f.Base().Kind != flow.ScanKind
	o, open := f.(flow.InteractiveTxn)
	if open && p.Wanted {
		o.Txn().OnWaiter(g.gw)
	}
	g.gw.To(p.Shard).Body = &msg.PushResponse{Txn: p.Txn, Known: known}
}

// onWaits: a request that was repeated waits.
func (g *Gateway) onWaitReport(w *msg.WaitReport) {
	f := g.flows.find(w.Txn)
	if f == nil {
		r := g.gw.Readers[w.Txn]
		if r == nil {
			return
		}
		f = r
	}
	c := f.Base()
	if c.Phase != flow.Committing && !slices.Contains(g.pendingShards(f), w.Shard) {
		return
	}
	if w.Prepared && g.gw.Shards.AnyDown() && g.endIfDeciderDown(f, w) {
		return
	}
	c.OnWaitReport(w.Shard, w.Receipt)
}
