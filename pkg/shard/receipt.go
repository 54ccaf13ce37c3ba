package shard

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// receipt tells of the task's longest wait: for locks, for the updates that a
// reader waited for, or for readers, of which no name is told. A wait that lasts
// goes before those that are over.
func (m *Machine) receipt(t *task) (r msg.Receipt) {
	if waited, _, _ := t.req.Waited(); waited > 0 || t.req.Waiting() {
		r = m.locks.Receipt(m.now, &t.req)
	}
	if t.entered.Tag != nil {
		r = msg.Worst(r, t.entered.Receipt(m.now))
	}
	if t.held != nil {
		r = msg.Worst(r, t.held.Receipt)
	}
	return r
}

// orHeld is a receipt, or one that tells for how long readers have held the
// transaction here, if that was worse.
func (m *Machine) orHeld(r msg.Receipt, txn kv.TxnRef) msg.Receipt {
	if nanos, _ := m.queue.HeldFor(m.now, txn); nanos == 0 {
		return r
	}
	return msg.Worst(r, m.queue.Receipt(m.now, txn))
}

// tellWait answers a request that was repeated while the task waits: if the
// transaction is given up before it gets any further, its client is told what
// it waited for. Who waits for a promise of this shard is told who decides it, too.
func (m *Machine) tellWait(t *task) {
	if t == nil {
		return
	}
	r := m.orHeld(m.receipt(t), t.txn)
	if !r.Open || r.WaitedNanos == 0 {
		return
	}
	env := msg.ToGateway(t.gateway)
	env.Waits = &msg.Waits{Txn: t.txn, Shard: m.cfg.ID, Receipt: r}
	holder := m.attempts[r.Holder]
	if holder != nil && holder.prepared != nil {
		env.Waits.Prepared, env.Waits.Last = true, holder.prepared.row.Last
	}
	m.urgent(env)
}

// wounded is the failure of a task whose transaction was marked, and that would
// have to wait. The gateway knows who marked it.
func wounded(r *lock.Request) *msg.Failure {
	_, key, holder := r.Waited()
	f := &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted), Key: key,
		Text: "an older transaction needed a lock that this one held"}
	if !holder.IsZero() {
		f.Text += ", and this one would have had to wait for " + holder.String()
	}
	return f
}

// changed is the failure of a transaction that has seen what is not so any more.
func changed(key []byte) *msg.Failure {
	f := failure(msg.ReasonStaleRead, kv.KindAborted, "a value that was read has changed")
	f.Key = key
	f.Conflict = &msg.Receipt{Cause: msg.CauseChanged, Key: key, Mode: uint64(adt.ModeRead), Methods: uint64(adt.MethodGet.Set()), HolderMode: uint64(adt.ModeWrite)}
	return f
}
