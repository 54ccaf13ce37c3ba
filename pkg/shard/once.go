package shard

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// A transaction commits once, though its client may send its id again, when the router has
// another last agent for it. A shard that is part of two of its attempts promises or
// decides one at a time, and when one has committed refuses the others for good. So of two
// attempts that have a shard in common one commits.

// others reports whether a finished transaction has committed here by another attempt than
// this one.
func (m *Machine) others(txn kv.TxnRef, applied, committed uint32) bool {
	return (applied|committed) != 0 && !appliedHere(txn, applied, committed) && !m.cfg.Mutants.Has(mutant.AttemptsApart)
}

// overtaken is the failure of what comes when another attempt has committed.
func overtaken() *msg.Failure {
	return failure(msg.ReasonCommitted, kv.KindUnknown, "another attempt of the transaction has committed; ask for its outcome")
}

// rivals tells why an attempt cannot promise or commit now: because another one has
// promised to, which may not have heard yet that it is over, or has committed. It is nil if it can.
func (m *Machine) rivals(txn kv.TxnRef) *msg.Failure {
	if m.cfg.Mutants.Has(mutant.AttemptsApart) {
		return nil
	}
	if other, ok := m.pledged[txn.TxnID]; ok && other != txn {
		return failure(msg.ReasonTombstone, kv.KindAborted, "another attempt of the transaction is prepared here")
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
