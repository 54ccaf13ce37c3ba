package heat

import (
	"github.com/linchpindb/linchpin/pkg/msg"
)

// An open transaction that reads a contended key and then writes it does best to take the
// lock for that with the read. Without a lock it finds its read stale when it commits; with
// one for reading it meets others that have that too, of which all but one abort. So a
// gateway remembers, of contended keys, whether the transactions that read them wrote them.

const (
	// maxHabits bounds the keys of which a machine remembers it. Somewhat arbitrary:
	// there are at most a few hundred hot ones.
	maxHabits = 1024
	// sureHabit bounds how far a key counts as written. Each transaction that reads it and
	// does not write it takes doubtHabit off, so that the lock is taken early where at
	// least about two of three write.
	sureHabit, doubtHabit = 4, 2
	// contendedFor is for how long a key counts as contended, in nanoseconds.
	contendedFor = 10_000_000_000
)

// habits are what becomes of contended keys that open transactions read.
type habits struct {
	keys map[string]*habit
	// order is that in which they were met, and next the place of the oldest.
	order []string
	next  int
}

type habit struct {
	written int
	// until is when the key ceases to be contended, if no transaction loses over it.
	until int64
}

// of finds what is known of a key, or begins anew in the place of the oldest.
func (h *habits) of(key []byte) *habit {
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

func (x *habit) wrote()    { x.written = min(x.written+1, sureHabit) }
func (x *habit) onlyRead() { x.written = max(x.written-doubtHabit, 0) }

// contended reports whether several transactions are known to want a key now: it is hot, or
// one has lately lost an attempt over it, or waited for it.
func (h *Heat) contended(key []byte) bool {
	if h.known() && h.hot.keys[string(key)] > 0 {
		return true
	}
	x := h.habits.keys[string(key)]
	return x != nil && h.env.Now < x.until
}

// Early reports whether an open transaction that reads a key had best lock it as if it
// wrote it.
func (h *Heat) Early(key []byte) bool {
	x := h.habits.keys[string(key)]
	return !h.env.NoEarlyLocks && x != nil && x.written > 0 && h.contended(key)
}

// Committing notes what an open transaction that asks to commit has made of a key that it
// has read.
func (h *Heat) Committing(key string, writes bool) {
	if h.env.NoEarlyLocks || !h.contended([]byte(key)) {
		return
	}
	x := h.habits.of([]byte(key))
	if writes {
		x.wrote()
	} else {
		x.onlyRead()
	}
}

// Lost notes that an open transaction has lost an attempt over a key that it had read, and
// whether it was about to write that.
func (h *Heat) Lost(key []byte, writes bool) {
	if h.env.NoEarlyLocks {
		return
	}
	x := h.habits.of(key)
	x.until = h.env.Now + contendedFor
	if writes {
		x.wrote()
	}
}

// Waited notes that an open transaction has waited, if it is for a key that is known.
func (h *Heat) Waited(r *msg.Receipt) {
	x := h.habits.keys[string(r.Key)]
	if x != nil && r.WaitedNanos > 0 {
		x.until = h.env.Now + contendedFor
	}
}
