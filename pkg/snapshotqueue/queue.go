package snapshotqueue

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Queue is the snapshot-queues of one shard. The zero Queue is not usable; see
// New. Its methods are not for concurrent use.
//
// Invariants (Check tells which is broken):
//  1. a sealed update has an epoch of this incarnation, and no two share one;
//  2. no registered reader conflicts with a sealed update, but those that wait
//     for it;
//  3. a held update, or piece, conflicts with a registered reader, or nothing
//     may seal yet, or Changes has not been drained;
//  4. every waiting read is registered.
type Queue struct {
	opt     Options
	now     int64
	count   uint64
	updates map[kv.TxnRef]*update
	readers map[kv.TxnRef]*reader
	points  map[string]*point
	// ranged are the updates and readers with a range among their needs.
	rangedUpdates []*update
	rangedReaders []*reader
	reads         []*Read // waiting, in the order of arrival
	changes       Changes
	due           int64
	lists, ticks  uint64
	counters      Counters
	// held counts the updates and pieces that are held.
	held   int
	leases leases
}

// never is a time that does not come.
const never = int64(math.MaxInt64)

// point is a key that somebody needs.
type point struct {
	updates []*update
	readers []*reader
}

// update is a prepared update, or a piece that waits to be decided here.
type update struct {
	txn   kv.TxnRef
	needs []Need
	state State
	epoch kv.Epoch
	// piece: to be decided on this shard, in one step.
	piece     bool
	heldSince int64
	// aged is when its held age began, never if no reader has held it.
	aged int64
	// held is for how long it was held before, heldKey a key of it for which
	// somebody was registered when it was last found held.
	held    int64
	heldKey []byte
	// heldByRound: the readers of heldKey were rounds.
	heldByRound bool
	// seen marks what conflicting has listed already, asked what Tick has.
	seen, asked uint64
	waiting     []*Read
}

// reader is a registered reader with all that it has read on this shard.
type reader struct {
	id    kv.TxnRef
	needs []Need
	until int64
	// lasting: until it leaves; else while there are reads under way.
	lasting bool
	// endsHere is as in Read.
	endsHere bool
	// whole: all its reads are of rounds.
	whole bool
	// seen marks what WaitingFor has counted already.
	seen  uint64
	reads []*Read
}

// Changes are what has become possible.
type Changes struct {
	// Ready are reads whose wait is over.
	Ready []*Read
	// Sealed are updates that have just sealed and vote anew.
	Sealed []kv.TxnRef
	// Free are pieces that no reader holds any more. They stay here, unheld.
	Free []Freed
	// Lapsed are reads that waited for longer than their registration lasted.
	// They are over.
	Lapsed []*Read
}

// Empty reports whether there are none.
func (c *Changes) Empty() bool {
	return len(c.Ready)+len(c.Sealed)+len(c.Free)+len(c.Lapsed) == 0
}

// New makes the queues of a shard in a new incarnation.
func New(opt Options) *Queue {
	return &Queue{opt: opt.withDefaults(), updates: map[kv.TxnRef]*update{}, readers: map[kv.TxnRef]*reader{},
		points: map[string]*point{}, due: never}
}

// SealFrom is when updates may seal.
func (q *Queue) SealFrom() int64 { return q.opt.SealFrom }

// SetUnsealAfter replaces Options.UnsealAfter.
func (q *Queue) SetUnsealAfter(d time.Duration) { q.opt.UnsealAfter = d }

// Counters tells what the queues did so far.
func (q *Queue) Counters() Counters { return q.counters }

// Len is the number of prepared updates and of pieces of last agents that are known here,
// whether they wait or not (Unheld).
func (q *Queue) Len() int { return len(q.updates) }

// Held is the number of updates and pieces that are held back.
func (q *Queue) Held() int { return q.held }

// WaitingFor is the number of updates that change a key and are held, and of
// reads of it that wait for updates to be decided, ranges apart.
func (q *Queue) WaitingFor(key []byte) (n int) {
	p := q.points[string(key)]
	if p == nil {
		return 0
	}
	q.lists++
	for _, u := range p.updates { // one that needs the key in two modes is there twice
		if u.state == Held && u.seen != q.lists {
			u.seen = q.lists
			n++
		}
	}
	for _, rd := range p.readers { // and so is a reader
		if rd.seen == q.lists {
			continue
		}
		rd.seen = q.lists
		for _, r := range rd.reads {
			if r.state == readWaiting && r.reads(key) {
				n++
			}
		}
	}
	return n
}

