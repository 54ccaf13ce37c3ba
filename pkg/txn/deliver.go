package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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
		g.flows.onCommitResponse(b)
	case *msg.LockResponse:
		g.flows.onLockResponse(b)
	case *msg.CheckResponse:
		g.flows.onCheckResponse(b)
	case *msg.Wound:
		g.flows.onWound(b)
	case *msg.Push:
		g.flows.onPush(b)
	case *msg.QueryTxnResponse:
		g.status.OnResponse(b)
		g.finishQueries()
	case *msg.ReadPageResponse:
		g.flows.onReadPageResponse(b)
	case *msg.ReadResponse:
		g.flows.onReadResponse(b)
	case *msg.RenewLeaseResponse:
		g.flows.onRenewLeaseResponse(b)
	case *msg.SnapshotResponse:
		g.flows.onQueryResponse(b.Request, m)
	case *msg.HotStatusResponse:
		g.flows.onQueryResponse(b.Request, m)
	case *msg.WaitReport:
		g.flows.onWaitReport(b)
	default:
		g.onNotification(m)
	}
}

// onNotification handles messages that are not about a call of this gateway.
func (g *Gateway) onNotification(m *msg.Envelope) {
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
func (t *flowTable) onCommitResponse(a *msg.CommitResponse) {
	// Each response has the incarnation of its shard, and how many commits that has aborted. Later
	// messages name both, by which the shard recognizes late ones (docs/protocol.md, section 10).
	t.gw.Shards.LearnAborts(a.Shard, kv.KnownState{Incarnation: a.Incarnation, Aborts: a.Aborts})
	for _, s := range a.Incarnations {
		t.gw.Shards.Learn(s.Shard, s.Incarnation)
	}
	f, ok := t.find(a.Txn).(flow.Committer)
	// A late response is of another attempt, or of an earlier commit of this one.
	if !ok || f.Base().Phase != flow.Committing || !f.Commit().IsResponse(t.gw.Env, a) {
		return
	}
	f.Base().OnResponse(a.Shard, a.Receipt)
	t.apply(f, f.OnCommitResponse(t.gw, a))
}

// onLockResponse: a shard has granted or failed a lock request.
//
//	lock x ─▶ s1                            the response is lost; the request is retried
//	aborted: release ─▶ s1                  x is released
//	the retry arrives after the release     x is locked again, by an attempt that no longer exists
//	its response ─▶ no flow                 released here; if that is lost, a push breaks the lock
func (t *flowTable) onLockResponse(r *msg.LockResponse) {
	t.gw.Shards.Learn(r.Shard, r.Incarnation)
	found := t.find(r.Txn)
	if found == nil {
		// The attempt has ended. If the message was delivered twice, the second copy has acquired the
		// locks again, after their release; no flow would release them.
		if len(r.Grants) > 0 {
			t.gw.SendTo(r.Shard).Body = &msg.Release{Txn: r.Txn}
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
	t.gw.Heat.OnWait(&r.Receipt)
	switch {
	case r.Failure == nil:
		t.apply(f, f.OnLocks(t.gw, l, r))
	case flow.NeedsLock(t.gw, l, r.Failure):
		f.Requests().RepeatLocked(t.gw.Env, l, f.Base().LastRequestRetry())
	default:
		t.apply(f, f.OnFailure(t.gw, r.Failure))
	}
}

// onCheckResponse: a shard has checked and released the locks of an attempt.
func (t *flowTable) onCheckResponse(r *msg.CheckResponse) {
	f, ok := t.find(r.Txn).(flow.Checker)
	if !ok || f.Base().Phase != flow.Checking || !f.Checks().OnResponse(r.Shard) {
		return
	}
	switch {
	case t.hasLostLock(r):
		t.Abort(f, env.Failure(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock"))
	case !f.Checks().HasPending():
		t.apply(f, f.OnChecked(t.gw))
	}
}

// onReadResponse: a shard has responded to a read. The failure of a condition, for example, is one of the
// transaction: it holds at the instant at which that shard has read.
//
// A probe of an excluded shard is answered by the same message. It may end the exclusion, so that
// rounds can begin.
func (t *flowTable) onReadResponse(p *msg.ReadResponse) {
	gw, s := t.gw, p.Reading.Shard
	gw.Shards.Learn(s, p.Reading.Incarnation)
	if gw.Shards.OnProbeResponse(p) {
		t.startRounds()
		return
	}
	f := gw.Readers[p.Reader]
	if f == nil || !t.isReading(f) {
		return
	}
	r, c := f.Reading(), f.Base()
	q, sent, ok := r.EndRequest(p)
	if !ok {
		return
	}
	ops := q.Ops
	// The load of the shard selects the read plan. Reads at a snapshot do not wait, so their reports
	// do not count.
	if !c.ReadsSnapshot() {
		gw.Shards.StoreLoad(s, p.UpdatesWait, p.Busy)
	}
	c.OnResponse(s, &p.Receipt)
	v, views := f.(*flow.View)
	if views {
		v.NoteTimeBlocked(gw, p)
	}
	switch {
	// The read was not registered: an update of the key has been blocked for too long.
	case p.Failure != nil && p.Failure.Reason == msg.ReasonClosed:
		t.apply(f, f.OnClosed(gw))
	// The shard's incarnation has changed, or the lease had expired before the response arrived.
	case !r.CheckIncarnation(gw.Env, p, sent):
		t.Abort(f, readreq.ExpiredLeaseFailure(s))
	// The shard has another leader, which cannot know whether the state of the snapshot was kept until it began.
	case p.Failure == nil && !c.ConfirmsState(gw, q, p, sent):
		t.apply(f, f.OnFailure(gw, env.Failure(msg.ReasonIncarnation, kv.KindAborted,
			"a shard no longer keeps the state that the transaction reads")))
	case p.Failure != nil && c.LearnRedirect(gw, p.Failure):
		t.apply(f, f.OnRedirect(gw, s, ops))
	case p.Failure != nil:
		t.apply(f, f.OnFailure(gw, p.Failure))
	default:
		r.StoreResponse(p)
		f.OnRead(gw, p, ops, sent)
		// Next sends the read of the last shard, if it waits for the other responses.
		if !r.HasPending() && c.Phase == flow.Reading && !r.SendNext(gw.Env, c.LastRequestRetry()) {
			t.apply(f, f.OnAllRead(gw))
		}
	}
}

// onRenewLeaseResponse: a lease is renewed, or has expired. A round may have waited for that.
func (t *flowTable) onRenewLeaseResponse(p *msg.RenewLeaseResponse) {
	f := t.gw.Readers[p.Reader]
	if f == nil || f.Reading().Ended {
		return
	}
	awaited := f.Reading().AwaitsConfirmation()
	switch {
	case !f.Reading().OnRenewLeaseResponse(t.gw.Env, p):
		t.Abort(f, readreq.ExpiredLeaseFailure(p.Shard))
	case awaited && !f.Reading().AwaitsConfirmation():
		t.apply(f, f.OnAllRead(t.gw))
	}
}

// onQueryResponse: the hot shard has responded to a query.
// It is ignored unless it answers the query in flight: the call may have started another one since.
func (t *flowTable) onQueryResponse(request kv.TxnRef, m *msg.Envelope) {
	f, ok := t.newest(request.TxnID).(flow.Querier)
	if !ok {
		return
	}
	q := f.Base().TakeQuery(request)
	if q != nil {
		t.apply(f, f.OnQueryResponse(t.gw, q, m))
	}
}

// onReadPageResponse: a shard has sent a page of a scan.
func (t *flowTable) onReadPageResponse(p *msg.ReadPageResponse) {
	s := t.gw.Pages[p.Number]
	if s != nil {
		t.apply(s, s.OnPage(t.gw, p))
	}
}

// onWound: an older transaction waits for a lock of this attempt.
//
//   - A lock request is outstanding: it is repeated with "no wait", and fails if it would wait.
//   - The commit has been sent: the wound is forwarded to the last agent, which aborts the attempt if
//     it is undecided.
//   - Otherwise, as in an idle transaction: later requests carry "no wait", and a transaction that
//     stays idle is aborted after a while.
func (t *flowTable) onWound(w *msg.Wound) {
	f := t.find(w.Txn)
	if f == nil {
		return
	}
	c := f.Base()
	// The phase selects what reacts to the wound.
	c.OnWound(t.gw.Now, w.Conflict)
	switch c.Phase {
	case flow.Locking:
		t.resendNoWait(f.(flow.Locker))
	case flow.Committing:
		t.forwardWound(f.(flow.Committer), w)
	case flow.Idle:
		t.gw.WakeAt(c.Wound.At + int64(t.gw.IdleTimeout))
	}
}

// onPush: a shard queries whether an attempt is in flight, perhaps because a request waits for its
// locks. If it is not (this gateway has restarted, or a lock request arrived late), the shard
// breaks the locks. A scan holds no locks, so it cannot be meant.
func (t *flowTable) onPush(p *msg.Push) {
	f := t.find(p.Txn)
	known := f != nil && f.Base().Kind != flow.ScanKind
	o, open := f.(flow.InteractiveTxn)
	// A request waits for the transaction's locks.
	if open && p.Contended {
		o.Txn().OnWaiter(t.gw)
	}
	t.gw.SendTo(p.Shard).Body = &msg.PushResponse{Txn: p.Txn, Known: known}
}

// onWaitReport: a request that was retried is waiting on its shard.
func (t *flowTable) onWaitReport(w *msg.WaitReport) {
	f := t.find(w.Txn)
	if f == nil {
		// Readers are known to shards by the names of their readings.
		r := t.gw.Readers[w.Txn]
		if r == nil {
			return
		}
		f = r
	}
	c := f.Base()
	// The report is late: the shard has responded since.
	if c.Phase != flow.Committing && !slices.Contains(t.pendingShards(f), w.Shard) {
		return
	}
	if w.Prepared && t.gw.Shards.IsAnyDown() && t.endIfDeciderDown(f, w) {
		return
	}
	c.OnWaitReport(w.Shard, w.Receipt)
}
