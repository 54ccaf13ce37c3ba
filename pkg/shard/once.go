package shard

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// A transaction commits once, though its client may send its id again, to another gateway
// and when the router has another last agent for it. What excludes each other are commits: the
// attempts of an id, and, since each gateway begins with attempt 1, those of one attempt that have
// different last agents. A shard that is part of two of them promises or decides one at a
// time, and when one has committed refuses the others for good. So of two commits that
// have a shard in common one is made.

// others reports whether a finished transaction has committed here by another attempt than
// this one.
func (m *Machine) others(txn kv.TxnRef, applied, committed uint32) bool {
	return (applied|committed) != 0 && !appliedHere(txn, applied, committed) && !m.cfg.Mutants.Has(mutant.AttemptsApart)
}

// overtaken is the failure of what comes when another attempt has committed.
func overtaken() *msg.Failure {
	return failure(msg.ReasonCommitted, kv.KindUnknown, "another attempt of the transaction has committed; ask for its outcome")
}

// rival is the failure of what comes while another commit of the transaction is under way.
func rival() *msg.Failure {
	return failure(msg.ReasonRival, kv.KindAborted, "another commit of the transaction is under way")
}

// isForOther reports whether an attempt prepares, or has prepared, for another last agent than this one.
func (a *attempt) isForOther(last kv.ShardID) bool {
	switch {
	case a == nil:
		return false
	case a.prepared != nil:
		return a.prepared.row.Last != last
	}
	return a.preparing != nil && a.preparing.prepare.Last != last
}

// decidedElsewhere reports whether the shard takes part in a commit of the attempt that
// another shard decides. Then it decides none.
func (m *Machine) decidedElsewhere(txn kv.TxnRef) bool {
	return m.attempts[txn].isForOther(m.cfg.ID) && !m.cfg.Mutants.Has(mutant.LastAgentsApart)
}

// decidedHere reports whether the shard is to decide a commit of the attempt, which is not
// the one that a last agent asks to prepare for.
func (m *Machine) decidedHere(txn kv.TxnRef, last kv.ShardID) bool {
	return last != m.cfg.ID && m.recs.Get(txn) != nil && !m.cfg.Mutants.Has(mutant.LastAgentsApart)
}

// refuseToDecide closes a commit of an attempt that is decidedElsewhere.
func (m *Machine) refuseToDecide(user kv.Account, txn kv.TxnRef, named kv.Known) *msg.Failure {
	f := rival()
	m.memory.Kill(user, txn, named.Aborts, f)
	return f
}

// rivals tells why an attempt cannot promise or commit now: because another one has
// promised to, which may not have heard yet that it is over, or has committed. It is nil if it can.
func (m *Machine) rivals(txn kv.TxnRef) *msg.Failure {
	if m.cfg.Mutants.Has(mutant.AttemptsApart) {
		return nil
	}
	if other, ok := m.pledged[txn.TxnID]; ok && other != txn {
		return rival()
	}
	if f := m.memory.Finished(txn.TxnID); m.others(txn, f.Applied, f.Committed) {
		return overtaken()
	}
	return nil
}

// overtake ends the other attempts of a transaction that are under way here, since one has
// committed. None of them has promised to.
func (m *Machine) overtake(txn kv.TxnRef) {
	if m.cfg.Mutants.Has(mutant.AttemptsApart) {
		return
	}
	for _, rec := range m.recs.Of(txn.TxnID) {
		if rec.Txn != txn && rec.State != record.Committed {
			m.abort(rec, overtaken())
		}
	}
	others := m.tries[txn.TxnID]
	if m.attempts[txn] != nil {
		others--
	}
	if others == 0 {
		return
	}
	for _, a := range m.sortedAttempts() {
		if a.txn.TxnID == txn.TxnID && a.txn != txn && a.preparing != nil {
			m.voteNo(a.preparing, overtaken())
		}
	}
}

// refuseApplied answers a Prepare of an attempt that has been decided and applied here. A late
// duplicate needs no answer, and its last agent takes none; but it may be of another commit.
func (m *Machine) refuseApplied(p *msg.Prepare) {
	if p.Last != m.cfg.ID && !m.cfg.Mutants.Has(mutant.LastAgentsApart) {
		m.refusePrepareWith(p, overtaken(), msg.Receipt{})
	}
}
