package commit

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// A transaction commits once, though its client may send its id again, to another gateway
// and when the router has another last agent for it. What excludes each other are commits: the
// attempts of an id, and, since each gateway begins with attempt 1, those of one attempt that have
// different last agents. A shard that is part of two of them promises or decides one at a
// time, and when one has committed refuses the others for good. So of two commits that
// have a shard in common one is made.

// others reports whether a finished transaction has committed here by another attempt than
// this one.
func (p *Parts) others(txn kv.TxnRef, applied, committed uint32) bool {
	return (applied|committed) != 0 && !appliedHere(txn, applied, committed) && !p.Mutants.Has(mutant.AttemptsApart)
}

// overtaken is the failure of what comes when another attempt has committed.
func overtaken() *msg.Failure {
	return msg.Fail(msg.ReasonCommitted, kv.KindUnknown, "another attempt of the transaction has committed; ask for its outcome")
}

// rival is the failure of what comes while another commit of the transaction is under way.
func rival() *msg.Failure {
	return msg.Fail(msg.ReasonRival, kv.KindAborted, "another commit of the transaction is under way")
}

// decidedElsewhere reports whether the shard takes part in a commit of the attempt that
// another shard decides. Then it decides none.
func (p *Participant) decidedElsewhere(txn kv.TxnRef) bool {
	return p.attempts.of[txn].isForOther(p.ID) && !p.Mutants.Has(mutant.LastAgentsApart)
}

// decidedHere reports whether the shard is to decide a commit of the attempt, which is not
// the one that a last agent asks to prepare for.
func (p *Parts) decidedHere(txn kv.TxnRef, last kv.ShardID) bool {
	return last != p.ID && p.Records.Get(txn) != nil && !p.Mutants.Has(mutant.LastAgentsApart)
}

// rivals tells why an attempt cannot promise or commit now: because another one has
// promised to, which may not have heard yet that it is over, or has committed. It is nil if it can.
func (p *Participant) rivals(txn kv.TxnRef) *msg.Failure {
	if p.Mutants.Has(mutant.AttemptsApart) {
		return nil
	}
	if p.attempts.rivalOf(txn) {
		return rival()
	}
	f := p.Outcomes.Finished(txn.TxnID)
	if p.others(txn, f.Applied, f.Committed) {
		return overtaken()
	}
	return nil
}

// refuseToDecide closes a commit of an attempt that is decidedElsewhere.
func (l *LastAgent) refuseToDecide(user kv.Account, txn kv.TxnRef, named kv.Known) *msg.Failure {
	f := rival()
	l.Outcomes.Kill(user, txn, named.Aborts, f)
	return f
}

// Overtake ends the other attempts of a transaction that are under way here, since one has
// committed. None of them has promised to.
func (l *LastAgent) Overtake(txn kv.TxnRef) {
	if l.Mutants.Has(mutant.AttemptsApart) {
		return
	}
	for _, rec := range l.Records.Of(txn.TxnID) {
		if rec.Txn != txn && rec.State != record.Committed {
			l.abort(rec, overtaken())
		}
	}
	l.part.overtake(txn)
}

// overtake ends the other attempts that are about to prepare.
func (p *Participant) overtake(txn kv.TxnRef) {
	for _, a := range p.attempts.others(txn) {
		if a.preparing != nil {
			p.voteNo(a.preparing, overtaken())
		}
	}
}
