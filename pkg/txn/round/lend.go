package round

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// startBorrowing requests a snapshot of another state machine for the waiters.
func (r *Rounds) startBorrowing(waiters []Waiter) {
	r.borrowing = &Round{waiters: waiters, lent: true}
	for _, w := range waiters {
		w.Membership().round = r.borrowing
	}
	r.Borrow = true
}

// Borrowed handles the result of Borrow: a snapshot, or nil for a failure. The snapshot is in use until the caller
// has served the waiters and calls Unuse.
func (r *Rounds) Borrowed(s *Snapshot) (p *Round, waiters []Waiter) {
	p = r.borrowing
	waiters, p.waiters = p.waiters, nil
	r.borrowing = nil
	if len(r.nextBorrow) > 0 {
		next := r.nextBorrow
		r.nextBorrow = nil
		r.startBorrowing(next)
	}
	if s != nil {
		p.Snapshot = *s
		p.users++
	}
	return p, waiters
}

// Lend retains a snapshot for another state machine until GivenBack.
//
// The machine that made the round renews the snapshot on the shards as long as a borrower uses it. The borrower only
// counts its own users, and returns the snapshot after the last.
func (r *Rounds) Lend(p *Round) *Snapshot {
	r.retainLent(p)
	p.lendings++
	r.lent[p.Name] = p
	s := p.Snapshot
	s.keptUntil = slices.Clone(s.keptUntil) // the borrower has its own
	return &s
}

// GivenBack ends the use of a snapshot by another state machine.
func (r *Rounds) GivenBack(name kv.TxnRef) {
	p := r.lent[name]
	if p == nil {
		return
	}
	p.lendings--
	if p.lendings == 0 {
		delete(r.lent, name)
	}
	r.Release(p)
}
