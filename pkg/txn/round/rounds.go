package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Waiter is a transaction that can wait for a snapshot.
type Waiter interface {
	// Membership connects the transaction with a round.
	Membership() *Membership
}

// Need states which shards a transaction needs in its snapshot.
type Need uint8

const (
	// Prompt: the shards that respond in time.
	Prompt Need = iota
	// Some: the shards in Membership.Shards, even if they respond late, except those of nodes that are down.
	Some
	// All: every shard.
	All
)

// Membership connects a transaction with the round for which it waits, or at whose snapshot it reads. The zero value
// does neither.
type Membership struct {
	// Need and, if it is Some, Shards are set before the transaction joins a round.
	Need    Need
	Shards  []kv.ShardID
	round   *Round
	waiting bool
}

// Waiting reports whether the transaction waits for a snapshot.
func (s *Membership) Waiting() bool { return s.waiting }

// Reads reports whether the transaction reads at the snapshot of a round.
func (s *Membership) Reads() bool { return s.round != nil && !s.waiting }

// Snapshot is a snapshot of the store.
type Snapshot struct {
	// Name is the name under which the shards retain it.
	Name kv.TxnRef
	// At has the CSN of each shard with an entry, Incarnations its incarnation; both are 0 for the others.
	At           vclock.Clock
	Incarnations []kv.Incarnation
	// Fixed is the instant of the snapshot, by Now of the hot shard in HotIncarnation.
	HotIncarnation kv.Incarnation
	Fixed          int64
	// keptUntil is env.RetainedState.Until of each shard.
	keptUntil []int64
	// Receipt reports what the round waited for.
	Receipt msg.Receipt
}

// Has reports whether a shard has an entry in the snapshot.
func (s *Snapshot) Has(shard kv.ShardID) bool { return s.Incarnations[shard] != 0 }

// Retained is what is known of the part of a shard.
func (s *Snapshot) Retained(of kv.ShardID) env.RetainedState {
	return env.RetainedState{Incarnation: s.Incarnations[of], Until: s.keptUntil[of]}
}

// Confirm is env.RetainedState.Confirm for the part of a shard.
func (s *Snapshot) Confirm(e *env.Env, of kv.ShardID, inc kv.Incarnation, sent int64) bool {
	k := s.Retained(of)
	if !k.Confirm(e, inc, sent) {
		return false
	}
	if k.Incarnation != s.Incarnations[of] {
		s.Incarnations = slices.Clone(s.Incarnations) // other state machines use them
		s.Incarnations[of] = k.Incarnation
	}
	s.keptUntil[of] = k.Until
	return true
}

// Round is one snapshot round.
type Round struct {
	Snapshot
	// begunAt is when the round began: its requests are sent from then on.
	begunAt int64
	// slow are the left-out shards for which the round was begun; none, if it is an ordinary one. First are the shards
	// that are sent requests first, and are waited for without a bound.
	slow    []kv.ShardID
	First   []kv.ShardID
	waiters []Waiter
	// users counts the transactions that read at the snapshot. At 0 the shards may release it.
	users int
	// lendings counts the users that are other state machines.
	lendings int
	// renewAt is the time of the next renewal.
	renewAt int64
	// lent: the snapshot is borrowed from another state machine, which renews it.
	lent bool
}

// Rounds are the rounds of one state machine.
type Rounds struct {
	env    *env.Env
	shards *shards.Shards
	// current is the ordinary round in progress, slowRounds are those that wait for slow shards. next are the waiters of
	// later rounds, which begin no earlier than notBefore.
	current    *Round
	slowRounds []*Round
	next       []Waiter
	notBefore  int64
	begun      uint64
	// retained are the rounds at whose snapshots transactions read.
	retained []*Round
	// borrowing is the borrowed snapshot for which transactions wait; the transactions in nextBorrow wait for the one
	// after it. lent are the snapshots lent to other state machines.
	borrowing  *Round
	nextBorrow []Waiter
	lent       map[kv.TxnRef]*Round
	// Borrow: request a snapshot of another state machine. GiveBack are the names of borrowed snapshots that are no
	// longer in use. Flush of the state machine drains both.
	Borrow   bool
	GiveBack []kv.TxnRef
	// previous is the last snapshot, for a mutant.
	previous *Snapshot
}

// New makes the rounds of a state machine.
func New(e *env.Env, s *shards.Shards) *Rounds {
	return &Rounds{env: e, shards: s, lent: map[kv.TxnRef]*Round{}}
}

// BegunCount is the number of rounds begun so far.
//
// Each round holds all updates of the store for a moment, so operators watch it.
func (r *Rounds) BegunCount() uint64 { return r.begun }

