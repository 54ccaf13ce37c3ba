package agent

// # Grants
//
// Each lock that is granted has a number, and the response contains it. Prepare, commit and check
// requests list the grants on which they rely:
//
//	transaction T                  shard                             transaction U
//	    ├─ lock x ──────────────────▶│ grant 7
//	    │◀─ x = 1, grant 7 ──────────┤
//	    │                            │ no response to a push: breaks grant 7
//	    │                            │◀─ write x = 2 ────────────────────┤
//	    │  (late copy of lock x) ───▶│ grant 9
//	    ├─ prepare, relies on 7 ────▶│ T holds x, but not by grant 7: votes no

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// onLock handles a lock request of an interactive transaction: it locks and reads, or reads
// optimistically, without a lock.
func (p *Participant) onLock(l *msg.Lock) {
	_, ended := p.ended.Get(l.Txn)
	f := p.attemptFailure(l.Txn, ended)
	if f != nil {
		p.Send(p.newLockResponse(l, &msg.LockResponse{Failure: f}))
		return
	}
	// The attempt has committed, and the request is a late copy. No message would release its lock,
	// so it is ignored.
	done := p.Outcomes.Finished(l.Txn.TxnID)
	if l.Txn.Attempt == done.Applied || l.Txn.Attempt == done.Committed {
		return
	}
	// No lock and no state: the version is validated in the deciding step.
	if l.Optimistic {
		t := &exec.Task{Kind: exec.Optimistic, Txn: l.Txn, Gateway: l.Gateway, User: l.User, Ops: l.Ops, Owner: l}
		p.OnStep(t, p.Exec.Begin(t))
		return
	}
	a := p.attempts.touch(p.Now, l.Txn, l.Gateway)
	// A retry of an answered request.
	r := a.lockResponses[l.Number]
	if r != nil {
		// The response is immutable: the first message with it may not be encoded yet.
		m := msg.ToGateway(l.Gateway)
		m.Body = r
		p.Send(m)
		return
	}
	t := a.lockTasks[l.Number]
	if t != nil {
		// The transaction was wounded after the first copy: if the request waits, it aborts.
		if l.NoWait {
			p.OnStep(t, p.Exec.Wound(t))
		}
		p.reportWait(t)
		return
	}
	// A late copy: the transaction has sent a later request, or its commit.
	if a.preparing != nil || a.prepared != nil || a.hasLaterResponse(l.Number) {
		return
	}
	t = &exec.Task{Kind: exec.Lock, Txn: l.Txn, Gateway: l.Gateway, User: l.User, Ops: l.Ops, Owner: l, NoWait: l.NoWait,
		Request:  locktable.Request{Begun: l.Begun, Lasting: true},
		Admitted: len(a.lockTasks)+len(a.lockResponses) > 0}
	if a.lockTasks == nil {
		a.lockTasks = map[uint32]*exec.Task{}
	}
	a.lockTasks[l.Number] = t
	p.OnStep(t, p.Exec.Begin(t))
}

// newLockResponse addresses a response to a lock request.
func (p *Participant) newLockResponse(l *msg.Lock, r *msg.LockResponse) *msg.Envelope {
	r.Txn, r.Number, r.Shard, r.Incarnation = l.Txn, l.Number, p.ID, p.Inc
	m := msg.ToGateway(l.Gateway)
	m.Body = r
	return m
}

