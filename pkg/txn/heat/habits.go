package heat

import (
	"github.com/linchpindb/linchpin/pkg/msg"
)

// An interactive transaction that reads a contended key and then writes it should write-lock it at the read. Without
// a lock, its read is stale at commit. With a read lock, it deadlocks with other such readers, and all but one abort.
// So a gateway remembers, for contended keys, whether the transactions that read them wrote them.

const (
	// maxHabits bounds the keys with a habit. The value is somewhat arbitrary: there are at most a few hundred
	// hot keys.
	maxHabits = 1024
	// maxWrites bounds the counter of a key. A transaction that writes the key adds 1, one that only reads it subtracts
	// readWeight. So the lock is taken early if at least about two of three transactions write.
	maxWrites, readWeight = 4, 2
	// contendedFor is for how long a key counts as contended, in nanoseconds.
	contendedFor = 10_000_000_000
)

// habits are counters of writes by interactive transactions that have read a contended key.
type habits struct {
	keys map[string]*habit
	// order are the keys in the order of insertion; next is the position of the oldest one.
	order []string
	next  int
}

type habit struct {
	writes int
	// until is the time until which the key counts as contended.
	until int64
}

// getOrAdd returns the habit of a key. A new one replaces the oldest.
func (h *habits) getOrAdd(key []byte) *habit {
	x := h.keys[string(key)]
	if x != nil {
		return x
	}
	if h.keys == nil {
		h.keys = map[string]*habit{}
	}
	x = &habit{}
	name := string(key)
	h.keys[name] = x
	if len(h.order) < maxHabits {
		h.order = append(h.order, name)
		return x
	}
	delete(h.keys, h.order[h.next])
	h.order[h.next] = name
	h.next = (h.next + 1) % maxHabits
	return x
}

func (x *habit) addWrite() { x.writes = min(x.writes+1, maxWrites) }
func (x *habit) addRead()  { x.writes = max(x.writes-readWeight, 0) }

// isContended reports whether several transactions use a key now: it is hot, or a transaction has recently aborted
// because of it, or waited for it.
func (h *Heat) isContended(key []byte) bool {
	if h.hasMap() && h.hot.keys[string(key)] > 0 {
		return true
	}
	x := h.habits.keys[string(key)]
	return x != nil && h.env.Now < x.until
}

// LocksEarly reports whether an interactive transaction should write-lock a key when it reads it.
//
//	A: get k, put k     B: get k, put k, at the same time
//	no lock             both read k; A commits; B's read is stale, and B starts again
//	read lock           both hold k for reads; each waits for the other's; the younger is wounded
//	write lock          B waits for A at its get, and then reads A's value
func (h *Heat) LocksEarly(key []byte) bool {
	x := h.habits.keys[string(key)]
	return !h.env.NoEarlyLocks && x != nil && x.writes > 0 && h.isContended(key)
}

// OnCommit records whether a committing interactive transaction writes a key that it has read.
func (h *Heat) OnCommit(key string, writes bool) {
	if h.env.NoEarlyLocks || !h.isContended([]byte(key)) {
		return
	}
	x := h.habits.getOrAdd([]byte(key))
	if writes {
		x.addWrite()
	} else {
		x.addRead()
	}
}

// OnAbort records that an interactive transaction has aborted because of a key that it had read. writes: it would have
// written the key.
// An abort counts as contention by itself, so that the next attempt, which begins at once, locks early.
func (h *Heat) OnAbort(key []byte, writes bool) {
	if h.env.NoEarlyLocks {
		return
	}
	x := h.habits.getOrAdd(key)
	x.until = h.env.Now + contendedFor
	if writes {
		x.addWrite()
	}
}

// OnWait records that an interactive transaction has waited for a key.
func (h *Heat) OnWait(r *msg.Receipt) {
	x := h.habits.keys[string(r.Key)]
	if x != nil && r.WaitedNanos > 0 {
		x.until = h.env.Now + contendedFor
	}
}
