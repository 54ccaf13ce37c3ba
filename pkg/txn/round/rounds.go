package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Waiter is a transaction that can wait for a state.
type Waiter interface {
	// Seat is the transaction's place at a round.
	Seat() *Seat
}

// Need says of which shards a transaction needs the state.
type Need uint8

const (
	// Prompt: of those that answer in time.
	Prompt Need = iota
	// Some: of Seat.Shards, although they answer late, but for those whose nodes are down.
	Some
	// All: of every shard.
	All
)

// Seat is what connects a transaction with a round: it waits for it, or reads at its state.
// The zero value is that of one that does neither.
type Seat struct {
	// Need is the transaction's, and Shards, if it is Some, are those that it needs. Both are to
	// be set before it joins a round.
	Need    Need
	Shards  []kv.ShardID
	round   *Round
	waiting bool
}

// Waiting reports whether the transaction waits for a state.
func (s *Seat) Waiting() bool { return s.waiting }

// Reads reports whether the transaction reads at the state of a round.
func (s *Seat) Reads() bool { return s.round != nil && !s.waiting }

// State is a state of the store.
type State struct {
	// Name is under which the shards keep it.
	Name kv.TxnRef
	// At is the commit sequence number of each shard that has a part in it, Incs their
	// incarnations, 0 for a shard that has none.
	At   vclock.Clock
	Incs []kv.Incarnation
	// Fixed is when it was the current one, by Now of the hot shard, whose incarnation is Inc.
	Inc   kv.Incarnation
	Fixed int64
	// Receipt tells what the round waited for.
	Receipt msg.Receipt
}

// Has reports whether a shard has a part in the state.
func (s *State) Has(shard kv.ShardID) bool { return s.Incs[shard] != 0 }