// executeLock executes a request under its locks and responds with results and grants.
func (p *Participant) executeLock(t *exec.Task) exec.Step {
	x, step := p.Exec.Run(t)
	if step != exec.Ready {
		return step
	}
	// A response above the size limit is a failure.
	f := x.Failure
	if f == nil {
		f = msg.MessageTooLarge(x.Results)
	}
	if f != nil {
		p.rejectLock(t, f)
		return exec.Waiting
	}
	reply := &msg.LockResponse{Results: x.Results, Receipt: p.Exec.Receipt(t), Index: p.Store.CSN()}
	l := t.Owner.(*msg.Lock)
	if t.Kind == exec.Lock {
		p.Exec.ShrinkScans(t, x.Results)
		for _, g := range p.Exec.Grants(t) {
			reply.Grants = append(reply.Grants, grantMsg(g))
		}
		a := p.attempts.byRef[t.Txn]
		delete(a.lockTasks, l.Number)
		if a.lockResponses == nil {
			a.lockResponses = map[uint32]*msg.LockResponse{}
		}
		// Only the newest response can be requested again.
		clear(a.lockResponses)
		a.lockResponses[l.Number] = reply
	}
	p.Exec.Drop(t)
	p.Send(p.newLockResponse(l, reply))
	return exec.Waiting
}

func grantMsg(g locktable.Grant) msg.Grant {
	return msg.Grant{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode),
		Number: g.Number}
}

func grantOf(g *msg.Grant) locktable.Grant {
	return locktable.Grant{Span: g.Span(), Mode: adt.Mode(g.Mode), Number: g.Number}
}

// rejectLock responds with a failure. The locks of earlier requests stay until the gateway releases
// the attempt.
func (p *Participant) rejectLock(t *exec.Task, f *msg.Failure) {
	receipt := p.Exec.Receipt(t)
	p.Exec.Drop(t)
	l, a := t.Owner.(*msg.Lock), p.attempts.byRef[t.Txn]
	if a != nil && t.Kind == exec.Lock {
		delete(a.lockTasks, l.Number)
		p.releaseFirstGrants(a)
		if a.isIdle() {
			p.attempts.remove(a)
		}
	}
	p.Send(p.newLockResponse(l, &msg.LockResponse{Failure: f, Receipt: receipt}))
}

// releaseFirstGrants releases all locks of an attempt if this was its first request: the gateway
// then does not know that it holds any. A later failure ends the transaction, and the gateway
// releases its locks.
func (p *Participant) releaseFirstGrants(a *attempt) {
	if len(a.lockTasks) == 0 && len(a.lockResponses) == 0 {
		p.Locks.ReleaseHeld(a.txn)
	}
}

// staleGrantFailure is the failure of an attempt that has lost a grant.
func staleGrantFailure() *msg.Failure {
	return msg.Fail(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock")
}

// holdsGrants reports whether the grants of a piece or a reader have been held without interruption.
// Holding the locks is not enough. A push breaks the lock of T; U writes the key; a delayed copy of
// T's lock request acquires the lock again. The numbers of the grants differ then.
func (p *Participant) holdsGrants(txn kv.TxnRef, inc kv.Incarnation, grants []msg.Grant) bool {
	if len(grants) == 0 || p.Mutants.Has(mutant.NoGrantCheck) {
		return true
	}
	// Locks of earlier incarnations are lost, except those of prepared rows.
	if inc != p.Inc && !p.Mutants.Has(mutant.GrantByHolding) {
		return false
	}
	for i := range grants {
		if !p.Locks.Holds(txn, grantOf(&grants[i])) {
			return false
		}
	}
	return true
}

// onCheck ends a locking read. If its grants on all shards have been held until now, all values were
// current at one instant. The response is remembered, because the locks are released: a retry cannot
// be checked again.
func (p *Participant) onCheck(c *msg.Check) {
	reply, _ := p.ended.Get(c.Txn)
	if reply == nil {
		a := p.attempts.byRef[c.Txn]
		// Only its last agent may end a prepared attempt.
		if a != nil && a.prepared != nil {
			return
		}
		reply = &msg.CheckResponse{Txn: c.Txn, Shard: p.ID, Incarnation: p.Inc}
		reply.Ok = a != nil && p.holdsGrants(c.Txn, c.Incarnation, c.Grants) || p.Mutants.Has(mutant.CheckSkipped)
		if a != nil {
			p.endAttempt(a)
		}
		p.ended.Add(p.Now, c.Txn, reply)
	}
	m := msg.ToGateway(c.Gateway)
	m.Body = reply
	p.Send(m)
}
