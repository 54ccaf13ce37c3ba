package record

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// aborts are the commits that can never be made here: aborted, refused, or cut off by a
// question. They are the tombstones, numbered in the order in which they were made.
//
// A message can bring such a commit back only if it was sent before the commit was
// killed, when its gateway had heard of fewer aborts than the tombstone's number; and a
// commit names how many that was. So each tombstone that is forgotten raises a floor to
// its number, and what names less than the floor is presumed to be dead. How old the
// transaction is does not matter, nor what time its id says.
//
// Each user has a share of the memory and a floor. When there is no room for one more it
// is made where most is, so that a floor rises only for users who have more than an equal
// share.
type aborts struct {
	limit int
	// held is how many tombstones there are.
	size int
	// made is how many there ever were, and the number of the newest.
	lastNumber   uint64
	failures   map[kv.CommitID]*msg.Failure
	shares map[kv.Account]*share
	// common is the floor of the users who have no share.
	commonLowWatermark uint64
	// longest is a share of which no other is much longer as long as it has enough.
	largest *share
	largestMin  int
}

// maxShares bounds the users that are told apart. Somewhat arbitrary: more than abort
// anything within a short time.
const maxShares = 1024

// share is what is remembered of one user's.
type share struct {
	user kv.Account
	// line are the tombstones in the order of their numbers, of which those before head
	// are forgotten.
	queue []tombstone
	head int
	// floor is the number of the newest that was forgotten.
	lowWatermark uint64
	// newest is the number of the newest that was made.
	newest uint64
}

type tombstone struct {
	commit kv.CommitID
	number uint64
}

func (s *share) len() int { return len(s.queue) - s.head }

// pop forgets the oldest; there must be one.
func (s *share) pop() tombstone {
	v := s.queue[s.head]
	s.head++
	if 2*s.head >= len(s.queue) {
		s.queue, s.head = s.queue[:copy(s.queue, s.queue[s.head:])], 0
	}
	s.lowWatermark = v.number
	return v
}

func (a *aborts) init(limit int) {
	a.limit, a.failures, a.shares = limit, map[kv.CommitID]*msg.Failure{}, map[kv.Account]*share{}
}

func (a *aborts) lowWatermark(user kv.Account) uint64 {
	if s := a.shares[user]; s != nil {
		return max(s.lowWatermark, a.commonLowWatermark)
	}
	return a.commonLowWatermark
}

// kill makes a tombstone for a commit, unless it has one.
func (a *aborts) add(user kv.Account, commit kv.CommitID, f *msg.Failure) {
	_, dead := a.failures[commit]
	if dead {
		return
	}
	a.failures[commit] = trimFailure(f)
	s := a.shareOf(user)
	a.lastNumber++
	a.size++
	s.queue = append(s.queue, tombstone{commit, a.lastNumber})
	s.newest = a.lastNumber
	if a.size > a.limit {
		a.evict(s)
	}
}

// slack is which part of the limit a share may be longer than the one that is taken for
// the longest, so that they need not all be compared each time.
const shareSlack = 64

// forget makes room after one has been added to a share.
func (a *aborts) evict(s *share) {
	switch {
	case a.largest == nil || a.largest.len() < a.largestMin:
		a.largest = a.minShare(func(o, than *share) bool { return o.len() > than.len() })
		a.largestMin = a.largest.len() - a.limit/shareSlack
	case s.len() > a.largest.len():
		a.largest, a.largestMin = s, s.len()-a.limit/shareSlack
	}
	a.evictOldest(a.largest)
}

// drop forgets the oldest tombstone of a share.
func (a *aborts) evictOldest(s *share) {
	delete(a.failures, s.pop().commit)
	a.size--
}

func (a *aborts) shareOf(user kv.Account) *share {
	s := a.shares[user]
	if s != nil {
		return s
	}
	if len(a.shares) >= maxShares {
		a.removeShare(a.minShare(func(o, than *share) bool { return o.newest < than.newest }))
	}
	s = &share{user: user}
	a.shares[user] = s
	return s
}

// merge forgets all of a user's: that of who has had nothing aborted for longest.
func (a *aborts) removeShare(s *share) {
	for s.len() > 0 {
		a.evictOldest(s)
	}
	a.commonLowWatermark = max(a.commonLowWatermark, s.lowWatermark)
	delete(a.shares, s.user)
	a.largest = nil
}

// first finds the first share in an order; of equal ones, that of the least account.
func (a *aborts) minShare(before func(o, than *share) bool) *share {
	var first *share
	for _, s := range a.shares {
		if first == nil || before(s, first) || !before(first, s) && s.user < first.user {
			first = s
		}
	}
	return first
}

// maxKeptValue bounds what is kept with an abort of the value for which a condition
// failed. Somewhat arbitrary: of the size of the rest of a tombstone, while a value may be
// a mebibyte.
const maxTombstoneValue = 256

// kept is as much of a failure as is remembered: who has to be answered once more is not
// told of a large value.
func trimFailure(f *msg.Failure) *msg.Failure {
	if f == nil || f.Current == nil || len(f.Current.Value) <= maxTombstoneValue {
		return f
	}
	short := *f
	short.Current = nil
	return &short
}