// Round fixes one state.
type Round struct {
	State
	// slow are the shards for which the round was begun, although they are left out of others:
	// none if it is an ordinary one. First are those that it asks first, and waits for as long as
	// that takes.
	slow    []kv.ShardID
	First   []kv.ShardID
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
	env    *env.Env
	shards *shards.Shards
	// current is under way, and so are patient, which wait for slow shards. next wait for the
	// ones after, which do not begin before from.
	current *Round
	patient []*Round
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
func New(e *env.Env, s *shards.Shards) *Rounds {
	return &Rounds{env: e, shards: s, lent: map[kv.TxnRef]*Round{}}
}

// Begun counts the rounds that were begun.
func (r *Rounds) Begun() uint64 { return r.begun }

// Quiet reports whether no transaction waits for a state or reads at one.
func (r *Rounds) Quiet() bool {
	return r.current == nil && len(r.patient)+len(r.next)+len(r.nextBorrow)+len(r.kept)+len(r.lent) == 0
}

// Join has a transaction wait for a state that is fixed from now on. It may be one of another
// machine, if a state of the shards that answer in time will do. It returns a round whose state
// the transaction takes at once, which only a mutant has.
func (r *Rounds) Join(w Waiter) *Round {
	seat := w.Seat()
	seat.waiting = true
	borrows := seat.Need == Prompt
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

// mostPatient bounds the rounds that wait for slow shards. Somewhat arbitrary: each is for other
// shards, of which few are slow at the same time, or the cluster is.
const mostPatient = 4

// Begin gives a round that is to begin now, nil if none is: it is under way, or no transaction
// waits, or it is too early. The caller has it fixed. An ordinary round leaves out the shards that
// are slow. Transactions that need some of these have rounds of their own, which may overlap with
// others: one waits for no shard that its transactions do not need.
func (r *Rounds) Begin() *Round {
	if len(r.next) == 0 {
		return nil
	}
	if r.env.Now < r.from {
		r.env.Timed(r.from)
		return nil
	}
	if r.current == nil {
		r.current = r.begin(nil)
		if r.current != nil {
			return r.current
		}
	}
	for _, w := range r.next {
		slow := r.slow(w.Seat())
		same := func(p *Round) bool { return slices.Equal(p.slow, slow) }
		if len(slow) == 0 || len(r.patient) == mostPatient || slices.ContainsFunc(r.patient, same) {
			continue
		}
		p := r.begin(slow)
		for _, s := range slow {
			if r.shards.IsSilent(s) {
				p.First = append(p.First, s)
			}
		}
		r.patient = append(r.patient, p)
		return p
	}
	return nil
}

// slow lists the shards that are left out, and for which a transaction has to wait. If no shard
// is prompt each transaction waits for all.
func (r *Rounds) slow(seat *Seat) (out []kv.ShardID) {
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

// begin begins a round for the transactions that wait for the same slow shards, nil if there are
// none.
func (r *Rounds) begin(slow []kv.ShardID) *Round {
	p := &Round{slow: slow}
	r.next = slices.DeleteFunc(r.next, func(w Waiter) bool {
		is := slices.Equal(r.slow(w.Seat()), slow)
		if is {
			p.waiters = append(p.waiters, w)
			w.Seat().round = p
		}
		return is
	})
	if len(p.waiters) == 0 {
		return nil
	}
	r.begun++
	return p
}

// AskFirst has the round ask shards first that did not answer in time, and reports whether it was
// begun for all of them.
func (r *Round) AskFirst(late []kv.ShardID) bool {
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

// Plan says which shards fix their states for a round, and in which order: none of a node that
// is down, and of those that are left out the ones for which the round was begun. The hot shard is
// the last if it has a part: then kept states are in one order (docs/protocol.md, section 8).
func (r *Rounds) Plan(p *Round) (f readreq.Fix) {
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

// WorthWithout reports whether a transaction waits for a round that will do with a state in
// which some shards have no part.
func (r *Round) WorthWithout() bool {
	return len(r.slow) == 0 && slices.ContainsFunc(r.waiters, func(w Waiter) bool { return w.Seat().Need == Prompt })
}

// Unfixable takes out those that cannot have a state now.
func (r *Rounds) Unfixable(none func(*Seat) bool) (waiters []Waiter) {
	r.next = slices.DeleteFunc(r.next, func(w Waiter) bool {
		is := none(w.Seat())
		if is {
			waiters = append(waiters, w)
		}
		return is
	})
	return waiters
}

// Waiter is one of the transactions that wait for a round.
func (r *Round) Waiter() Waiter { return r.waiters[0] }

// Fixed takes the state that a round has fixed, from the answers of the shards. It is in use
// until the caller, who seats the waiters, calls Unuse. Those for which it will not do wait for
// the next.
func (r *Rounds) Fixed(p *Round, name kv.TxnRef, replies []*msg.ReadResponse) (waiters []Waiter) {
	p.Name, p.Incs = name, make([]kv.Incarnation, r.env.Router.Shards())
	for _, x := range replies {
		p.At.Raise(x.Reading.Shard, x.Index)
		p.Incs[x.Reading.Shard] = x.Reading.Incarnation
		if x.Reading.Shard == r.env.Hot() {
			p.Inc, p.Fixed = x.Reading.Incarnation, x.Fixed
		}
	}
	waiters = r.sort(p)
	r.keep(p)
	if r.env.Mutants.Has(mutant.RoundBeforeReader) {
		p.users++
		r.before = p
	}
	return waiters
}

// sort gives the waiters for which a state will do. The others wait for the next.
func (r *Rounds) sort(p *Round) (will []Waiter) {
	var others []Waiter
	for _, w := range p.waiters {
		if r.serves(&p.State, w.Seat()) {
			will = append(will, w)
			continue
		}
		w.Seat().round = nil
		others = append(others, w)
	}
	p.waiters = nil
	r.next = append(others, r.next...)
	return will
}

// serves reports whether a state will do for a transaction.
func (r *Rounds) serves(p *State, seat *Seat) bool {
	switch seat.Need {
	case Prompt:
		return true
	case Some:
		return !slices.ContainsFunc(seat.Shards, func(s kv.ShardID) bool { return !p.Has(s) && !r.shards.IsDown(s) })
	}
	return !slices.Contains(p.Incs, 0)
}

// GiveUp has all that wait for a round wait for the next.
func (r *Rounds) GiveUp(p *Round) {
	for _, w := range p.waiters {
		w.Seat().round = nil
	}
	r.next = append(p.waiters, r.next...)
	p.waiters = nil
}

// Ended has the next round begin after a while, and gives the waiters of one that has fixed
// nothing.
func (r *Rounds) Ended(p *Round) (waiters []Waiter) {
	if r.current == p {
		r.current = nil
	}
	r.patient = slices.DeleteFunc(r.patient, func(x *Round) bool { return x == p })
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
