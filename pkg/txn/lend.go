package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// The machines of one node share rounds: one of them makes them, and lends the states
// to the others. So a node makes no more of them than a gateway of one machine does.
// Only scans, whose pages find their way by the name of the round, are read at rounds
// of their own machine.
//
//	borrower                 shell                 lender
//	Output.Borrow ─────────▶ Lend ───────────────▶ joins a round that begins from now on
//	Borrowed     ◀────────── Done.State ◀───────── it is fixed
//	Output.GiveBack ───────▶ GiveBack ───────────▶ the shards may forget it
//
// None of this is lost or doubled, since it does not leave the process.

// State is a state of the whole store that a round has fixed.
type State struct {
	name  kv.TxnRef
	at    vclock.Clock
	incs  []kv.Incarnation
	inc   kv.Incarnation
	fixed int64
	// receipt tells what the round waited for.
	receipt msg.Receipt
}

// Name is what the state is given back by.
func (s *State) Name() kv.TxnRef { return s.name }

// borrow has calls wait for a state of another machine.
func (g *Gateway) borrow(waiters []*call) {
	g.borrowing = &round{waiters: waiters, lent: true}
	for _, w := range waiters {
		w.round = g.borrowing
	}
	g.out.Borrow = true
}

// Lend has a state fixed from now on. It is in the Done, and is kept until it has been
// given back as often as it was lent.
func (g *Gateway) Lend(now int64, token Token) {
	g.now = max(g.now, now)
	g.lastReader = max(g.lastReader+1, g.now)
	id := kv.TxnID{Time: g.lastReader, Rand: uint64(g.lastReader)} // it leads to the first machine
	if c := g.newAsking(lending, token, id, never); c != nil {
		c.phase = phasePinning
		g.joinRound(c)
	}
}

// lend ends a call of Lend.
func (g *Gateway) lend(c *call, p *round) {
	c.round = nil
	p.users++
	g.lent[p.name] = p
	g.finish(c, Done{Committed: true, State: &State{p.name, p.at, p.incs, p.inc, p.fixed, c.receipt}})
}

// GiveBack ends the use that another machine made of a state.
func (g *Gateway) GiveBack(now int64, name kv.TxnRef) {
	g.now = max(g.now, now)
	p := g.lent[name]
	if p == nil {
		return
	}
	if g.unuse(p); p.users <= 0 {
		delete(g.lent, name)
	}
}

// Borrowed is what came of Output.Borrow: a state, or why there is none.
func (g *Gateway) Borrowed(now int64, s *State, f *msg.Failure) {
	g.now = max(g.now, now)
	p := g.borrowing
	waiters := p.waiters
	g.borrowing, p.waiters = nil, nil
	if next := g.nextBorrow; len(next) > 0 {
		g.nextBorrow = nil
		g.borrow(next)
	}
	if f == nil {
		p.name, p.at, p.incs, p.inc, p.fixed = s.name, s.at, s.incs, s.inc, s.fixed
		p.users++ // until all have had their say
	}
	for _, w := range waiters {
		switch {
		case !w.waiting || w.round != p:
		case f != nil:
			w.waiting, w.round = false, nil
			g.unpinned(w, f)
		default:
			w.longest(&s.receipt)
			w.waiting = false
			g.pinned(w)
		}
	}
	if f == nil {
		g.unuse(p)
	}
}

// leaveBorrowers takes a call out that waits no more.
func (g *Gateway) leaveBorrowers(c *call) {
	is := func(w *call) bool { return w == c }
	g.nextBorrow = slices.DeleteFunc(g.nextBorrow, is)
	if g.borrowing != nil {
		g.borrowing.waiters = slices.DeleteFunc(g.borrowing.waiters, is)
	}
}
