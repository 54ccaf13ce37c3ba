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

// Deliver handles a message for this machine.
//
// A message about a call finds its flow by the attempt, the name of a reading, or the number of a page,
// and is ignored unless the flow is in the phase that waits for it. These checks make duplicates and
// late messages harmless; see docs/protocol.md, section 10.
//
//	CommitResponse            the flow's commit, by its commit id
//	LockResponse              the flow's open lock request, by its number
//	CheckResponse             the flow's open check, by its shard
//	ReadResponse              a reading, by its name and the number of the read
//	RenewLeaseResponse        a reading, by its name and the number of the renewal
//	ReadPageResponse          a scan, by the number of the page
//	SnapshotResponse,
//	HotStatusResponse         the flow's query of the hot shard, by its number
//	QueryTxnResponse          package status
//	Wound, Push, WaitReport   the attempt
func (g *Gateway) Deliver(now int64, m *msg.Envelope) {
	g.gw.AdvanceTo(now)
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
		g.status.OnResponse(b)
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

// onNotification handles messages that are not about a call of this gateway.
func onNotification(g *Gateway, m *msg.Envelope) {
	switch b := m.Body.(type) {
	case *msg.Announcement:
		g.gw.Shards.LearnAborts(b.Shard, kv.KnownState{Incarnation: b.Incarnation, Aborts: b.Aborts})
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

// onCommitResponse: the last agent has decided. The response is ignored unless it names the current
// commit of the attempt.
func (g *Gateway) onCommitResponse(a *msg.CommitResponse) {
	// Each response has the incarnation of its shard, and how many commits that has aborted. Later
	// messages name both, by which the shard recognizes late ones (docs/protocol.md, section 10).
	g.gw.Shards.LearnAborts(a.Shard, kv.KnownState{Incarnation: a.Incarnation, Aborts: a.Aborts})
	for _, s := range a.Seen {
		g.gw.Shards.Learn(s.Shard, s.Incarnation)
	}
	f, ok := g.flows.find(a.Txn).(flow.Committer)
	// A late response is of another attempt, or of an earlier commit of this one.
	if !ok || f.Base().Phase != flow.Committing || !f.Commit().IsResponse(a, g.gw.Mutants) {
		return
	}
	f.Base().OnResponse(a.Shard, a.Receipt)
	g.flows.apply(f, f.OnCommitResponse(g.gw, a))
}

// onLockResponse: a shard has granted or failed a lock request.
func (g *Gateway) onLockResponse(r *msg.LockResponse) {
	g.gw.Shards.Learn(r.Shard, r.Incarnation)
	found := g.flows.find(r.Txn)
	if found == nil {
		// The attempt has ended. If the message was delivered twice, the second copy has acquired the
		// locks again, after their release; no flow would release them.
		if len(r.Grants) > 0 {
			g.gw.SendTo(r.Shard).Body = &msg.Release{Txn: r.Txn}
		}
		return
	}
	f, ok := found.(flow.Locker)
	// The attempt is ending, and releases all of its locks then.
	if !ok || f.Base().Phase != flow.Locking {
		return
	}
	// The response may be a copy of one that was handled.
	l := f.Requests().EndRequest(r)
	if l == nil {
		return
	}
	f.Base().OnResponse(r.Shard, &r.Receipt)
	g.gw.Heat.OnWait(&r.Receipt)
	if r.Failure != nil {
		g.flows.apply(f, f.OnFailure(g.gw, r.Failure))
		return
	}
	g.flows.apply(f, f.OnLocks(g.gw, l, r))
}

// onCheckResponse: a shard has checked and released the locks of an attempt.
func (g *Gateway) onCheckResponse(r *msg.CheckResponse) {
	f, ok := g.flows.find(r.Txn).(flow.Checker)
	if !ok || f.Base().Phase != flow.Checking || !f.Checks().OnResponse(r.Shard) {
		return
	}
	switch {
	// Sequence: A is granted a read lock, the shard breaks it for a waiting writer since A's gateway
	// did not respond to a push, and the writer commits. A's reads are of different instants.
	case !r.Ok && !g.gw.Mutants.Has(mutant.CheckSkipped):
		g.flows.Abort(f, env.Failure(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock"))
	case !f.Checks().HasPending():
		g.flows.apply(f, f.OnChecked(g.gw))
	}
}

// onReadResponse: a shard has responded to a read. The failure of a condition, for example, is one of the
// transaction: it holds at the instant at which that shard has read.
//
// A probe of an excluded shard is answered by the same message. It may end the exclusion, so that
// rounds can begin.
func (g *Gateway) onReadResponse(p *msg.ReadResponse) {
	gw, s := g.gw, p.Reading.Shard
	gw.Shards.Learn(s, p.Reading.Incarnation)
	if gw.Shards.OnProbeResponse(p) {
		g.flows.startRounds()
		return
	}
	f := gw.Readers[p.Reader]
	if f == nil || !g.isReading(f) {
		return
	}
	r, c := f.Reading(), f.Base()
	ops, sent, ok := r.EndRequest(p)
	if !ok {
		return
	}
	// The load of the shard selects the read plan. Reads at a snapshot do not wait, so their reports
	// do not count.
	if !c.ReadsSnapshot() {
		gw.Shards.StoreLoad(s, p.Parked, p.Busy)
	}
	c.OnResponse(s, &p.Receipt)
	v, views := f.(*flow.View)
	if views {
		v.NoteTimeBlocked(gw, p)
	}
	switch {
	case p.Failure != nil && p.Failure.Reason == msg.ReasonClosed:
		g.flows.apply(f, f.OnClosed(gw))
	// The shard's incarnation has changed, or the lease had expired before the response arrived.
	case !r.CheckIncarnation(gw.Env, p):
		g.flows.Abort(f, readreq.ExpiredLeaseFailure(s))
	case p.Failure != nil && c.LearnRedirect(gw, p.Failure):
		g.flows.apply(f, f.OnRedirect(gw, s, ops))
	case p.Failure != nil:
		g.flows.apply(f, f.OnFailure(gw, p.Failure))
	default:
		r.StoreResponse(p)
		f.OnRead(gw, p, ops, sent)
		// Next sends the read of the last shard, if it waits for the other responses.
		if !r.HasPending() && c.Phase == flow.Reading && !r.SendNext(gw.Env, c.LastRequestRetry()) {
			g.flows.apply(f, f.OnAllRead(gw))
		}
	}
}

// isReading reports whether a flow accepts reads. A view that waits for a snapshot does not: what
// arrives now may be newer than the snapshot.
func (g *Gateway) isReading(f flow.Reader) bool {
	p := f.Base().Phase
	return p == flow.Reading || p == flow.AwaitingSnapshot && g.gw.Mutants.Has(mutant.LateReadsUsed)
}

// onRenewLeaseResponse: a lease is renewed, or has expired.
func (g *Gateway) onRenewLeaseResponse(p *msg.RenewLeaseResponse) {
	f := g.gw.Readers[p.Reader]
	if f != nil && !f.Reading().Ended && !f.Reading().OnRenewLeaseResponse(g.gw.Env, p) {
		g.flows.Abort(f, readreq.ExpiredLeaseFailure(p.Shard))
	}
}

// onQueryResponse: the hot shard has responded to a query.
func (g *Gateway) onQueryResponse(request kv.TxnRef, m *msg.Envelope) {
	f, ok := g.flows.newest(request.TxnID).(flow.Querier)
	if !ok {
		return
	}
	q := f.Base().TakeQuery(request)
	if q != nil {
		g.flows.apply(f, f.OnQueryResponse(g.gw, q, m))
	}
}

// onReadPageResponse: a shard has sent a page of a scan.
func (g *Gateway) onReadPageResponse(p *msg.ReadPageResponse) {
	s := g.gw.Pages[p.Number]
	if s != nil {
		g.flows.apply(s, s.OnPage(g.gw, p))
	}
}

// onWound: an older transaction waits for a lock of this attempt.
//
//   - A lock request is outstanding: it is repeated with "no wait", and fails if it would wait.
//   - The commit has been sent: the wound is forwarded to the last agent, which aborts the attempt if
//     it is undecided.
//   - Otherwise, as in an idle transaction: later requests carry "no wait", and a transaction that
//     stays idle is aborted after a while.
func (g *Gateway) onWound(w *msg.Wound) {
	f := g.flows.find(w.Txn)
	if f == nil {
		return
	}
	c := f.Base()
	// The phase selects what reacts to the wound.
	c.OnWound(g.gw.Now, w.Conflict)
	switch c.Phase {
	case flow.Locking:
		if !g.gw.Mutants.Has(mutant.LockWithoutWound) {
			f.(flow.Locker).Requests().ResendNoWait(g.gw.Env)
		}
	case flow.Committing:
		forwardWound(g, f.(flow.Committer), w)
	case flow.Idle:
		g.gw.WakeAt(c.Wound.At + int64(g.gw.IdleTimeout))
	}
}

// forwardWound forwards a wound to the last agent.
func forwardWound(g *Gateway, f flow.Committer, w *msg.Wound) {
	switch {
	case g.gw.Mutants.Has(mutant.GatewayDropsWounds):
	case f.Base().Kind == flow.OneShotKind && g.gw.Mutants.Has(mutant.RetryWithoutAbort):
		text := "an older transaction, " + w.By.String() + ", waited for a lock of this one"
		g.flows.OnAborted(f, env.Failure(msg.ReasonWounded, kv.KindAborted, text))
	default:
		// Retries of prepare and commit requests carry "no wait" as well: a participant that has lost the
		// first copy must not wait either.
		f.Commit().SetNoWait(g.gw.Mutants)
		g.gw.SendTo(f.Commit().Last()).Body = w
	}
}

// onPush: a shard queries whether an attempt is in flight, perhaps because a request waits for its
// locks. If it is not (this gateway has restarted, or a lock request arrived late), the shard
// breaks the locks. A scan holds no locks, so it cannot be meant.
func (g *Gateway) onPush(p *msg.Push) {
	f := g.flows.find(p.Txn)
	known := f != nil && f.Base().Kind != flow.ScanKind
	o, open := f.(flow.InteractiveTxn)
	// A request waits for the transaction's locks.
	if open && p.Wanted {
		o.Txn().OnWaiter(g.gw)
	}
	g.gw.SendTo(p.Shard).Body = &msg.PushResponse{Txn: p.Txn, Known: known}
}

// onWaitReport: a request that was retried is waiting on its shard.
func (g *Gateway) onWaitReport(w *msg.WaitReport) {
	f := g.flows.find(w.Txn)
	if f == nil {
		// Readers are known to shards by the names of their readings.
		r := g.gw.Readers[w.Txn]
		if r == nil {
			return
		}
		f = r
	}
	c := f.Base()
	// The report is late: the shard has responded since.
	if c.Phase != flow.Committing && !slices.Contains(g.pendingShards(f), w.Shard) {
		return
	}
	if w.Prepared && g.gw.Shards.IsAnyDown() && g.endIfDeciderDown(f, w) {
		return
	}
	c.OnWaitReport(w.Shard, w.Receipt)
}
