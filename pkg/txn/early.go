package txn

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// An open transaction that reads a contended key and then writes it does best to take
// the lock for that with the read. Without a lock it finds its read stale when it
// commits; with one for reading it meets others who have that too, and of whom one has
// to give way. So a gateway remembers, of contended keys, whether those who read them
// wrote them (docs/decisions/0031-early-locks.md).

const (
	// maxHabits bounds the keys of which a machine remembers it. Somewhat arbitrary:
	// there are at most a few hundred hot ones.
	maxHabits = 1024
	// sureHabit is the most that is made of writing what was read. Each who reads a key
	// and does not write it takes doubtHabit off, so that the lock is taken early where at
	// least about two of three write.
	sureHabit, doubtHabit = 4, 2
	// contendedFor is for how long a key is taken for contended, in nanoseconds.
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
	// until is when the key ceases to be contended, if nobody loses over it.
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
	if h.keys[name] = x; len(h.order) < maxHabits {
		h.order = append(h.order, name)
		return x
	}
	delete(h.keys, h.order[h.next])
	h.order[h.next] = name
	h.next = (h.next + 1) % maxHabits
	return x
}

// contended reports whether several are known to want a key at a time: it is hot, or
// somebody has lost an attempt over it of late, or waited for it.
func (g *Gateway) contended(key []byte) bool {
	if g.heatKnown() && g.heat.keys[string(key)] > 0 {
		return true
	}
	x := g.habits.keys[string(key)]
	return x != nil && g.now < x.until
}

// early reports whether an open transaction that reads a key had best lock it as if
// it wrote it.
func (g *Gateway) early(c *call, key []byte) bool {
	if g.cfg.NoEarlyLocks || c.kind != interactive || c.readOnly {
		return false
	}
	x := g.habits.keys[string(key)]
	return x != nil && x.written > 0 && g.contended(key)
}

// noteHabits remembers what an open transaction, which asks to commit, has made of
// the contended keys that it has read.
func (g *Gateway) noteHabits(c *call) {
	if g.cfg.NoEarlyLocks {
		return
	}
	s := c.session
	for _, key := range slices.Sorted(maps.Keys(s.base)) {
		if !g.contended([]byte(key)) {
			continue
		}
		x := g.habits.of([]byte(key))
		if len(s.byKey[key]) > 0 {
			x.written = min(x.written+1, sureHabit)
		} else {
			x.written = max(x.written-doubtHabit, 0)
		}
	}
}

// noteLost remembers that an open transaction has lost an attempt over a key that it
// has read, and whether it was about to write that.
func (g *Gateway) noteLost(c *call, f *msg.Failure) {
	if g.cfg.NoEarlyLocks || c.kind != interactive || c.readOnly || !f.Reason.Contention() {
		return
	}
	key := f.Key
	if len(key) == 0 && f.Conflict != nil {
		key = f.Conflict.Key
	}
	if _, read := c.session.base[string(key)]; !read {
		return
	}
	x := g.habits.of(key)
	x.until = g.now + contendedFor
	if len(c.session.byKey[string(key)]) > 0 {
		x.written = min(x.written+1, sureHabit)
	}
}

// noteWaited remembers that an open transaction has waited for a key that is known.
func (g *Gateway) noteWaited(r *msg.Receipt) {
	x := g.habits.keys[string(r.Key)]
	if x != nil && r.WaitedNanos > 0 {
		x.until = g.now + contendedFor
	}
}
