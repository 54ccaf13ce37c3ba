package round

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// borrow has transactions wait for a state of another machine.
func (r *Rounds) borrow(waiters []Waiter) {
	r.borrowing = &Round{waiters: waiters, lent: true}
	for _, w := range waiters {
		w.Seat().round = r.borrowing
	}
	r.Borrow = true
}

// Borrowed takes what came of Borrow: a state, or nil if there is none. The state is in use
// until the caller, who seats the waiters, calls Unuse.
func (r *Rounds) Borrowed(s *State) (p *Round, waiters []Waiter) {
	p = r.borrowing
	waiters, p.waiters = p.waiters, nil
	r.borrowing = nil
	if len(r.nextBorrow) > 0 {
		next := r.nextBorrow
		r.nextBorrow = nil
		r.borrow(next)
	}
	if s != nil {
		p.State = *s
		p.users++
	}
	return p, waiters
}

// Lend has a state kept for another machine, until that has given it back.
func (r *Rounds) Lend(p *Round) *State {
	if !r.env.Mutants.Has(mutant.LentForgotten) {
		p.users++
	}
	p.lendings++
	r.lent[p.Name] = p
	s := p.State
	return &s
}

// GivenBack ends the use that another machine made of a state.
func (r *Rounds) GivenBack(name kv.TxnRef) {
	p := r.lent[name]
	if p == nil {
		return
	}
	p.lendings--
	if p.lendings == 0 {
		delete(r.lent, name)
	}
	r.Unuse(p)
}
