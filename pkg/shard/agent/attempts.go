package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// releaseReadLocks releases the locks under which an interactive transaction read on its last agent.
// A prepared attempt keeps its locks until the decision arrives: with --commit-order parallel the
// last agent is a participant, too.
func (p *Participant) releaseReadLocks(txn kv.TxnRef) {
	a := p.Attempts.Get(txn)
	switch {
	case a == nil:
		p.Locks.ReleaseHeld(txn)
	case a.Prepared == nil:
		p.End(a)
		p.Ended.Add(p.Now, txn, nil)
	}
}

// onRelease ends an attempt that its gateway has aborted before the commit. A copy may arrive after
// the prepare request of the same attempt: a prepared attempt is then left alone, since only its
// last agent may end it.
func (p *Participant) onRelease(r *msg.Release) {
	a := p.Attempts.Get(r.Txn)
	if a.IsPrepared() {
		return
	}
	if a != nil {
		p.End(a)
	}
	p.Ended.Add(p.Now, r.Txn, nil)
}

// idlePushAfter is after how many times Config.Liveness the gateway of a silent holder is sent a
// push although no request waits for the holder. Somewhat arbitrary.
const idlePushAfter = 5

// BreakOverdrawn breaks the locks of attempts whose users have used up their time for blocking
// others. An attempt that is preparing keeps its locks.
func (p *Participant) BreakOverdrawn(txns []kv.TxnRef) {
	for _, txn := range txns {
		a := p.Attempts.Get(txn)
		if a != nil && a.Prepared == nil && a.Preparing == nil {
			breakLocks(p, a)
		}
	}
}

// SendPush sends a push to the gateway of a holder: does it still know the attempt? If the last push
// was not answered, the locks are broken instead. contended: a request waits for the holder, and the
// gateway ends an idle transaction for it. The gateway has half of Config.Liveness to answer.
func (p *Participant) SendPush(txn kv.TxnRef, contended bool) {
	a := p.Attempts.Get(txn)
	if !p.isPushable(a) {
		return
	}
	// The last push is unanswered.
	if a.PushedAt != 0 && p.Now >= a.PushedAt+int64(p.cfg.Liveness)/2 {
		breakLocks(p, a)
		return
	}
	if a.PushedAt == 0 {
		a.PushedAt = p.Now
	}
	m := msg.ToGateway(a.Gateway)
	m.Body = &msg.Push{Txn: txn, Shard: p.ID, Contended: contended}
	p.Urgent(m)
}

// onPushResponse breaks the locks of an attempt that its gateway does not know: the gateway has
// restarted, or its release was lost.
func (p *Participant) onPushResponse(r *msg.PushResponse) {
	a := p.Attempts.Get(r.Txn)
	if a == nil || a.Prepared != nil {
		return
	}
	// A gateway that knows the attempt ends it itself if it is idle and contended.
	if r.Known {
		a.LastContact, a.PushedAt = p.Now, 0
		return
	}
	breakLocks(p, a)
}

// breakLocks ends an attempt that is not prepared. This is always safe, since prepare and commit
// requests name their grants, and are rejected without them. A prepare request that waits here votes
// no.
func breakLocks(p *Participant, a *attempt.Attempt) {
	p.stats.LocksBroken++
	if a.Preparing != nil {
		p.rejectPrepareTask(a.Preparing, msg.Fail(msg.ReasonRefused, kv.KindAborted,
			"the gateway of the transaction no longer knows it"))
		return
	}
	p.End(a)
	p.Ended.Add(p.Now, a.Txn, nil)
}

// SendWound forwards a wound to where the transaction can abort: its gateway, or, if it is prepared,
// its last agent.
func (p *Participant) SendWound(wound locktable.Wound) {
	a := p.Attempts.Get(wound.Holder)
	if a == nil {
		return
	}
	p.stats.WoundsSent++
	m := msg.ToGateway(a.Gateway)
	if a.Prepared != nil {
		m = msg.ToShard(a.Prepared.Row.Last)
	}
	m.Body = &msg.Wound{Txn: wound.Holder, By: wound.By, Conflict: &wound.Conflict}
	p.Urgent(m)
}
