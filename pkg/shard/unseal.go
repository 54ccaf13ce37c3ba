package shard

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// askUnseal asks an update's last agent to put its decision off, because
// readers have waited for it for long.
func (m *Machine) askUnseal(q snapshotqueue.Ask) {
	a := m.attempts[q.Txn]
	if a == nil || a.prepared == nil {
		return
	}
	m.stats.UnsealsAsked++
	if m.cfg.Mutants.Has(mutant.UnsealsByItself) {
		m.queue.Unsealed(m.now, q.Txn, q.Epoch, 0)
		return
	}
	env := msg.ToShard(a.prepared.row.Last)
	env.Unseal = &msg.Unseal{Txn: q.Txn, Gateway: a.gateway, Shard: m.cfg.ID, LastIncarnation: a.prepared.row.LastIncarnation,
		LastAborts: a.prepared.row.LastAborts, User: a.prepared.row.User, Epoch: q.Epoch}
	m.urgent(env)
}

// onUnseal drops a participant's epochs for good, or says what was decided. It
// is never refused.
func (m *Machine) onUnseal(u *msg.Unseal) {
	x := said{txn: u.Txn, gateway: u.Gateway, user: u.User, named: u.Known(), by: u.Shard}
	switch rec, s := m.standingOf(x); s {
	case recorded:
		m.dropEpoch(rec, u)
	case unheard:
		m.dropUnheard(x, u)
	case unsure:
		m.standingInLog(x, func() { m.onUnseal(u) }, func() { m.dropUnheard(x, u) })
	}
}

// dropUnheard drops an epoch before anything was heard of the transaction.
func (m *Machine) dropUnheard(x said, u *msg.Unseal) {
	if m.cfg.Mutants.Has(mutant.DropForgotten) {
		m.tellUnsealed(u.Txn, u.Shard, u.Epoch)
		return
	}
	m.dropEpoch(m.heardOf(x), u)
}

func (m *Machine) dropEpoch(rec *record.Record, u *msg.Unseal) {
	rec.DropEpoch(u.Shard, u.Epoch, m.cfg.Mutants)
	if rec.State == record.Ready && !rec.AllIn(m.cfg.Mutants) {
		m.unready(rec)
	}
	m.tellUnsealed(u.Txn, u.Shard, u.Epoch)
}

// unready has a piece wait for votes again.
func (m *Machine) unready(rec *record.Record) {
	rec.State = record.Parked
	rec.NextAsk = m.now + int64(m.cfg.Liveness)
	m.timers.at(rec.NextAsk)
	m.queue.Unready(m.now, rec.Txn)
	t := taskOf(rec)
	m.locks.Cancel(&t.req)
	m.loosen(t)
	t.stage, t.missing = stageLoaded, 0
}

// tellUnsealed also tells for how long readers have kept the update from being decided
// here. Where that is longer than at the participant its keys are closed by it.
func (m *Machine) tellUnsealed(txn kv.TxnRef, s kv.ShardID, epoch kv.Epoch) {
	env := msg.ToShard(s)
	env.Unsealed = &msg.Unsealed{Txn: txn, Epoch: epoch, HeldNanos: m.queue.HeldAge(m.now, txn)}
	m.send(env)
}

func (m *Machine) onUnsealed(u *msg.Unsealed) { m.queue.Unsealed(m.now, u.Txn, u.Epoch, u.HeldNanos) }
