package shard

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// attempt is what one attempt of a transaction has on this shard, short of a
// record: locks that it reads under, and its promise as a participant.
type attempt struct {
	txn     kv.TxnRef
	gateway kv.NodeID
	// reads are its Lock requests, by number; replies is the newest of those that
	// were answered. The gateway sends one when it has the answer to the one before,
	// so that it repeats none that is older, and each may be megabytes.
	reads   map[uint32]*task
	replies map[uint32]*msg.LockReply
	// preparing waits to be executed; prepared has been.
	preparing *task
	prepared  *prepared
	// touched is when its gateway was last heard about it; pushed when the
	// gateway was asked, 0 if there is no question open.
	touched, pushed int64
}

func (m *Machine) attemptOf(txn kv.TxnRef, gateway kv.NodeID) *attempt {
	a := m.attempts[txn]
	if a == nil {
		a = &attempt{txn: txn, gateway: gateway}
		m.attempts[txn] = a
		m.tries[txn.TxnID]++
	}
	a.touched, a.pushed = m.now, 0
	return a
}

// closedRecord tells why an attempt cannot be decided here any more, as far as is
// remembered, nil if it can.
func (m *Machine) closedRecord(txn kv.TxnRef) *msg.Failure {
	if txn.Time < m.floor {
		return failure(msg.ReasonTooOld, kv.KindTooOld, "the transaction is older than what the store remembers")
	}
	if f, ok := m.memory.Dead(txn); ok {
		if f != nil {
			return f
		}
		return failure(msg.ReasonTombstone, kv.KindAborted, "the attempt was given up")
	}
	if m.memory.Fenced(txn.TxnID) {
		return failure(msg.ReasonFenced, kv.KindAborted, "an enquiry about the transaction closed it")
	}
	return nil
}

// closedCommit is closedRecord for a commit of a user's, and what it names. One of this
// life whose abort may have been forgotten is taken for aborted.
func (m *Machine) closedCommit(txn kv.TxnRef, user kv.Account, named kv.Known) *msg.Failure {
	f := m.closedRecord(txn)
	if f != nil {
		m.killedToo(user, txn, named)
	}
	if f == nil && named.Incarnation == m.inc && m.memory.Presumed(user, named.Aborts) {
		f = failure(msg.ReasonTombstone, kv.KindAborted, "the commit was sent before the aborts that the shard remembers")
	}
	return f
}

// killedToo has a commit that is answered from memory have a tombstone of its own: when it was
// sent, its gateway may have heard of the abort that is remembered.
func (m *Machine) killedToo(user kv.Account, txn kv.TxnRef, named kv.Known) {
	f, dead := m.memory.Dead(txn)
	if dead && named.Incarnation == m.inc && !m.cfg.Mutants.Has(mutant.DeadOnce) {
		m.memory.Kill(user, txn, named.Aborts, f)
	}
}

// closedHere tells why an attempt cannot lock or prepare here any more.
func (m *Machine) closedHere(txn kv.TxnRef) *msg.Failure {
	if _, ok := m.ended.get(txn); ok {
		return failure(msg.ReasonCancelled, kv.KindAborted, "the attempt has ended on this shard")
	}
	return m.closedRecord(txn)
}