// IsIdle reports whether no transaction waits for a snapshot or reads at one.
func (r *Rounds) IsIdle() bool {
	return r.current == nil && len(r.slowRounds)+len(r.next)+len(r.nextBorrow)+len(r.retained)+len(r.lent) == 0
}

// Join makes a transaction wait for a snapshot that is fixed from now on. A Prompt transaction may get a borrowed
// one.
func (r *Rounds) Join(w Waiter) {
	seat := w.Membership()
	seat.waiting = true
	switch borrows := seat.Need == Prompt && r.env.Borrows; {
	case borrows && r.borrowing == nil:
		r.startBorrowing([]Waiter{w})
	case borrows:
		r.awaitNext(w, &r.nextBorrow, r.borrowing)
	default:
		r.awaitNext(w, &r.next, r.current)
	}
}

// maxSlowRounds bounds the rounds that wait for slow shards. The value is somewhat arbitrary: each round is for a
// different set of slow shards, and few shards are slow at the same time.
const maxSlowRounds = 4

// Begin returns a round that begins now; the caller sends its requests. It returns nil if one is in progress, none is
// needed, or the gap has not passed. An ordinary round leaves slow shards out. Transactions that need such shards
// have rounds of their own, which may overlap with others, so no transaction waits for a shard that it does not need.
func (r *Rounds) Begin() *Round {
	if len(r.next) == 0 {
		return nil
	}
	if r.env.Now < r.notBefore {
		r.env.WakeAt(r.notBefore)
		return nil
	}
	if r.current == nil {
		r.current = r.beginFor(nil)
		if r.current != nil {
			return r.current
		}
	}
	for _, w := range r.next {
		slow := r.slowShards(w.Membership())
		same := func(p *Round) bool { return slices.Equal(p.slow, slow) }
		if len(slow) == 0 || len(r.slowRounds) == maxSlowRounds || slices.ContainsFunc(r.slowRounds, same) {
			continue
		}
		p := r.beginFor(slow)
		for _, s := range slow {
			if r.shards.IsSilent(s) {
				p.First = append(p.First, s)
			}
		}
		r.slowRounds = append(r.slowRounds, p)
		return p
	}
	return nil
}

// slowShards lists the left-out shards for which a transaction has to wait. If all shards are left out, each
// transaction waits for all of them.
func (r *Rounds) slowShards(seat *Membership) (out []kv.ShardID) {
	if r.shards.NoneLeftOut() {
		return nil
	}
	prompt := false
	for _, s := range r.env.EveryShard() {
		switch {
		case r.shards.IsDown(s):
		case r.shards.IsLeftOut(s):
			out = append(out, s)
		default:
			prompt = true
		}
	}
	if !prompt || seat.Need == All {
		return out
	}
	return slices.DeleteFunc(out, func(s kv.ShardID) bool {
		return seat.Need == Prompt || !slices.Contains(seat.Shards, s)
	})
}

// beginFor begins a round for the transactions that wait for exactly these slow shards; nil if there are none.
func (r *Rounds) beginFor(slow []kv.ShardID) *Round {
	p := &Round{slow: slow, begunAt: r.env.Now}
	r.next = slices.DeleteFunc(r.next, func(w Waiter) bool {
		is := slices.Equal(r.slowShards(w.Membership()), slow)
		if is {
			p.waiters = append(p.waiters, w)
			w.Membership().round = p
		}
		return is
	})
	if len(p.waiters) == 0 {
		return nil
	}
	r.begun++
	return p
}

// AddFirst adds shards that did not respond in time to First. It reports false if the round was not begun for all of
// them.
func (r *Round) AddFirst(late []kv.ShardID) bool {
	if slices.ContainsFunc(late, func(s kv.ShardID) bool { return !slices.Contains(r.slow, s) }) {
		return false
	}
	for _, s := range late {
		if !slices.Contains(r.First, s) {
			r.First = append(r.First, s)
		}
	}
	return true
}

// ShardOrder returns the shards of a round and their order. Shards of nodes that are down are excluded, and so are
// left-out shards unless the round was begun for them. The hot shard, if included, is the last: so retained snapshots
// are totally ordered (docs/protocol.md, section 8).
//
// The order among the others does not matter: nothing changes between a shard's fixing and the last one's.
func (r *Rounds) ShardOrder(p *Round) (f readreq.Fix) {
	for _, s := range r.env.EveryShard() {
		slow := r.shards.IsLeftOut(s)
		switch {
		case r.shards.IsDown(s):
			continue
		case slices.Contains(p.First, s):
			f.First = append(f.First, s)
		case slow && !slices.Contains(p.slow, s):
			continue
		default:
			f.Rest = append(f.Rest, s)
		}
		if len(f.First)+len(f.Rest) == 1 || r.env.Router.Hotter(s, f.Last) {
			f.Last = s
		}
	}
	return f
}