// reads reports whether a read is of a key itself.
func (r *Read) reads(key []byte) bool {
	return slices.ContainsFunc(r.Needs, func(n Need) bool { return n.Span.IsPoint() && string(n.Span.Start) == string(key) })
}

// turn changes where an update stands.
func (q *Queue) turn(u *update, to State) {
	if u.state == Held {
		q.held--
	}
	u.state = to
	if to == Held {
		q.held++
	}
}

// Pieces is the number of pieces that are known here, whether they wait or not (Unheld).
func (q *Queue) Pieces() (n int) {
	for _, u := range q.updates {
		if u.piece {
			n++
		}
	}
	return n
}

// Open reports whether nobody can be held at the moment: there is no reader.
func (q *Queue) Open(now int64) bool {
	return len(q.readers) == 0 && !q.waitsForLast(now, true)
}

// Registered reports whether a reader is registered for longer than a read.
func (q *Queue) Registered(id kv.TxnRef) bool { return q.readers[id] != nil && q.readers[id].lasting }

// Readers is the number of registered readers.
func (q *Queue) Readers() int { return len(q.readers) }

// Changes drains what has become possible since the last call.
func (q *Queue) Changes() Changes {
	c := q.changes
	q.changes = Changes{}
	c.Ready = slices.DeleteFunc(c.Ready, func(r *Read) bool { return r.state != readReady }) // given up since
	return c
}

// Prepared enters a prepared update with what it changes. It seals if nothing
// holds it; State tells. One that is here already stays as it is.
func (q *Queue) Prepared(now int64, txn kv.TxnRef, needs []Need) {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil && !u.piece {
		return
	}
	u := q.enter(&update{txn: txn, needs: needs, heldSince: q.now, aged: never})
	if q.free(u) {
		q.seal(u)
		return
	}
	q.isHeld(u)
	q.dueToSeal()
}

// dueToSeal has a new life seal what it may not seal yet.
func (q *Queue) dueToSeal() {
	if q.now < q.opt.SealFrom {
		q.due = min(q.due, q.opt.SealFrom)
	}
}

// Recover enters an update that was prepared in an earlier life.
func (q *Queue) Recover(now int64, txn kv.TxnRef, needs []Need) {
	q.now = max(q.now, now)
	u := q.enter(&update{txn: txn, needs: needs, heldSince: q.now, aged: never, state: Recovered, epoch: kv.Epoch{Incarnation: q.opt.Incarnation}})
	if q.free(u) {
		q.seal(u)
		return
	}
	if q.opt.Mutants.Has(mutant.RecoveredHeldToReaders) {
		q.turn(u, Held)
	}
	if q.opt.Mutants.Has(mutant.RecoveredSealedToLast) {
		q.seal(u)
	}
	q.dueToSeal()
}

// State is where an update stands. What is not known here is held: nothing
// that is not known may be counted as sealed.
func (q *Queue) State(txn kv.TxnRef) (State, kv.Epoch) {
	u := q.updates[txn]
	switch {
	case u == nil || u.piece:
		return Held, kv.Epoch{}
	case u.state == Sealed:
		return Sealed, u.epoch
	}
	return u.state, kv.Epoch{}
}

// Hold reports whether a piece must wait for readers before it is decided. If
// so it is entered, until Changes says that it is free. From then on it is here,
// unheld, until Withdraw, and may come again with other needs. A piece that
// changes nothing here is never held.
func (q *Queue) Hold(now int64, txn kv.TxnRef, needs []Need) bool {
	q.now = max(q.now, now)
	u := q.updates[txn]
	switch {
	case len(needs) == 0:
		return false
	case u != nil && (u.state == Held || !u.piece):
		return true
	case u == nil:
		u = &update{txn: txn, aged: never}
	}
	next := &update{txn: txn, needs: needs, piece: true, heldSince: q.now, aged: u.aged, held: u.held, heldKey: u.heldKey, heldByRound: u.heldByRound}
	if q.free(next) {
		return false
	}
	q.enter(next)
	q.isHeld(next)
	q.dueToSeal()
	return true
}

// Unready has a piece that waits here wait for votes anew. Its age goes on.
func (q *Queue) Unready(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil && u.piece && u.state == Held {
		q.freed(u)
		q.turn(u, Unheld)
	}
}

// Withdraw takes a piece out that is decided, or given up.
func (q *Queue) Withdraw(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || !u.piece {
		return
	}
	if u.state == Held {
		q.freed(u)
	}
	q.remove(u)
}

// Decided takes a prepared update out, whatever the decision was.
func (q *Queue) Decided(now int64, txn kv.TxnRef) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || u.piece {
		return
	}
	if u.state == Held {
		q.freed(u)
	}
	q.remove(u)
	q.letGo(u)
}