// onLock locks what some reads need and reads it, or reads optimistically.
func (m *Machine) onLock(l *msg.Lock) {
	if f := m.closedHere(l.Txn); f != nil {
		m.send(m.lockReply(l, &msg.LockReply{Failure: f}))
		return
	}
	if l.Optimistic {
		m.begin(&task{kind: taskOptimistic, txn: l.Txn, gateway: l.Gateway, ops: l.Ops, lock: l})
		return
	}
	a := m.attemptOf(l.Txn, l.Gateway)
	if r := a.replies[l.Number]; r != nil {
		// The first copy may still be on its way to be encoded, so that this
		// one must not be filled in again.
		env := msg.ToGateway(l.Gateway)
		env.LockReply = r
		m.send(env)
		return
	}
	if t := a.reads[l.Number]; t != nil {
		if l.NoWait {
			m.doom(t)
		}
		m.tellWait(t)
		return
	}
	if a.preparing != nil || a.prepared != nil || a.isPast(l.Number) {
		return // a late duplicate: the transaction has asked for something else, or to commit
	}
	t := &task{kind: taskLock, txn: l.Txn, gateway: l.Gateway, ops: l.Ops, lock: l, noWait: l.NoWait, admitted: len(a.reads)+len(a.replies) > 0}
	if a.reads == nil {
		a.reads = map[uint32]*task{}
	}
	a.reads[l.Number] = t
	m.begin(t)
}

// isPast reports whether a later request than this one has been answered.
func (a *attempt) isPast(number uint32) bool {
	for n := range a.replies {
		if number < n {
			return true
		}
	}
	return false
}

func (m *Machine) lockReply(l *msg.Lock, r *msg.LockReply) *msg.Envelope {
	r.Txn, r.Number, r.Shard, r.Incarnation = l.Txn, l.Number, m.cfg.ID, m.inc
	env := msg.ToGateway(l.Gateway)
	env.LockReply = r
	return env
}

// replyLock reads and answers.
func (m *Machine) replyLock(t *task) {
	x := m.exec(t)
	if m.lacks(t, &x) {
		return
	}
	if x.Failure != nil {
		m.refuseLock(t, x.Failure)
		return
	}
	reply := &msg.LockReply{Results: x.Results, Receipt: m.receipt(t), Index: m.index}
	if t.kind == taskLock {
		m.shrinkScans(t, x.Results)
		for _, g := range t.req.Grants() {
			reply.Grants = append(reply.Grants, grantMsg(m.shrunk(t, g)))
		}
		a := m.attempts[t.txn]
		delete(a.reads, t.lock.Number)
		if a.replies == nil {
			a.replies = map[uint32]*msg.LockReply{}
		}
		clear(a.replies)
		a.replies[t.lock.Number] = reply
	}
	m.drop(t)
	m.send(m.lockReply(t.lock, reply))
}

// shrinkScans gives up the part of a scanned range behind the last key that
// was returned: the transaction has not seen it.
func (m *Machine) shrinkScans(t *task, results []msg.Result) {
	for i := range t.ops {
		op := &t.ops[i]
		if op.Kind == msg.OpScan && len(results[i].Resume) > 0 && m.rangeUsers(t, op) == 1 {
			m.locks.Shrink(&t.req, op.Span(), results[i].Resume)
		}
	}
}

// rangeUsers counts the operations of a task with exactly this span.
func (m *Machine) rangeUsers(t *task, op *msg.Op) int {
	n := 0
	for i := range t.ops {
		o := &t.ops[i]
		if !o.Span().IsPoint() && bytes.Equal(o.Key, op.Key) && bytes.Equal(o.End, op.End) {
			n++
		}
	}
	return n
}

// shrunk is a grant as it stands after shrinkScans.
func (m *Machine) shrunk(t *task, g lock.Grant) lock.Grant {
	if g.Span.IsPoint() {
		return g
	}
	for _, h := range m.locks.HeldBy(t.txn) {
		if h.Number == g.Number {
			return h
		}
	}
	return g
}

func grantMsg(g lock.Grant) msg.Grant {
	return msg.Grant{Start: g.Span.Start, End: g.Span.End, IsRange: !g.Span.IsPoint(), Mode: uint64(g.Mode), Number: g.Number}
}

func grantOf(g *msg.Grant) lock.Grant {
	return lock.Grant{Span: g.Span(), Mode: adt.Mode(g.Mode), Number: g.Number}
}

