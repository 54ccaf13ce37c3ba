package consensus

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rules are those that tests break on purpose, to show that they find it.
type rules struct{ broken mutant.Set }

// endsLeaseAtTransfer: a leader that transfers leadership has no lease any more (R5.1).
func (u rules) endsLeaseAtTransfer() bool { return !u.broken.Has(mutant.ServesAfterTransfer) }

// lessMargin is what a promise of another clock counts by this one (R3.5).
func (u rules) lessMargin(t time.Duration) int64 {
	if u.broken.Has(mutant.LeaderLeaseWithoutMargin) {
		return int64(t)
	}
	return int64(t) * 9 / 10
}

// countedFrom: a lease counts from the time of sending, not from that of the response (R3.5).
func (u rules) countedFrom(sent, now int64) int64 {
	if u.broken.Has(mutant.LeaderLeaseFromResponse) {
		return now
	}
	return sent
}

// remembersStart: after a restart, promises that are forgotten are kept (R3.2).
func (u rules) remembersStart() bool { return !u.broken.Has(mutant.PromiseLostAtRestart) }

// acknowledgesEarly: what depends on a write waits for it (R2.3).
func (u rules) acknowledgesEarly() bool { return u.broken.Has(mutant.AcknowledgedBeforeDisk) }

// bindsLeader: a leader's lease binds it as a voter (R3.3).
func (u rules) bindsLeader() bool { return !u.broken.Has(mutant.OwnLeaseForgotten) }

// needsLease: only a lease shows that no other replica leads (R3.6).
func (u rules) needsLease() bool { return !u.broken.Has(mutant.LeaderLeaseIgnored) }

// comparesLogs: a vote is for a log that is at least as complete (Raft, section 5.4).
func (u rules) comparesLogs() bool { return !u.broken.Has(mutant.VotesForShorterLog) }

// beginsWithTermEntry: a leader begins when its term entry is applied (R4.1).
func (u rules) beginsWithTermEntry() bool { return !u.broken.Has(mutant.BeginsEarly) }

// termEntryEndsWindow: the window of a transfer entry stays when a leader is elected (R5.5).
func (u rules) termEntryEndsWindow() bool { return u.broken.Has(mutant.WindowEndsWithTermEntry) }

// isBound reports whether promises forbid a vote for a replica (R3.1).
func (r *Replica) isBound(candidate ReplicaID) bool {
	broken := r.rules.broken
	if broken.Has(mutant.VotesDespitePromise) ||
		broken.Has(mutant.VotesForLeadersNode) && (candidate == r.accepted.from || r.promise.ownTerm != 0) {
		return false
	}
	return r.now < r.promise.ends()
}

// windowOfLease is how long registrations may be valid that this leader has granted (R5.2).
func (r *Replica) windowOfLease() int64 {
	if r.rules.broken.Has(mutant.TransferWithoutWindow) {
		return 0
	}
	return r.lease.longest - r.now
}

// windowLeft is what is left of the time in which registrations by the leader before may be valid (R5.2).
func (r *Replica) windowLeft() int64 {
	if r.rules.broken.Has(mutant.PreviousWindowForgotten) {
		return 0
	}
	return max(r.wait-r.now, 0)
}