// Unsealed says that no epoch of an update up to this one counts any more, and how
// old, in nanoseconds, it is as held at its last agent, 0 for not. An answer for an
// epoch that is not its current one means nothing.
func (q *Queue) Unsealed(now int64, txn kv.TxnRef, epoch kv.Epoch, age int64) {
	q.now = max(q.now, now)
	u := q.updates[txn]
	if u == nil || u.piece || u.state == Held {
		return
	}
	if epoch != u.epoch && !q.opt.Mutants.Has(mutant.UnsealedEpochIgnored) {
		return
	}
	q.counters.Unseals++
	q.turn(u, Held)
	u.heldSince = q.now
	if age > 0 && !q.opt.Mutants.Has(mutant.HeldAgeNotInherited) {
		u.aged = min(u.aged, q.now-age)
	}
	q.letGo(u)
	q.retry(u)
	if u.state == Held {
		q.isHeld(u)
	}
}

// letGo ends the waits for an update.
func (q *Queue) letGo(u *update) {
	for _, r := range u.waiting {
		r.waits = slices.DeleteFunc(r.waits, func(w *update) bool { return w == u })
		r.by = u
		if r.state == readWaiting && len(r.waits) == 0 {
			q.ready(r)
		}
	}
	u.waiting = nil
}

// waitsForLast reports whether nothing may be sealed, or no piece decided, since readers
// of the last life may be about.
func (q *Queue) waitsForLast(now int64, piece bool) bool {
	broken := mutant.RestartSealsAtOnce
	if piece {
		broken = mutant.RestartDecidesAtOnce
	}
	return now < q.opt.SealFrom && !q.opt.Mutants.Has(broken)
}

// free reports whether nobody holds an update.
func (q *Queue) free(u *update) bool {
	if len(u.needs) == 0 {
		return true
	}
	if q.waitsForLast(q.now, u.piece) {
		return false
	}
	if q.opt.Mutants.Has(mutant.ReadersIgnoredByLast) && u.piece || q.opt.Mutants.Has(mutant.ReadersIgnored) && !u.piece {
		return true
	}
	return !q.anyReader(u.needs, false)
}

// retry seals an update, or frees a piece, that nobody holds any more.
func (q *Queue) retry(u *update) {
	if u.state == Sealed || u.state == Unheld || !q.free(u) {
		return
	}
	if !u.piece {
		q.seal(u)
		q.changes.Sealed = append(q.changes.Sealed, u.txn)
		return
	}
	q.freed(u)
	q.turn(u, Unheld)
	q.changes.Free = append(q.changes.Free, Freed{u.txn, u.held, u.heldKey, u.receipt(u.held)})
}

// seal gives an update an epoch of its own.
func (q *Queue) seal(u *update) {
	q.freed(u)
	q.count++
	q.turn(u, Sealed)
	u.epoch = kv.Epoch{Incarnation: q.opt.Incarnation, Count: q.count}
	if q.opt.Mutants.Has(mutant.EpochsRestart) {
		u.epoch.Incarnation = 1
	}
}

func (q *Queue) enter(u *update) *update {
	if old := q.updates[u.txn]; old != nil {
		q.remove(old)
		q.letGo(old)
	}
	q.updates[u.txn] = u
	if u.state == Held {
		q.held++
	}
	ranged := false
	for i := range u.needs {
		if u.needs[i].Span.IsPoint() {
			p := q.point(u.needs[i].Span.Start)
			p.updates = append(p.updates, u)
		} else {
			ranged = true
		}
	}
	if ranged {
		q.rangedUpdates = append(q.rangedUpdates, u)
	}
	return u
}

func (q *Queue) remove(u *update) {
	delete(q.updates, u.txn)
	if u.state == Held {
		q.held--
	}
	for i := range u.needs {
		if u.needs[i].Span.IsPoint() {
			key := u.needs[i].Span.Start
			if p := q.points[string(key)]; p != nil {
				p.updates = slices.DeleteFunc(p.updates, func(x *update) bool { return x == u })
				q.tidy(key, p)
			}
		}
	}
	q.rangedUpdates = slices.DeleteFunc(q.rangedUpdates, func(x *update) bool { return x == u })
}

func (q *Queue) point(key []byte) *point {
	p := q.points[string(key)]
	if p == nil {
		p = &point{}
		q.points[string(key)] = p
	}
	return p
}

func (q *Queue) tidy(key []byte, p *point) {
	if len(p.updates)+len(p.readers) == 0 {
		delete(q.points, string(key))
	}
}