// refuseLock answers with a failure. The attempt keeps what it holds from
// earlier requests until its gateway releases it.
func (m *Machine) refuseLock(t *task, f *msg.Failure) {
	receipt := m.receipt(t)
	m.drop(t)
	if a := m.attempts[t.txn]; a != nil && t.kind == taskLock {
		delete(a.reads, t.lock.Number)
		m.releaseGrants(t)
		m.forgetIfIdle(a)
	}
	m.send(m.lockReply(t.lock, &msg.LockReply{Failure: f, Receipt: receipt}))
}

// releaseGrants gives up everything that the attempt holds, if this was its
// first request; a failure later on ends the transaction, and its gateway
// releases the rest.
func (m *Machine) releaseGrants(t *task) {
	if a := m.attempts[t.txn]; a != nil && len(a.reads) == 0 && len(a.replies) == 0 {
		m.locks.ReleaseHeld(t.txn)
	}
}

// forgetIfIdle drops an attempt that has nothing here any more.
func (m *Machine) forgetIfIdle(a *attempt) {
	if len(a.reads) == 0 && len(a.replies) == 0 && a.preparing == nil && a.prepared == nil {
		m.forget(a)
	}
}

func (m *Machine) forget(a *attempt) {
	if m.attempts[a.txn] != a {
		return
	}
	delete(m.attempts, a.txn)
	m.tries[a.txn.TxnID]--
	if m.tries[a.txn.TxnID] == 0 {
		delete(m.tries, a.txn.TxnID)
	}
}

// end gives up all that an attempt has here.
func (m *Machine) end(a *attempt) {
	for _, t := range a.reads {
		m.drop(t)
	}
	m.drop(a.preparing)
	a.reads, a.replies, a.preparing = nil, nil, nil
	m.locks.ReleaseHeld(a.txn)
	m.forget(a)
}

// onRelease: the gateway has given the attempt up before it asked to commit.
func (m *Machine) onRelease(r *msg.Release) {
	a := m.attempts[r.Txn]
	if a != nil && a.prepared != nil {
		return // it has asked to commit, and only its last agent can end it
	}
	if a != nil {
		m.end(a)
	}
	m.ended.add(m.now, r.Txn, nil)
}

// staleGrant is the failure of an attempt whose locks are not stillHeld.
func staleGrant() *msg.Failure {
	return failure(msg.ReasonStaleGrant, kv.KindAborted, "a lock that the transaction read under was lost")
}

// stillHeld checks the grants that a piece or a reader relies on.
func (m *Machine) stillHeld(txn kv.TxnRef, inc kv.Incarnation, grants []msg.Grant) bool {
	if len(grants) == 0 || m.cfg.Mutants.Has(mutant.NoGrantCheck) {
		return true
	}
	if inc != m.inc && !m.cfg.Mutants.Has(mutant.GrantByHolding) {
		return false
	}
	for i := range grants {
		if !m.locks.Holds(txn, grantOf(&grants[i])) {
			return false
		}
	}
	return true
}

// onCheck ends a locking read. If the grants were held without a break until
// now, everything that was read under them was current at one instant.
func (m *Machine) onCheck(c *msg.Check) {
	reply, _ := m.ended.get(c.Txn)
	if reply == nil {
		a := m.attempts[c.Txn]
		if a != nil && a.prepared != nil {
			return
		}
		reply = &msg.CheckReply{Txn: c.Txn, Shard: m.cfg.ID, Incarnation: m.inc, Index: m.index}
		reply.Ok = a != nil && m.stillHeld(c.Txn, c.Incarnation, c.Grants) || m.cfg.Mutants.Has(mutant.CheckSkipped)
		if reply.Ok && c.KeepNanos > 0 {
			m.keep(c.Txn, m.index, c.KeepNanos)
		}
		if a != nil {
			m.end(a)
		}
		m.ended.add(m.now, c.Txn, reply)
	}
	env := msg.ToGateway(c.Gateway)
	env.CheckReply = reply
	m.send(env)
}
