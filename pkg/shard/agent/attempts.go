package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// attempt is the state of one attempt on this shard as a participant: the locks under which it
// reads, and the prepared row.
type attempt struct {
	txn     kv.TxnRef
	gateway kv.NodeID
	// lockTasks are its lock requests that wait, by number. lockResponses holds only the newest
	// response, for retries: the gateway sends a request after it has received the response to the
	// previous one, so it never repeats an older one, and a response may have several MiB.
	lockTasks     map[uint32]*exec.Task
	lockResponses map[uint32]*msg.LockResponse
	// preparing is the task of its prepare request until that is executed; then prepared is set.
	preparing *exec.Task
	prepared  *prepared
	// lastContact is when the last message of its gateway about it arrived. pushedAt is when the
	// gateway was sent a push that it has not answered, 0 for none.
	lastContact, pushedAt int64
}

// attemptFailure returns why an attempt, or a commit of it, is rejected here; nil if it is not.
// ended: it has ended here. Otherwise its id may be too old or fenced.
func (p *Participant) attemptFailure(txn kv.TxnRef, ended bool) *msg.Failure {
	if ended {
		return msg.Fail(msg.ReasonCancelled, kv.KindAborted, "the attempt has ended on this shard")
	}
	return p.Outcomes.IDFailure(txn.TxnID)
}

// endAttempt drops the tasks of an attempt and releases its locks.
func (p *Participant) endAttempt(a *attempt) {
	for _, t := range a.lockTasks {
		p.Exec.Drop(t)
	}
	p.Exec.Drop(a.preparing)
	a.lockTasks, a.lockResponses, a.preparing = nil, nil, nil
	p.Locks.ReleaseHeld(a.txn)
	p.attempts.remove(a)
}

// releaseReadLocks releases the locks under which an interactive transaction read on its last agent.
// A prepared attempt keeps its locks until the decision arrives: with --commit-order parallel the
// last agent is a participant, too.
func (p *Participant) releaseReadLocks(txn kv.TxnRef) {
	a := p.attempts.byRef[txn]
	switch {
	case a == nil:
		p.Locks.ReleaseHeld(txn)
	case a.prepared == nil:
		p.endAttempt(a)
		p.ended.Add(p.Now, txn, nil)
	}
}

// onRelease ends an attempt that its gateway has aborted before the commit. A copy may arrive after
// the prepare request of the same attempt: a prepared attempt is then left alone, since only its
// last agent may end it.
func (p *Participant) onRelease(r *msg.Release) {
	a := p.attempts.byRef[r.Txn]
	if a != nil && a.prepared != nil {
		return
	}
	if a != nil {
		p.endAttempt(a)
	}
	p.ended.Add(p.Now, r.Txn, nil)
}

// idlePushAfter is after how many times Config.Liveness the gateway of a silent holder is sent a
// push although no request waits for the holder. Somewhat arbitrary.
const idlePushAfter = 5

// BreakOverdrawn breaks the locks of attempts whose users have used up their time for blocking
// others. An attempt that is preparing keeps its locks.
func (p *Participant) BreakOverdrawn(txns []kv.TxnRef) {
	for _, txn := range txns {
		a := p.attempts.byRef[txn]
		if a != nil && a.prepared == nil && a.preparing == nil {
			breakLocks(p, a)
		}
	}
}

// SendPush sends a push to the gateway of a holder: does it still know the attempt? If the last push
// was not answered, the locks are broken instead. contended: a request waits for the holder, and the
// gateway ends an idle transaction for it. The gateway has half of Config.Liveness to answer.
func (p *Participant) SendPush(txn kv.TxnRef, contended bool) {
	a := p.attempts.byRef[txn]
	if a == nil || a.prepared != nil || p.Mutants.Has(mutant.NoPush) {
		return
	}
	// The last push is unanswered.
	if a.pushedAt != 0 && p.Now >= a.pushedAt+int64(p.cfg.Liveness)/2 {
		breakLocks(p, a)
		return
	}
	if a.pushedAt == 0 {
		a.pushedAt = p.Now
	}
	m := msg.ToGateway(a.gateway)
	m.Body = &msg.Push{Txn: txn, Shard: p.ID, Wanted: contended}
	p.Urgent(m)
}

// onPushResponse breaks the locks of an attempt that its gateway does not know: the gateway has
// restarted, or its release was lost.
func (p *Participant) onPushResponse(r *msg.PushResponse) {
	a := p.attempts.byRef[r.Txn]
	if a == nil || a.prepared != nil {
		return
	}
	// A gateway that knows the attempt ends it itself if it is idle and contended.
	if r.Known {
		a.lastContact, a.pushedAt = p.Now, 0
		return
	}
	breakLocks(p, a)
}

// breakLocks ends an attempt that is not prepared. This is always safe, since prepare and commit
// requests name their grants, and are rejected without them. A prepare request that waits here votes
// no.
func breakLocks(p *Participant, a *attempt) {
	p.stats.LocksBroken++
	if a.preparing != nil {
		p.rejectPrepareTask(a.preparing, msg.Fail(msg.ReasonRefused, kv.KindAborted,
			"the gateway of the transaction no longer knows it"))
		return
	}
	p.endAttempt(a)
	p.ended.Add(p.Now, a.txn, nil)
}

// SendWound forwards a wound to where the transaction can abort: its gateway, or, if it is prepared,
// its last agent.
func (p *Participant) SendWound(wound locktable.Wound) {
	a := p.attempts.byRef[wound.Holder]
	if a == nil {
		return
	}
	p.stats.WoundsSent++
	m := msg.ToGateway(a.gateway)
	if a.prepared != nil {
		m = msg.ToShard(a.prepared.row.Last)
	}
	m.Body = &msg.Wound{Txn: wound.Holder, By: wound.By, Conflict: &wound.Conflict}
	p.Urgent(m)
}
