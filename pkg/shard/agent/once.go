package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// A transaction commits once, though its client may send its id again, to another gateway
// and when the router has another last agent for it. What excludes each other are commits, each of
// which has a name (kv.CommitID). A shard promises or decides one commit of an id at a time, and
// when one has committed refuses the others for good. So of two commits that have a shard in
// common one is made. A vote, a promise, a decision and an acknowledgement count for the commit
// that they name, and for no other: they say nothing of what another commit has asked for.

// hasCommitted reports whether the shard has committed a transaction, or applied it. It did so by
// another commit than the one at hand, or that one is a late copy.
func (p *Parts) hasCommitted(txn kv.TxnRef, applied, committed uint32) bool {
	own := applied == txn.Attempt || committed == txn.Attempt
	switch {
	case own && p.Mutants.Has(mutant.AppliedForgotten), !own && p.Mutants.Has(mutant.AttemptsApart):
		return false
	}
	return applied|committed != 0
}

// overtaken is the failure of a commit of an id that has committed: then the operations were these,
// or the id was used again for others. A fingerprint of 0 is not known.
func overtaken(committed, own uint64) *msg.Failure {
	if differ(committed, own) {
		f := msg.Fail(msg.ReasonRequest, kv.KindInvalid,
			"the id belongs to another transaction, which has committed with different operations")
		f.Hint = "use a new id for each transaction; reuse an id only with the same operations"
		return f
	}
	return msg.Fail(msg.ReasonCommitted, kv.KindOutcomeUnknown, "another attempt of the transaction has committed; query its outcome")
}

// differ reports whether two fingerprints are known to be of different operations.
func differ(a, b uint64) bool { return a != 0 && b != 0 && a != b }

// commitIDOf is the name of a commit from a row. Rows that were written before format 3 have the
// gateway alone.
func commitIDOf(id kv.CommitID, gateway kv.NodeID) kv.CommitID {
	if id == (kv.CommitID{}) {
		id.Gateway = gateway
	}
	return id
}

// rival is the failure of what comes while another commit of the transaction is under way.
func rival() *msg.Failure {
	return msg.Fail(msg.ReasonRival, kv.KindAborted, "another commit of the transaction is in flight")
}

// isRival reports whether a record is of another commit of its attempt.
func (l *LastAgent) isRival(rec *record.Record, commit kv.CommitID) bool {
	return rec != nil && rec.CommitID != commit && !l.Mutants.Has(mutant.VoteOfAnyCommit)
}

// isForOther reports whether an attempt, which may be nil, prepares or has promised another commit.
func (p *Participant) isForOther(a *attempt, commit kv.CommitID) bool {
	return a.isForOther(commit) && !p.Mutants.Has(mutant.PromiseOfAnyCommit)
}

// decidedElsewhere reports whether the shard takes part in another commit of the attempt. Then it
// does not decide this one.
func (p *Participant) decidedElsewhere(txn kv.TxnRef, commit kv.CommitID) bool {
	return p.attempts.of[txn].isForOther(commit) && !p.Mutants.Has(mutant.LastAgentsApart)
}

// decidedHere reports whether the shard is to decide another commit of the attempt. Then it does
// not promise this one.
func (p *Parts) decidedHere(txn kv.TxnRef, commit kv.CommitID) bool {
	rec := p.Records.Get(txn)
	return rec != nil && rec.CommitID != commit && !p.Mutants.Has(mutant.LastAgentsApart)
}

// rivals tells why an attempt cannot promise or commit now: because another one has promised to, and
// its decision has not come. It is nil if it can. That none has committed need not be asked: a piece is
// not taken up after a commit of its id, and Overtake ends those that are here before anything else is
// done (Check holds that).
func (p *Participant) rivals(txn kv.TxnRef) *msg.Failure {
	if p.attempts.rivalOf(txn) && !p.Mutants.Has(mutant.AttemptsApart) {
		return rival()
	}
	return nil
}

// refuseToDecide closes a commit while another one of the attempt is undecided here. Its late copies
// find it dead, whatever becomes of the other.
func (l *LastAgent) refuseToDecide(user kv.Account, commit kv.CommitID) *msg.Failure {
	f := rival()
	if !l.Mutants.Has(mutant.RivalNotKilled) {
		l.Outcomes.Kill(user, commit, f)
	}
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
			l.abort(rec, overtaken(0, 0))
		}
	}
	l.part.overtake(txn)
}

// overtake ends the other attempts that are about to prepare.
func (p *Participant) overtake(txn kv.TxnRef) {
	for _, a := range p.attempts.others(txn) {
		if a.preparing != nil {
			p.voteNo(a.preparing, overtaken(0, 0))
		}
	}
}
