package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Waiter is a transaction that can wait for a state.
type Waiter interface {
	// Seat is the transaction's place at a round.
	Seat() *Seat
}

// Seat is what connects a transaction with a round: it waits for it, or reads at its state.
// The zero value is that of one that does neither.
type Seat struct {
	round   *Round
	waiting bool
}

// Waiting reports whether the transaction waits for a state.
func (s *Seat) Waiting() bool { return s.waiting }

// Reads reports whether the transaction reads at the state of a round.
func (s *Seat) Reads() bool { return s.round != nil && !s.waiting }

// State is a state of the whole store.
type State struct {
	// Name is under which the shards keep it.
	Name kv.TxnRef
	// At is the commit sequence number of every shard, Incs their incarnations.
	At   vclock.Clock
	Incs []kv.Incarnation
	// Fixed is when it was the current one, by Now of the hot shard, whose incarnation is Inc.
	Inc   kv.Incarnation
	Fixed int64
	// Receipt tells what the round waited for.
	Receipt msg.Receipt
}

// Round fixes one state.
type Round struct {
	State
	waiters []Waiter
	// users counts the transactions that read at it. When there are none the shards may
	// forget it.
	users int
	// lendings counts the users that are other machines.
	lendings int
	// renewAt is when the shards are told to keep the state for longer.
	renewAt int64
	// lent: it is of another machine's round, which keeps it.
	lent bool
}

// Rounds are the rounds of one machine.
type Rounds struct {
	env *env.Env
	// current is under way. next wait for the one after, which does not begin before from.
	current *Round
	next    []Waiter
	from    int64
	begun   uint64
	// kept are the rounds at whose states some transaction reads.
	kept []*Round
	// borrowing is the state of another machine that transactions wait for, nextBorrow are
	// those that wait for the one after; lent are the states that other machines have of this.
	borrowing  *Round
	nextBorrow []Waiter
	lent       map[kv.TxnRef]*Round
	// Borrow: another machine is to fix a state. GiveBack are the names of those that are not
	// needed any more. The machine's Flush drains both.
	Borrow   bool
	GiveBack []kv.TxnRef
	// before is the last round, for a mutant.
	before *Round
}

// New makes the rounds of a machine.
func New(e *env.Env) *Rounds { return &Rounds{env: e, lent: map[kv.TxnRef]*Round{}} }

// Begun counts the rounds that were begun.
func (r *Rounds) Begun() uint64 { return r.begun }

// Quiet reports whether no transaction waits for a state or reads at one.
func (r *Rounds) Quiet() bool {
	return r.current == nil && len(r.next)+len(r.nextBorrow)+len(r.kept)+len(r.lent) == 0
}

// Join has a transaction wait for a state that is fixed from now on. borrows: it may be one
// of another machine. It returns a round whose state the transaction takes at once, which
// only a mutant has.
func (r *Rounds) Join(w Waiter, borrows bool) *Round {
	seat := w.Seat()
	seat.waiting = true
	switch {
	case r.before != nil:
		seat.waiting, seat.round = false, r.before
		return r.before
	case borrows && r.borrowing != nil && r.env.Mutants.Has(mutant.BorrowJoinedLate):
		r.borrowing.waiters = append(r.borrowing.waiters, w)
		seat.round = r.borrowing
	case borrows && r.env.Borrows && r.borrowing != nil:
		r.nextBorrow = append(r.nextBorrow, w)
	case borrows && r.env.Borrows:
		r.borrow([]Waiter{w})
	case r.current != nil && r.env.Mutants.Has(mutant.PinJoinedLate):
		r.current.waiters = append(r.current.waiters, w)
		seat.round = r.current
	default:
		r.next = append(r.next, w)
	}
	return nil
}

// Begin gives the round that is to begin now, nil if none is: one is under way, or no
// transaction waits, or it is too early. The caller has it fixed.
func (r *Rounds) Begin() *Round {
	if r.current != nil || len(r.next) == 0 {
		return nil
	}
	if r.env.Now < r.from {
		r.env.Timed(r.from)
		return nil
	}
	r.current = &Round{waiters: r.next}
	r.next = nil
	for _, w := range r.current.waiters {
		w.Seat().round = r.current
	}
	r.begun++
	return r.current
}

// First is one of the transactions that wait for a round.
func (r *Round) First() Waiter { return r.waiters[0] }

// Fixed takes the state that a round has fixed, from the answers of all shards. It is in use
// until the caller, who seats the waiters, calls Unuse.
func (r *Rounds) Fixed(p *Round, name kv.TxnRef, replies []*msg.ReadReply) (waiters []Waiter) {
	p.Name, p.Incs = name, make([]kv.Incarnation, r.env.Router.Shards())
	for _, x := range replies {
		p.At.Raise(x.Reading.Shard, x.Index)
		p.Incs[x.Reading.Shard] = x.Reading.Incarnation
		if x.Reading.Shard == r.env.Hot() {
			p.Inc, p.Fixed = x.Reading.Incarnation, x.Fixed
		}
	}
	waiters, p.waiters = p.waiters, nil
	r.keep(p)
	if r.env.Mutants.Has(mutant.RoundBeforeReader) {
		p.users++
		r.before = p
	}
	return waiters
}

// Ended has the next round begin after a while, and gives the waiters of one that has fixed
// nothing.
func (r *Rounds) Ended(p *Round) (waiters []Waiter) {
	r.current = nil
	if r.env.RoundGap > 0 && !r.env.Mutants.Has(mutant.NoRoundGaps) {
		r.from = r.env.Now + int64(r.env.RoundGap)
	}
	waiters, p.waiters = p.waiters, nil
	return waiters
}

// Take ends the waiting of a transaction for a round, and reports whether it still waited.
func (r *Rounds) Take(w Waiter, p *Round, fixed bool) bool {
	seat := w.Seat()
	if !seat.waiting || seat.round != p {
		return false
	}
	seat.waiting = false
	if !fixed {
		seat.round = nil
	}
	return true
}

// Leave ends whatever connects a transaction with a round.
func (r *Rounds) Leave(w Waiter) {
	seat := w.Seat()
	p, waited := seat.round, seat.waiting
	*seat = Seat{}
	if waited {
		is := func(x Waiter) bool { return x == w }
		r.next = slices.DeleteFunc(r.next, is)
		r.nextBorrow = slices.DeleteFunc(r.nextBorrow, is)
		if r.borrowing != nil {
			r.borrowing.waiters = slices.DeleteFunc(r.borrowing.waiters, is)
		}
		return
	}
	if p != nil {
		r.Unuse(p)
	}
}

// Drop forgets a round that a transaction was to read at, and does not.
func (s *Seat) Drop() { s.round = nil }
