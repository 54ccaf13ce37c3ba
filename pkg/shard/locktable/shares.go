package locktable

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// shares bound for how long the locks of one user's transactions hold up requests of other users: half
// of the time, after a burst. What is prepared does not count, nor do users that are not known.
type shares struct {
	of    map[kv.Account]*share
	burst int64
	// uncounted is a mutant.
	uncounted bool
}

// share is what a user has left, in nanoseconds, as of a time.
type share struct {
	left, at int64
	// wanted counts the user's transactions for whose locks other users wait.
	wanted int
}

// at brings a user's share up to date. One that has its burst, and holds nobody up, is forgotten.
func (s *shares) at(now int64, user kv.Account) *share {
	x := s.of[user]
	if x == nil {
		x = &share{left: s.burst, at: now}
		s.of[user] = x
	}
	passed := max(now-x.at, 0)
	x.left += passed / 2
	if x.wanted > 0 {
		x.left -= passed
	}
	x.left, x.at = max(min(x.left, s.burst), -s.burst), x.at+passed
	return x
}

// debt is how long it takes until the user has something left, if it holds up nobody meanwhile.
func (s *shares) debt(now int64, user kv.Account) time.Duration {
	if s.of[user] == nil {
		return 0
	}
	x := s.at(now, user)
	if x.left >= s.burst && x.wanted == 0 {
		delete(s.of, user)
	}
	return time.Duration(max(-2*x.left, 0))
}

// want notes that a request waits for an owner.
func (s *shares) want(now int64, o *owner, r *Request) {
	if o.wanted || o.prepared || o.user == 0 || o.user == r.User || s.uncounted {
		return
	}
	o.wanted = true
	s.at(now, o.user).wanted++
}

// wantGranted notes that a request of another user waits for what an owner was just granted.
func (s *shares) wantGranted(t *Table, now int64, o *owner, granted *Request) {
	waits := func(w *Request) bool {
		return w.User != o.user && slices.ContainsFunc(granted.Needs, func(n Need) bool { return w.excludes(&n) })
	}
	for i := range granted.Needs {
		queue := t.waiters
		if n := &granted.Needs[i]; n.Span.IsPoint() {
			queue = t.keys[string(n.Span.Start)].waiters
		}
		at := slices.IndexFunc(queue, waits)
		if at >= 0 {
			s.want(now, o, queue[at])
			return
		}
	}
}

// excludes reports whether a request waits for a mode that does not go with a need.
func (r *Request) excludes(n *Need) bool {
	return slices.ContainsFunc(r.Needs, func(m Need) bool { return !adt.Compatible(m.Mode, n.Mode) && m.Span.Overlaps(n.Span) })
}

// unwant ends that, when the owner has released its locks, or has prepared.
func (s *shares) unwant(now int64, o *owner) {
	if o.wanted {
		o.wanted = false
		s.at(now, o.user).wanted--
	}
}

// Debt is for how long no more locks are granted to a user, 0 if some are: its locks have held up
// others for more than its share.
func (t *Table) Debt(now int64, user kv.Account) time.Duration {
	if user == 0 {
		return 0
	}
	return t.shares.debt(now, user)
}

// Overdrawn drains the transactions whose locks are to be broken, because their user's share is used up
// while other users wait for them.
func (t *Table) Overdrawn() []kv.TxnRef {
	out := t.overdrawn
	t.overdrawn = nil
	return out
}

// leastHold is how long a lock is held at least, in nanoseconds, before it is broken because of its
// user's share. Most transactions end sooner.
const leastHold = 20_000_000

// overdrawn reports whether it is time to break the locks of an owner that a request still waits for.
func (s *shares) overdrawn(now int64, o *owner, r *Request) bool {
	return o.wanted && o.user != r.User && now-o.since >= leastHold && s.debt(now, o.user) > 0
}
