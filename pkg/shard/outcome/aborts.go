package outcome

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// aborts are the commits that can never be made here: aborted, rejected or cancelled. They are
// numbered in the order in which they were aborted.
//
// A late copy of a request can revive such a commit only if it was sent before the abort. At that
// time its gateway knew fewer aborts than the number of this one, and each request names how many it
// knew. So an abort that is evicted raises a low watermark to its number, and a request that names a
// lower one is presumed aborted. Neither the age of the transaction nor the time in its id matters:
//
//	abort numbers          1    2    3    4    5       limit 3: 1 and 2 are evicted
//	low watermark                    2
//	request that knew 1    sent before abort 2: presumed aborted
//	request that knew 4    sent after it: new, or found among 3 to 5
//
// Each user has a share of the memory with a low watermark. If memory is full, the largest share
// loses its oldest abort, so a watermark rises only for users with more than an equal share.
type aborts struct {
	limit int
	// size is the number of aborts in memory.
	size int
	// lastNumber is the number of the newest abort, and how many there have been.
	lastNumber uint64
	failures   map[kv.CommitID]*msg.Failure
	shares     map[kv.Account]*share
	// commonLowWatermark is that of users without a share.
	commonLowWatermark uint64
	// largest is a share of nearly maximal size, valid while it has at least largestMin elements.
	// That avoids comparing all shares at each eviction.
	largest    *share
	largestMin int
}

// maxShares bounds the users with a share. Somewhat arbitrary: more than have aborts within a short
// time.
const maxShares = 1024

// share is what is remembered of one user's aborts.
type share struct {
	user kv.Account
	// queue[head:] are the aborts in the order of their numbers.
	queue []tombstone
	head  int
	// lowWatermark is the number of the newest abort that was evicted.
	lowWatermark uint64
	// newest is the number of the newest abort.
	newest uint64
}

// tombstone is an aborted commit and the number of its abort.
type tombstone struct {
	commit kv.CommitID
	number uint64
}

func (s *share) len() int { return len(s.queue) - s.head }

// pop removes and returns the oldest abort. The share must not be empty.
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

// lowWatermark returns that of a user.
func (a *aborts) lowWatermark(user kv.Account) uint64 {
	if s := a.shares[user]; s != nil {
		return max(s.lowWatermark, a.commonLowWatermark)
	}
	return a.commonLowWatermark
}

// add records an abort, unless the commit has one.
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

// shareSlack: the share from which is evicted is smaller than the largest one by at most
// 1/shareSlack of the limit.
const shareSlack = 64

// evict removes one abort, after one was added to s.
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

// evictOldest removes the oldest abort of a share.
func (a *aborts) evictOldest(s *share) {
	delete(a.failures, s.pop().commit)
	a.size--
}

// shareOf returns the share of a user. If there are too many, it removes the one without an abort
// for the longest time.
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

// removeShare evicts all aborts of a user. Its watermark becomes the common one, since that user may
// have late copies in flight.
func (a *aborts) removeShare(s *share) {
	for s.len() > 0 {
		a.evictOldest(s)
	}
	a.commonLowWatermark = max(a.commonLowWatermark, s.lowWatermark)
	delete(a.shares, s.user)
	a.largest = nil
}

// minShare returns the first share in an order, and of equal ones that with the lowest account, so
// that the result does not depend on the order of the map.
func (a *aborts) minShare(before func(o, than *share) bool) *share {
	var first *share
	for _, s := range a.shares {
		if first == nil || before(s, first) || !before(first, s) && s.user < first.user {
			first = s
		}
	}
	return first
}

// maxTombstoneValue bounds the value, of a key for which a condition failed, that is kept with an
// abort, in bytes. Somewhat arbitrary: about the size of the rest of an entry, while a value may
// have 1 MiB.
const maxTombstoneValue = 256

// trimFailure returns a failure without a large value. Only the first response has that; a repeated
// one does not.
func trimFailure(f *msg.Failure) *msg.Failure {
	if f == nil || f.Current == nil || len(f.Current.Value) <= maxTombstoneValue {
		return f
	}
	short := *f
	short.Current = nil
	return &short
}
