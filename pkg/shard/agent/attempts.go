package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// attempt is what one attempt of a transaction has on this shard, short of a
// record: locks that it reads under, and its promise as a participant.
type attempt struct {
	txn     kv.TxnRef
	gateway kv.NodeID
	// reads are its Lock requests, by number; replies is the newest of those that
	// were answered. The gateway sends one when it has the answer to the one before,
	// so that it repeats none that is older, and each may be megabytes.
	reads   map[uint32]*exec.Task
	replies map[uint32]*msg.LockResponse
	// preparing waits to be executed; prepared has been.
	preparing *exec.Task
	prepared  *prepared
	// touched is when its gateway was last heard about it; pushed when the
	// gateway was asked, 0 if there is no question open.
	touched, pushed int64
}

// closedHere returns why an attempt, or a commit of it, can do nothing here any more, nil if it can.
// ended: it has ended.
func (p *Participant) closedHere(txn kv.TxnRef, ended bool) *msg.Failure {
	if ended {
		return msg.Fail(msg.ReasonCancelled, kv.KindAborted, "the attempt has ended on this shard")
	}
	return p.Outcomes.Closed(txn.TxnID)
}

// end gives up all that an attempt has here.
func (p *Participant) end(a *attempt) {
	for _, t := range a.reads {
		p.Exec.Drop(t)
	}
	p.Exec.Drop(a.preparing)
	a.reads, a.replies, a.preparing = nil, nil, nil
	p.Locks.ReleaseHeld(a.txn)
	p.attempts.remove(a)
}

// releaseOwn gives up the locks that an interactive transaction read under on
// its last agent.
func (p *Participant) releaseOwn(txn kv.TxnRef) {
	a := p.attempts.of[txn]
	switch {
	case a == nil:
		p.Locks.ReleaseHeld(txn)
	case a.prepared == nil:
		p.end(a)
		p.ended.Add(p.Now, txn, nil)
	}
}

// onRelease: the gateway has given the attempt up before it asked to commit.
func (p *Participant) onRelease(r *msg.Release) {
	a := p.attempts.of[r.Txn]
	if a != nil && a.prepared != nil {
		return // it has asked to commit, and only its last agent can end it
	}
	if a != nil {
		p.end(a)
	}
	p.ended.Add(p.Now, r.Txn, nil)
}

// idlePush is after how many liveness times a silent holder's gateway is asked, although nobody waits
// for it. Somewhat arbitrary.
const idlePush = 5

// Overdrawn breaks the locks of attempts whose user has held up others for too long.
func (p *Participant) Overdrawn(txns []kv.TxnRef) {
	for _, txn := range txns {
		a := p.attempts.of[txn]
		if a != nil && a.prepared == nil && a.preparing == nil {
			breakLocks(p, a)
		}
	}
}

// Push asks a holder's gateway whether it still knows the attempt; if it has
// not answered the last time, the lock is broken. wanted: a request waits for the holder, which
// its gateway ends if it is idle.
func (p *Participant) Push(txn kv.TxnRef, wanted bool) {
	a := p.attempts.of[txn]
	if a == nil || a.prepared != nil || p.Mutants.Has(mutant.NoPush) {
		return
	}
	if a.pushed != 0 && p.Now >= a.pushed+int64(p.cfg.Liveness)/2 {
		breakLocks(p, a)
		return
	}
	if a.pushed == 0 {
		a.pushed = p.Now
	}
	m := msg.ToGateway(a.gateway)
	m.Body = &msg.Push{Txn: txn, Shard: p.ID, Wanted: wanted}
	p.Urgent(m)
}

func (p *Participant) onPushReply(r *msg.PushResponse) {
	a := p.attempts.of[r.Txn]
	if a == nil || a.prepared != nil {
		return
	}
	if r.Known {
		a.touched, a.pushed = p.Now, 0
		return
	}
	breakLocks(p, a)
}

// breakLocks ends an attempt whose gateway is gone, or that has held its locks for too long. What has not prepared may
// always be broken; a Prepare that waits here is voted down.
func breakLocks(p *Participant, a *attempt) {
	p.stats.LocksBroken++
	if a.preparing != nil {
		p.voteNo(a.preparing, msg.Fail(msg.ReasonRefused, kv.KindAborted, "the gateway of the transaction no longer knows it"))
		return
	}
	p.end(a)
	p.ended.Add(p.Now, a.txn, nil)
}

// SendWound wounds a holder, where its transaction can die of it.
func (p *Participant) SendWound(mk locktable.Mark) {
	a := p.attempts.of[mk.Holder]
	if a == nil {
		return
	}
	p.stats.WoundsSent++
	m := msg.ToGateway(a.gateway)
	if a.prepared != nil {
		m = msg.ToShard(a.prepared.row.Last)
	}
	m.Body = &msg.Wound{Txn: mk.Holder, By: mk.By, Conflict: &mk.Conflict}
	p.Urgent(m)
}