// AcceptsPartial reports whether some waiter of an ordinary round accepts a snapshot without all shards.
func (r *Round) AcceptsPartial() bool {
	return len(r.slow) == 0 && slices.ContainsFunc(r.waiters, func(w Waiter) bool { return w.Membership().Need == Prompt })
}

// RemoveUnfixable removes and returns the waiters for which no round can be made now.
func (r *Rounds) RemoveUnfixable(none func(*Membership) bool) (waiters []Waiter) {
	r.next = slices.DeleteFunc(r.next, func(w Waiter) bool {
		is := none(w.Membership())
		if is {
			waiters = append(waiters, w)
		}
		return is
	})
	return waiters
}

// Waiter returns one of the transactions that wait for a round.
func (r *Round) Waiter() Waiter { return r.waiters[0] }

// OnFixed makes a snapshot of the shards' responses. It is in use until the caller has served the returned waiters and
// calls Release. Waiters that need other shards wait for the next round.
func (r *Rounds) OnFixed(p *Round, name kv.TxnRef, replies []*msg.ReadResponse) (waiters []Waiter) {
	r.setSnapshot(p, name, replies)
	waiters = r.splitWaiters(p)
	r.retain(p)
	return waiters
}

// splitWaiters returns the waiters that the snapshot satisfies. The others wait for the next round.
func (r *Rounds) splitWaiters(p *Round) (satisfied []Waiter) {
	var others []Waiter
	for _, w := range p.takeWaiters() {
		if r.satisfies(&p.Snapshot, w.Membership()) {
			satisfied = append(satisfied, w)
			continue
		}
		w.Membership().round = nil
		others = append(others, w)
	}
	// In front: they have waited for a whole round.
	r.next = append(others, r.next...)
	return satisfied
}

// satisfies reports whether a snapshot has the shards that a transaction needs.
func (r *Rounds) satisfies(p *Snapshot, seat *Membership) bool {
	switch seat.Need {
	case Prompt:
		return true
	case Some:
		return !slices.ContainsFunc(seat.Shards, func(s kv.ShardID) bool { return !p.Has(s) && !r.shards.IsDown(s) })
	}
	return !slices.Contains(p.Incarnations, 0)
}

// Requeue moves the waiters of a round to the next one.
//
// They are in front of those that have arrived since, and begin with the next round.
func (r *Rounds) Requeue(p *Round) {
	waiters := p.takeWaiters()
	for _, w := range waiters {
		w.Membership().round = nil
	}
	r.next = append(waiters, r.next...)
}

// takeWaiters removes the waiters of a round, and returns those that still wait for it. The others have ended, and may
// be other transactions by now, as calls are used again: one that got a round for which it does not wait would release
// the snapshot under its readers, or never.
func (r *Round) takeWaiters() []Waiter {
	waiters := slices.DeleteFunc(r.waiters, func(w Waiter) bool {
		seat := w.Membership()
		return !seat.waiting || seat.round != r
	})
	r.waiters = nil
	return waiters
}

// OnEnd ends a round, schedules the next one after the gap, and returns the waiters of a round that has failed.
func (r *Rounds) OnEnd(p *Round) (waiters []Waiter) {
	if r.current == p {
		r.current = nil
	}
	r.slowRounds = slices.DeleteFunc(r.slowRounds, func(x *Round) bool { return x == p })
	r.delayNext()
	waiters, p.waiters = p.waiters, nil
	return waiters
}

// EndWait ends the wait of a transaction for a round, and reports whether it still waited.
//
// It may have ended since, or have joined another round: its deadline has passed, or an earlier waiter of this round,
// whose read it shared, has finished it.
func (r *Rounds) EndWait(w Waiter, p *Round, fixed bool) bool {
	seat := w.Membership()
	if !seat.waiting || seat.round != p {
		return false
	}
	seat.waiting = false
	if !fixed {
		seat.round = nil
	}
	return true
}

// Leave ends the wait of a transaction, or its use of a snapshot.
func (r *Rounds) Leave(w Waiter) {
	seat := w.Membership()
	p, waited := seat.round, seat.waiting
	*seat = Membership{}
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
		r.Release(p)
	}
}

// Drop clears the round of a transaction that will not read at its snapshot.
func (s *Membership) Drop() { s.round = nil }
