package agent

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// onLock locks what some reads need and reads it, or reads optimistically.
func (p *Participant) onLock(l *msg.Lock) {
	_, ended := p.ended.Get(l.Txn)
	f := p.closedHere(l.Txn, ended)
	if f != nil {
		p.Send(p.lockReply(l, &msg.LockResponse{Failure: f}))
		return
	}
	done := p.Outcomes.Finished(l.Txn.TxnID)
	if l.Txn.Attempt == done.Applied || l.Txn.Attempt == done.Committed {
		return // a late duplicate: the attempt has committed, and no message would release the lock
	}
	if l.Optimistic {
		p.begin(&exec.Task{Kind: exec.Optimistic, Txn: l.Txn, Gateway: l.Gateway, User: l.User, Ops: l.Ops, Owner: l})
		return
	}
	a := p.attempts.touch(p.Now, l.Txn, l.Gateway)
	r := a.replies[l.Number]
	if r != nil {
		// The first copy may still be on its way to be encoded, so that this
		// one must not be filled in again.
		m := msg.ToGateway(l.Gateway)
		m.Body = r
		p.Send(m)
		return
	}
	t := a.reads[l.Number]
	if t != nil {
		if l.NoWait {
			p.Went(t, p.Exec.Wound(t))
		}
		p.reportWait(t)
		return
	}
	if a.preparing != nil || a.prepared != nil || a.isPast(l.Number) {
		return // a late duplicate: the transaction has asked for something else, or to commit
	}
	t = &exec.Task{Kind: exec.Lock, Txn: l.Txn, Gateway: l.Gateway, User: l.User, Ops: l.Ops, Owner: l, NoWait: l.NoWait,
		Request:  locktable.Request{Begun: l.Begun, Lasting: true},
		Admitted: len(a.reads)+len(a.replies) > 0}
	if a.reads == nil {
		a.reads = map[uint32]*exec.Task{}
	}
	a.reads[l.Number] = t
	p.begin(t)
}

func (p *Participant) lockReply(l *msg.Lock, r *msg.LockResponse) *msg.Envelope {
	r.Txn, r.Number, r.Shard, r.Incarnation = l.Txn, l.Number, p.ID, p.Inc
	m := msg.ToGateway(l.Gateway)
	m.Body = r
	return m
}

// replyLock reads and answers.
func (p *Participant) replyLock(t *exec.Task) {
	x, step := p.Exec.Run(t)
	if step != exec.Ready {
		p.Went(t, step)
		return
	}
	f := x.Failure
	if f == nil {
		f = msg.ReplyTooLarge(x.Results)
	}
	if f != nil {
		p.refuseLock(t, f)
		return
	}
	reply := &msg.LockResponse{Results: x.Results, Receipt: p.Exec.Receipt(t), Index: p.Store.Index()}
	l := t.Owner.(*msg.Lock)
	if t.Kind == exec.Lock {
		p.Exec.ShrinkScans(t, x.Results)
		for _, g := range p.Exec.Grants(t) {
			reply.Grants = append(reply.Grants, grantMsg(g))
		}
		a := p.attempts.of[t.Txn]
		delete(a.reads, l.Number)
		if a.replies == nil {
			a.replies = map[uint32]*msg.LockResponse{}
		}
		clear(a.replies)
		a.replies[l.Number] = reply
	}
	p.Exec.Drop(t)
	p.Send(p.lockReply(l, reply))
}

func grantMsg(g locktable.Grant) msg.Grant {
	return msg.Grant{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode), Number: g.Number}
}

func grantOf(g *msg.Grant) locktable.Grant {
	return locktable.Grant{Span: g.Span(), Mode: adt.Mode(g.Mode), Number: g.Number}
}

// refuseLock answers with a failure. The attempt keeps what it holds from
// earlier requests until its gateway releases it.
func (p *Participant) refuseLock(t *exec.Task, f *msg.Failure) {
	receipt := p.Exec.Receipt(t)
	p.Exec.Drop(t)
	l, a := t.Owner.(*msg.Lock), p.attempts.of[t.Txn]
	if a != nil && t.Kind == exec.Lock {
		delete(a.reads, l.Number)
		p.releaseGrants(a)
		if a.idle() {
			p.attempts.remove(a)
		}
	}
	p.Send(p.lockReply(l, &msg.LockResponse{Failure: f, Receipt: receipt}))
}

// releaseGrants gives up everything that the attempt holds, if this was its
// first request; a failure later on ends the transaction, and its gateway
// releases the rest.
func (p *Participant) releaseGrants(a *attempt) {
	if len(a.reads) == 0 && len(a.replies) == 0 {
		p.Locks.ReleaseHeld(a.txn)
	}
}

// staleGrant is the failure of an attempt whose locks are not stillHeld.
func staleGrant() *msg.Failure {
	return msg.Fail(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock")
}

// stillHeld checks the grants that a piece or a reader relies on.
func (p *Participant) stillHeld(txn kv.TxnRef, inc kv.Incarnation, grants []msg.Grant) bool {
	if len(grants) == 0 || p.Mutants.Has(mutant.NoGrantCheck) {
		return true
	}
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

// onCheck ends a locking read. If the grants were held without a break until
// now, everything that was read under them was current at one instant.
func (p *Participant) onCheck(c *msg.Check) {
	reply, _ := p.ended.Get(c.Txn)
	if reply == nil {
		a := p.attempts.of[c.Txn]
		if a != nil && a.prepared != nil {
			return
		}
		reply = &msg.CheckResponse{Txn: c.Txn, Shard: p.ID, Incarnation: p.Inc}
		reply.Ok = a != nil && p.stillHeld(c.Txn, c.Incarnation, c.Grants) || p.Mutants.Has(mutant.CheckSkipped)
		if a != nil {
			p.end(a)
		}
		p.ended.Add(p.Now, c.Txn, reply)
	}
	m := msg.ToGateway(c.Gateway)
	m.Body = reply
	p.Send(m)
}
