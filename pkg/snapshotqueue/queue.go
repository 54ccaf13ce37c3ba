package snapshotqueue

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Queue contains the snapshot-queues of one shard. Use New to make one. Its methods are not for concurrent use.
//
// Invariants, verified by Check:
//  1. A sealed update has an epoch of this incarnation, and no two updates share one.
//  2. A registered reader that conflicts with a sealed update waits for it.
//  3. A held update or piece conflicts with a registered reader, or the shard may not seal yet, or Changes has not
//     been called since.
//  4. The reader of a waiting read is registered.
type Queue struct {
	clock
	updateTable
	readerTable
	index
	// count is the number of the last epoch.
	count        uint64
	waitingReads []*Read // in the order of arrival
	changes      Changes
	due          int64
	ticks        uint64
	counters     Counters
}

// clock is the time of the current call, and what depends on it.
type clock struct {
	opt Options
	now int64
}

// updateTable has the prepared updates and the pieces.
type updateTable struct {
	updates map[kv.TxnRef]*update
	// held counts those that are held.
	held int
}

// readerTable has the registered readers and their leases.
type readerTable struct {
	readers map[kv.TxnRef]*reader
	leases  leases
}

func (q *updateTable) sortedUpdates() []*update {
	out := make([]*update, 0, len(q.updates))
	for _, u := range q.updates {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *update) int { return a.txn.CompareAge(b.txn) })
	return out
}

func (q *readerTable) sortedReaders() []*reader {
	out := make([]*reader, 0, len(q.readers))
	for _, rd := range q.readers {
		out = append(out, rd)
	}
	slices.SortFunc(out, func(a, b *reader) int { return a.id.CompareAge(b.id) })
	return out
}

// never is later than every time.
const never = int64(math.MaxInt64)

// update is a prepared update of a participant, or a piece that waits to be decided by this shard.
type update struct {
	txn   kv.TxnRef
	needs []Need
	state State
	epoch kv.Epoch
	// piece: this shard is the last agent and decides it in one step.
	piece     bool
	heldSince int64
	// blockedSince is the begin of its time blocked; never, if no reader has held it.
	blockedSince int64
	// heldNanos is the duration of earlier periods in which it was held. heldKey is a key with a registered reader
	// at the last time it became held.
	heldNanos int64
	heldKey   []byte
	// heldByRound: the registered readers of heldKey were snapshot rounds.
	heldByRound bool
	// listedIn is the last listing that contains it, requestedIn the last Tick that requested its unsealing.
	listedIn, requestedIn uint64
	waiting               []*Read
}

// reader is a registered reader with the union of its reads on this shard.
type reader struct {
	id    kv.TxnRef
	needs []Need
	until int64
	// lasting: registered until it deregisters; otherwise while it has reads in flight.
	lasting bool
	// sameProcess is Read.SameProcess.
	sameProcess bool
	// whole: all its reads are of snapshot rounds.
	whole bool
	// countedIn is the last listing of WaiterCount that counted it.
	countedIn uint64
	reads     []*Read
}

// Changes are the events since the last call of Queue.Changes.
type Changes struct {
	// Ready are reads that no longer wait.
	Ready []*Read
	// Sealed are updates that have sealed and vote again.
	Sealed []kv.TxnRef
	// Free are pieces that no reader holds any longer. They remain here in state Unheld.
	Free []FreedPiece
	// Expired are reads whose registration expired before Done. They have ended.
	Expired []*Read
}

// Empty reports whether there are no events.
func (c *Changes) Empty() bool {
	return len(c.Ready)+len(c.Sealed)+len(c.Free)+len(c.Expired) == 0
}

// New makes the queues of a shard for a new incarnation.
func New(opt Options) *Queue {
	return &Queue{
		clock:       clock{opt: opt.withDefaults()},
		updateTable: updateTable{updates: map[kv.TxnRef]*update{}},
		readerTable: readerTable{readers: map[kv.TxnRef]*reader{}},
		index:       index{points: map[string]*point{}},
		due:         never,
	}
}

// SealFrom is the time from which on updates may seal.
func (q *Queue) SealFrom() int64 { return q.opt.SealFrom }

// SetUnsealAfter replaces Options.UnsealAfter.
func (q *Queue) SetUnsealAfter(d time.Duration) { q.opt.UnsealAfter = d }

// Counters returns the counters.
func (q *Queue) Counters() Counters { return q.counters }

// Len is the number of prepared updates and of pieces, unheld ones included.
func (q *updateTable) Len() int { return len(q.updates) }

// HeldCount is the number of updates and pieces that are held.
func (q *updateTable) HeldCount() int { return q.held }

// setState changes the state and counts held updates.
func (q *updateTable) setState(u *update, to State) {
	if u.state == Held {
		q.held--
	}
	u.state = to
	if to == Held {
		q.held++
	}
}

// PieceCount is the number of pieces, unheld ones included.
func (q *updateTable) PieceCount() (n int) {
	for _, u := range q.updates {
		if u.piece {
			n++
		}
	}
	return n
}

// HasNoReaders reports whether nothing can be held at the moment: no reader is registered, and no earlier lease is
// left.
//
// Most decisions find no reader: they need neither compute their changes nor look for conflicts.
func (q *Queue) HasNoReaders(now int64) bool {
	return len(q.readers) == 0 && !q.awaitsEarlierLeases(now, true)
}

