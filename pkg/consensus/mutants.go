package consensus

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// What follows is the rules that tests break on purpose, to show that they find it.

// hasGivenUp: a leader that transfers leadership has no lease any more (R5.1).
func (r *Replica) hasGivenUp() bool {
	return r.transfer.entry != 0 && !r.cfg.Mutants.Has(mutant.ServesAfterTransfer)
}

// lessMargin is what a promise of another clock counts by this one.
func (r *Replica) lessMargin(t time.Duration) int64 {
	if r.cfg.Mutants.Has(mutant.LeaderLeaseWithoutMargin) {
		return int64(t)
	}
	return margin(t)
}

// countedFrom: a lease counts from the time of sending (R3.5).
func (r *Replica) countedFrom(sent int64) int64 {
	if r.cfg.Mutants.Has(mutant.LeaderLeaseFromResponse) {
		return r.now
	}
	return sent
}

// isBound reports whether promises forbid a vote for a replica (R3.1).
func (r *Replica) isBound(candidate ReplicaID) bool {
	if r.cfg.Mutants.Has(mutant.VotesDespitePromise) ||
		r.cfg.Mutants.Has(mutant.VotesForLeadersNode) && (candidate == r.accepted.from || r.promise.ownTerm != 0) {
		return false
	}
	return r.now < r.promise.ends()
}

// remembersStart: after a restart, forgotten promises are kept (R3.2).
func (r *Replica) remembersStart() bool { return !r.cfg.Mutants.Has(mutant.PromiseLostAtRestart) }

// acknowledgesEarly: what depends on a write waits for it (R2.3).
func (r *Replica) acknowledgesEarly() bool { return r.cfg.Mutants.Has(mutant.AcknowledgedBeforeDisk) }

// boundBySelf: a leader's lease binds the leader as a voter (R3.3).
func (r *Replica) boundBySelf() bool { return !r.cfg.Mutants.Has(mutant.OwnLeaseForgotten) }

// servesWithoutLease: only a lease shows that no other replica leads (R3.6).
func (r *Replica) servesWithoutLease() bool { return r.cfg.Mutants.Has(mutant.LeaderLeaseIgnored) }

// windowOfLease is how long registrations may be valid that this leader has granted (R5.2).
func (r *Replica) windowOfLease() int64 {
	if r.cfg.Mutants.Has(mutant.TransferWithoutWindow) {
		return 0
	}
	return r.lease.longest - r.now
}

// windowLeft is what is left of the time in which the leader before may have registered readers (R5.2).
func (r *Replica) windowLeft() int64 {
	if r.cfg.Mutants.Has(mutant.PreviousWindowForgotten) {
		return 0
	}
	return max(r.wait-r.now, 0)
}

// comparesLogs: a vote is for a log that is at least as complete (Raft, section 5.4).
func (r *Replica) comparesLogs() bool { return !r.cfg.Mutants.Has(mutant.VotesForShorterLog) }

// beginsWithTermEntry: a leader begins when its term entry is applied (R4.1).
func (r *Replica) beginsWithTermEntry() bool { return !r.cfg.Mutants.Has(mutant.BeginsEarly) }

// termEntryEndsWindow: the window of a transfer entry stays when a leader is elected.
func (r *Replica) termEntryEndsWindow() bool {
	return r.cfg.Mutants.Has(mutant.WindowEndsWithTermEntry)
}
