package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
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
		m.queue.Unsealed(m.now, q.Txn, q.Epoch)
		return
	}
	env := msg.ToShard(a.prepared.row.Last)
	env.Unseal = &msg.Unseal{Txn: q.Txn, Gateway: a.gateway, Shard: m.cfg.ID, LastIncarnation: a.prepared.row.LastIncarnation, Epoch: q.Epoch}
	m.urgent(env)
}

// onUnseal drops a participant's epochs for good, or says what was decided. It
// is never refused.
func (m *Machine) onUnseal(u *msg.Unseal) {
	rec := m.recs.Get(u.Txn)
	switch {
	case rec != nil && rec.State == record.Committed:
		m.tellAll(u.Txn, []kv.ShardID{u.Shard}, true)
	case u.LastIncarnation != m.inc && !m.cfg.Mutants.Has(mutant.IncarnationIgnored):
		m.tellAll(u.Txn, []kv.ShardID{u.Shard}, false)
	case rec != nil:
		m.dropEpoch(rec, u)
	case m.closedRecord(u.Txn) != nil || m.finishedOther(u.Txn):
		m.tellAll(u.Txn, []kv.ShardID{u.Shard}, false)
	case m.memory.Complete(u.Txn.TxnID):
		m.dropUnheard(u)
	default:
		m.dropAfterLookUp(u)
	}
}

// dropAfterLookUp: memory may have forgotten a commit that all participants
// have acknowledged. Then the question is a late duplicate.
func (m *Machine) dropAfterLookUp(u *msg.Unseal) {
	m.lookUp(u.Txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil: // it is asked again
		case m.recs.Get(u.Txn) != nil:
			m.onUnseal(u)
		case o.Committed != 0 || m.closedRecord(u.Txn) != nil:
			m.tellAll(u.Txn, []kv.ShardID{u.Shard}, o.Committed == u.Txn.Attempt)
		default:
			m.dropUnheard(u)
		}
	})
}

// dropUnheard drops an epoch before anything was heard of the transaction.
func (m *Machine) dropUnheard(u *msg.Unseal) {
	if m.cfg.Mutants.Has(mutant.DropForgotten) {
		m.tellUnsealed(u.Txn, u.Shard, u.Epoch)
		return
	}
	m.timers.at(m.now + int64(m.cfg.Liveness))
	m.dropEpoch(m.recs.Add(m.now, u.Txn, u.Gateway, record.Heard), u)
}

func (m *Machine) dropEpoch(rec *record.Record, u *msg.Unseal) {
	rec.DropEpoch(u.Shard, u.Epoch)
	if rec.State == record.Ready && !rec.AllIn(m.cfg.Mutants) {
		m.unready(rec)
	}
	m.tellUnsealed(u.Txn, u.Shard, u.Epoch)
}

// unready has a piece wait for votes again. The locks of its ranges stay: a
// request of the same transaction gets them again.
func (m *Machine) unready(rec *record.Record) {
	rec.State = record.Parked
	rec.NextAsk = m.now + int64(m.cfg.Liveness)
	m.timers.at(rec.NextAsk)
	m.queue.Withdraw(m.now, rec.Txn)
	t := taskOf(rec)
	m.locks.Cancel(&t.req)
	t.stage, t.rows = stageLoaded, nil
	t.round++ // reads under way are for nothing
	t.missing = 0
}

func (m *Machine) tellUnsealed(txn kv.TxnRef, s kv.ShardID, epoch kv.Epoch) {
	env := msg.ToShard(s)
	env.Unsealed = &msg.Unsealed{Txn: txn, Epoch: epoch}
	m.send(env)
}

func (m *Machine) onUnsealed(u *msg.Unsealed) { m.queue.Unsealed(m.now, u.Txn, u.Epoch) }
