package locktable

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// shares limit for how long the locks of one user block requests of other users: half of the time, after a
// burst. Locks of prepared transactions and of unknown users are not charged.
//
// Without a limit, one client that opens interactive transactions on a hot key and leaves them idle, each
// just shorter than the push interval, would keep all other users out.
//
// Example, with a burst of 1 s. A client of user U locks a hot key and leaves it locked.
//
//	  0 s   a request of another user waits: the charge begins
//	  2 s   the share is used up (1 s, and 1 s recovered in 2 s): the lock is broken,
//	        and further lasting locks of U are rejected
//	2-3 s   nothing is charged, and the share recovers by 0.5 s per second
type shares struct {
	byUser map[kv.Account]*share
	burst  int64
}

// share is the budget of one user as of updatedAt. leftNanos is negative, at least minus the burst, if the
// share is used up.
type share struct {
	leftNanos, updatedAt int64
	// blocking is the number of the user's transactions whose locks block other users. While it is positive, the
	// time is charged once, however large it is.
	blocking int
}

// update computes the share of a user as of now: it recovers by half of the time passed, and is charged the
// time passed if its locks blocked other users.
func (s *shares) update(now int64, user kv.Account) *share {
	x := s.byUser[user]
	if x == nil {
		x = &share{leftNanos: s.burst, updatedAt: now}
		s.byUser[user] = x
	}
	// Several steps may have the same time, and a restored owner has none.
	passed := max(now-x.updatedAt, 0)
	x.leftNanos += passed / 2
	if x.blocking > 0 {
		x.leftNanos -= passed
	}
	// Bounded below, so that a user whose locks blocked others for an hour can lock again within seconds.
	x.leftNanos, x.updatedAt = max(min(x.leftNanos, s.burst), -s.burst), x.updatedAt+passed
	return x
}

// debt returns the time until the share of a user is positive again if its locks block no other user
// meanwhile, 0 if it is positive. A full share that is not charged is deleted.
func (s *shares) debt(now int64, user kv.Account) time.Duration {
	if s.byUser[user] == nil {
		return 0
	}
	x := s.update(now, user)
	if x.leftNanos >= s.burst && x.blocking == 0 {
		delete(s.byUser, user)
	}
	return time.Duration(max(-2*x.leftNanos, 0))
}

// startCharge begins to charge the user of o, if the request of another user waits for its lock.
func (s *shares) startCharge(now int64, o *owner, r *Request) {
	if o.blocksOthers || o.prepared || o.user == 0 || o.user == r.User {
		return
	}
	// An owner is counted once, whatever the number of requests that wait for it.
	o.blocksOthers = true
	s.update(now, o.user).blocking++
}

// chargeGranted begins to charge the user of an owner if a request of another user already waits for a lock
// that the owner was just granted.
//
// Example. User V waits for k behind user U's lock. That is released, and another transaction of U joins the
// phase ahead of V: V waits for U from that time on, but no request arrives that would begin the charge.
func (s *shares) chargeGranted(t *Table, now int64, o *owner, granted *Request) {
	isBlocked := func(w *Request) bool {
		return w.User != o.user && slices.ContainsFunc(granted.Needs, func(n Need) bool { return w.conflictsWith(&n) })
	}
	for i := range granted.Needs {
		queue := t.waiters
		if n := &granted.Needs[i]; n.Span.IsPoint() {
			queue = t.keys[string(n.Span.Start)].waiters
		}
		at := slices.IndexFunc(queue, isBlocked)
		if at >= 0 {
			s.startCharge(now, o, queue[at])
			return
		}
	}
}

// conflictsWith reports whether the request needs a mode that is incompatible with n on an overlapping span.
func (r *Request) conflictsWith(n *Need) bool {
	return slices.ContainsFunc(r.Needs, func(m Need) bool {
		return !adt.Compatible(m.Mode, n.Mode) && m.Span.Overlaps(n.Span)
	})
}

// stopCharge ends the charge for an owner that has released its locks or has prepared.
func (s *shares) stopCharge(now int64, o *owner) {
	if o.blocksOthers {
		o.blocksOthers = false
		s.update(now, o.user).blocking--
	}
}

// Debt returns for how long requests of a user for lasting locks are rejected, 0 if they are granted.
//
// It is the retry time in the error of a rejected request.
func (t *Table) Debt(now int64, user kv.Account) time.Duration {
	if user == 0 {
		return 0
	}
	return t.shares.debt(now, user)
}

// TakeExhausted returns the transactions whose locks are to be broken: their user's share is used up while
// requests of other users wait for them.
//
// The shard breaks them as it does after a push: their later requests find that the grants are gone.
func (t *Table) TakeExhausted() []kv.TxnRef {
	out := t.exhausted
	t.exhausted = nil
	return out
}

// minHoldNanos is for how long a lock is kept before it is broken because of its user's share, in
// nanoseconds. Most transactions are shorter.
const minHoldNanos = 20_000_000

// isExhausted reports whether the locks of o, for which r still waits, are to be broken.
func (s *shares) isExhausted(now int64, o *owner, r *Request) bool {
	return o.blocksOthers && o.user != r.User && now-o.heldSince >= minHoldNanos && s.debt(now, o.user) > 0
}
