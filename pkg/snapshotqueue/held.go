package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Where updates and pieces wait: they enter by Prepared and Hold, and leave by reevaluate. How long they are held is in
// blocked.go; which readers hold them, in rules.go (isHeldByReader).

// Prepared adds a prepared update with its changes. It seals at once unless it is held; State returns which. An
// update that is already here does not change.
//
// Example. R is registered for a read of k. A changes k and B changes m; both are prepared afterwards.
//
//	A is held by R: it votes "held"     B has no reader: it is sealed with epoch 1.1, and votes "sealed 1.1"
//	R deregisters: A seals with epoch 1.2, and votes "sealed 1.2"
func (q *Queue) Prepared(now int64, txn kv.TxnRef, needs []Need) {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil && !u.piece {
		return
	}
	u := q.addUpdate(&update{txn: txn, needs: needs, heldSince: q.now, blockedSince: never})
	if q.isFree(u) {
		q.seal(u)
		return
	}
	q.onHeld(u)
	q.scheduleSealing()
}

// scheduleSealing makes Tick seal held updates when the leases of earlier incarnations have ended.
// Nothing else would seal them: no reader of an earlier incarnation deregisters here.
func (q *Queue) scheduleSealing() {
	if q.now < q.opt.SealFrom {
		q.due = min(q.due, q.opt.SealFrom)
	}
}

// Hold reports whether a piece must wait for readers before it is decided. If so, the piece is added, and Changes
// reports when it is free. From then on it stays in state Unheld until Withdraw, and Hold may be called again with
// other needs. A piece that changes nothing here is never held.
//
// Example. All participants of A have voted, and reader R is registered for k, which A changes on this shard, the last
// agent. Hold adds A in state held.
//
//	R deregisters              A is unheld, and Changes reports it: the shard decides A, or calls Hold again
//	a participant unseals      AwaitVotes: A is unheld and waits for the vote. When it has arrived, Hold is called
//	                           again. A new reader may have registered since: A is held again.
func (q *Queue) Hold(now int64, txn kv.TxnRef, needs []Need) bool {
	q.now = max(q.now, now)
	u := q.updates[txn]
	switch {
	case len(needs) == 0:
		return false
	case u != nil && (u.state == Held || !u.piece):
		// Held already; or a participant of an earlier commit of the id, whose decision is in flight.
		return true
	case u == nil:
		u = &update{txn: txn, blockedSince: never}
	}
	// What it was held for so far stays: the time blocked, and the receipt, are those of the transaction.
	next := &update{txn: txn, needs: needs, piece: true, heldSince: q.now,
		blockedSince: u.blockedSince, heldNanos: u.heldNanos, heldKey: u.heldKey, heldByRound: u.heldByRound}
	if q.isFree(next) {
		return false
	}
	q.addUpdate(next)
	q.onHeld(next)
	q.scheduleSealing()
	return true
}

// isFree reports whether nothing holds an update.
//
// For an update this decides whether it can be sealed, and for a piece whether it can be decided:
//
//	nothing is changed here                            free
//	leases of an earlier incarnation may be valid      held
//	a registered reader does not commute with it       held
func (q *Queue) isFree(u *update) bool {
	// An update that changes nothing here, but validates what it has read: readers cannot miss it.
	if len(u.needs) == 0 {
		return true
	}
	if q.awaitsEarlierLeases(q.now, u.piece) {
		return false
	}
	return !q.isHeldByReader(u)
}

// reevaluate seals an update, or frees a piece, that is not held any longer.
func (q *Queue) reevaluate(u *update) {
	// A recovered update seals here too: the epochs that it may have had are of an earlier incarnation.
	if u.state == Sealed || u.state == Unheld || !q.isFree(u) {
		return
	}
	if !u.piece {
		q.seal(u)
		q.changes.Sealed = append(q.changes.Sealed, u.txn)
		return
	}
	q.addHeldTime(u)
	q.setState(u, Unheld)
	q.changes.Free = append(q.changes.Free, FreedPiece{u.txn, u.heldNanos, u.heldKey, u.receipt(u.heldNanos)})
}

// seal seals an update with a new epoch.
func (q *Queue) seal(u *update) {
	q.addHeldTime(u)
	q.count++
	q.setState(u, Sealed)
	u.epoch = q.newEpoch(q.count)
}
