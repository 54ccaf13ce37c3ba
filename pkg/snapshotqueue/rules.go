package snapshotqueue

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// isNewestEpoch reports whether an epoch is the one that an update was sealed with last. Otherwise:
//
//	A sealed 1.1; unseal request; its response is delayed, and a duplicate is in flight
//	response: A held; the reader deregisters: A sealed 1.2, votes
//	duplicate for 1.1: A held again, reader S does not wait
//	the last agent counts 1.2 and commits: S has missed A
func (q *clock) isNewestEpoch(u *update, epoch kv.Epoch) bool {
	return epoch == u.epoch || q.opt.Mutants.Has(mutant.UnsealedEpochIgnored)
}

// newEpoch makes an epoch with a number that is new in this incarnation. Epochs are never reused, so a late unseal
// response cannot match a later sealing.
//
// Example of a reuse. A is sealed with 1.1, unsealed, held, and sealed again as 1.1. The late copy of the first
// unseal request makes the last agent drop 1.1: the participant's newest vote never counts.
func (q *clock) newEpoch(number uint64) kv.Epoch {
	if q.opt.Mutants.Has(mutant.EpochsRestart) {
		return kv.Epoch{Incarnation: 1, Count: number}
	}
	return kv.Epoch{Incarnation: q.opt.Incarnation, Count: number}
}

// inheritTimeBlocked counts the time for which an update has been blocked on other shards: otherwise readers that
// alternate between its shards could block it for ever.
func (q *clock) inheritTimeBlocked(u *update, age int64) {
	if age > 0 && !q.opt.Mutants.Has(mutant.TimeBlockedNotInherited) {
		u.blockedSince = min(u.blockedSince, q.now-age)
	}
}

// keepRecovered leaves an update in the state Recovered until the leases of earlier incarnations have ended. It is
// neither treated as held nor as sealed (Recover).
func (q *Queue) keepRecovered(u *update) {
	if q.opt.Mutants.Has(mutant.RecoveredHeldToReaders) {
		q.setState(u, Held)
	}
	if q.opt.Mutants.Has(mutant.RecoveredSealedToLast) {
		q.seal(u)
	}
	q.scheduleSealing()
}

// awaitsEarlierLeases reports whether nothing may seal, or no piece may be decided, because a reader registered in an
// earlier incarnation may still rely on its lease.
//
//	incarnation 1    R registers for k with a lease until 100, and reads k here
//	incarnation 2    at 50 A is prepared, which changes k and x. R's registration is lost. If A sealed, it would be
//	                 decided, and R would read the new x on another shard.
//	at 100           R's gateway has stopped to rely on the lease: A seals
func (q *clock) awaitsEarlierLeases(now int64, piece bool) bool {
	ignores := !piece && q.opt.Mutants.Has(mutant.RestartSealsImmediately) ||
		piece && q.opt.Mutants.Has(mutant.RestartDecidesImmediately)
	return now < q.opt.SealFrom && !ignores
}

// earlierHorizon returns the end of the leases of earlier incarnations. An incarnation that crashes before it must
// report it to the next one, which would otherwise decide updates that their readers have missed.
func (q *clock) earlierHorizon() int64 {
	if q.opt.Mutants.Has(mutant.EarlierLeasesForgotten) {
		return 0
	}
	return q.opt.SealFrom
}

// isHeldByReader reports whether a registered reader does not commute with an update or a piece. If that were decided,
// the reader, which has read the old value here, could read the new one on another shard.
func (q *Queue) isHeldByReader(u *update) bool {
	ignored := u.piece && q.opt.Mutants.Has(mutant.ReadersIgnoredByLast) ||
		!u.piece && q.opt.Mutants.Has(mutant.ReadersIgnored)
	return !ignored && q.hasReader(u.needs, false)
}

// isClosing reports whether an update has been blocked for so long that the queues of the keys that it writes are
// closed. Its state does not matter: a sealed update that an unseal request makes held again is still blocked.
//
// Readers that need other keys of the shard are not refused. A refused reader reads at a snapshot, which needs no
// registration.
func (q *clock) isClosing(u *update) bool {
	ignored := u.state != Held && q.opt.Mutants.Has(mutant.ClosedWhenHeldOnly)
	return !ignored && q.timeBlocked(u) > int64(q.opt.CloseAfter)
}

// waitsOf returns the updates that a read waits for: all sealed ones that do not commute with it, since each may have
// been decided already.
func (q *clock) waitsOf(r *Read, sealed []*update) []*update {
	if q.opt.Mutants.Has(mutant.SealedIgnored) || r.WholeShard && q.opt.Mutants.Has(mutant.RoundIgnoresSealed) {
		return nil
	}
	return sealed
}

// needsRegistration reports whether a read is registered when it is admitted: if it lasts, or has to wait. Updates that
// are prepared during its wait could otherwise be decided after those that it waits for, and it would return values of
// different instants.
func (q *clock) needsRegistration(r *Read, wait bool) bool {
	if q.opt.Mutants.Has(mutant.NoRegistration) || wait && q.opt.Mutants.Has(mutant.RegisteredAfterWait) {
		return false
	}
	return r.Lasting || r.UntilDone || wait && !q.opt.Mutants.Has(mutant.NoRegistrationForWait)
}

// setReady ends the wait of a read, whose reader has been registered since the read was admitted.
func (q *Queue) setReady(r *Read) {
	if r.Lasting && q.opt.Mutants.Has(mutant.RegisteredAfterWait) {
		q.register(r)
	}
	r.state, r.waited = readReady, q.now-r.since
}

// canRevive reports whether an expired lease can be renewed: never, because an update may have been decided since.
func (q *clock) canRevive() bool { return q.opt.Mutants.Has(mutant.LeaseRevived) }