// IsRegistered reports whether a reader is registered beyond a single read.
func (q *readerTable) IsRegistered(id kv.TxnRef) bool {
	return q.readers[id] != nil && q.readers[id].lasting
}

// ReaderCount is the number of registered readers.
func (q *readerTable) ReaderCount() int { return len(q.readers) }

// Changes returns the events since the last call.
//
// The caller acts on them, which may cause further ones, and calls it until it returns none.
func (q *Queue) Changes() Changes {
	c := q.changes
	q.changes = Changes{}
	// A ready read may have been given up, or its registration may have expired, before this call.
	c.Ready = slices.DeleteFunc(c.Ready, func(r *Read) bool { return r.state != readReady })
	return c
}

// Recover adds an update that was prepared in an earlier incarnation.
//
// It may have been sealed, and readers of the earlier incarnation may be protected by their leases. So it is neither
// treated as held nor as sealed:
//
//	as held      its sealed vote is in flight, and reader R does not wait for it. R reads the old value here; the last
//	             agent counts the vote and commits; R reads the new value on another shard.
//	as sealed    R has registered in the earlier incarnation and read the old value here. A vote of this incarnation
//	             lets the update commit before R's lease has ended, and R reads the new value on another shard.
func (q *Queue) Recover(now int64, txn kv.TxnRef, needs []Need) {
	q.now = max(q.now, now)
	u := q.addUpdate(&update{txn: txn, needs: needs, heldSince: q.now, blockedSince: never, state: Recovered,
		epoch: kv.Epoch{Incarnation: q.opt.Incarnation}})
	if q.isFree(u) {
		q.seal(u)
		return
	}
	q.keepRecovered(u)
}

// State returns the state and epoch of an update. An unknown update is reported as held: the last agent must not
// count a vote for it as sealed.
//
// A vote carries both. One without an epoch is not counted, but says that the update is prepared.
func (q *updateTable) State(txn kv.TxnRef) (State, kv.Epoch) {
	u := q.updates[txn]
	switch {
	case u == nil || u.piece:
		return Held, kv.Epoch{}
	case u.state == Sealed:
		return Sealed, u.epoch
	}
	return u.state, kv.Epoch{}
}

// AwaitVotes makes a held piece Unheld because it waits for votes again: a participant's epoch was dropped. Its time
// blocked continues.
//
// History: all votes of A are in, and A's piece is held here by R. Participant P unseals for S, so its vote does not
// count any more. R deregisters: without this call, Changes would report A as free, and the shard would decide it
// without P's vote.
func (q *Queue) AwaitVotes(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil && u.piece && u.state == Held {
		q.addHeldTime(u)
		q.setState(u, Unheld)
	}
}

// Withdraw removes a piece that is decided or aborted.
// Reads never wait for a piece, so there are no waits to end.
func (q *Queue) Withdraw(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || !u.piece {
		return
	}
	if u.state == Held {
		q.addHeldTime(u)
	}
	q.removeUpdate(u)
}

// Decided removes a prepared update after its decision, commit or abort.
//
// Reads that waited for it are ready if they wait for no other. They read the visible values afterwards: the caller
// has made the update visible, if it has committed, before this call.
func (q *Queue) Decided(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || u.piece {
		return
	}
	if u.state == Held {
		q.addHeldTime(u)
	}
	q.removeUpdate(u)
	q.endWaits(u)
}

// Unsealed handles the response of the last agent: it has dropped all epochs of the update up to this one. age is the
// time blocked at the last agent, in nanoseconds, or 0. A response for another than the current epoch is ignored: the
// last agent may count the later vote already.
//
// The update may seal again in this step, with a new epoch, if the reader that has caused the request has left
// meanwhile.
func (q *Queue) Unsealed(now int64, txn kv.TxnRef, epoch kv.Epoch, age int64) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || u.piece || u.state == Held || !q.isNewestEpoch(u, epoch) {
		return
	}
	q.counters.Unseals++
	q.setState(u, Held)
	u.heldSince = q.now
	q.inheritTimeBlocked(u, age)
	q.endWaits(u)
	q.reevaluate(u)
	if u.state == Held {
		q.onHeld(u)
	}
}

// endWaits ends the waits of reads for an update.
func (q *Queue) endWaits(u *update) {
	for _, r := range u.waiting {
		r.waits = slices.DeleteFunc(r.waits, func(w *update) bool { return w == u })
		r.lastWait = u
		if r.state == readWaiting && len(r.waits) == 0 {
			q.finishWait(r)
		}
	}
	u.waiting = nil
}

// addUpdate adds an update or a piece. An earlier one of the transaction is removed: it was of another call of Hold, or
// of a commit that this one replaces.
func (q *Queue) addUpdate(u *update) *update {
	if old := q.updates[u.txn]; old != nil {
		q.removeUpdate(old)
		q.endWaits(old)
	}
	q.updates[u.txn] = u
	if u.state == Held {
		q.held++
	}
	q.index.addUpdate(u)
	return u
}

// removeUpdate removes an update or a piece, and not the waits for it (endWaits).
func (q *Queue) removeUpdate(u *update) {
	delete(q.updates, u.txn)
	if u.state == Held {
		q.held--
	}
	q.index.removeUpdate(u)
}
