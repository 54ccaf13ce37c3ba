package activity

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/msg"
)

const (
	// maxKeys bounds the keys of the table, maxPairs the pairs of operations of a
	// key, and othersPairs those of the nameless one.
	maxKeys     = 512
	maxPairs    = 8
	othersPairs = 256
	// minutes is how many cells a sum is made of.
	minutes = 6
	minute  = int64(60e9)
)

// Pair is what the two sides of a wait did with a key: modes (adt.Mode), without
// the part of the value that they were about, and methods (adt.Methods).
type Pair struct {
	Mode, HolderMode       uint64
	Methods, HolderMethods uint64
}

// modeMask leaves out which part of a value a mode is about (adt.Mode).
const modeMask = 1<<16 - 1

// PairOf returns the pair of operations of a receipt. The metrics use it as well, so that both distinguish the
// same pairs.
func PairOf(r *msg.Receipt) Pair {
	return Pair{r.Mode & modeMask, r.HolderMode & modeMask, r.Methods, r.HolderMethods}
}

// Conflict sums up the waits for a key of one pair of operations.
type Conflict struct {
	// Key is nil for those of keys that had to make room.
	Key []byte
	Pair
	Waits, Aborts uint64
	Nanos         int64
	// Since is when transactions began to wait for the key, with no pause longer
	// than the table remembers, and Last when one last did, in nanoseconds since
	// 1970.
	Since, Last int64
}

type sums struct {
	Waits, Aborts uint64
	Nanos         int64
}

func (s *sums) add(o sums) {
	s.Waits, s.Aborts, s.Nanos = s.Waits+o.Waits, s.Aborts+o.Aborts, s.Nanos+o.Nanos
}

// window is a sum by minute; cells are used in turn.
type window struct {
	pair  Pair
	cells [minutes]sums
	last  int64
}

func (w *window) total() (s sums) {
	for i := range w.cells {
		s.add(w.cells[i])
	}
	return s
}

type keyConflicts struct {
	key         []byte
	since, last int64
	nanos       int64 // for comparing keys, of all time that it is here
	pairs       []window
}

// conflicts is the table.
type conflicts struct {
	keys   map[string]*keyConflicts
	others keyConflicts
	// current is the minute that is counted in, since 1970.
	current int64
}

func newConflicts() conflicts { return conflicts{keys: map[string]*keyConflicts{}} }

// add counts a receipt.
func (c *conflicts) add(now int64, r *msg.Receipt, s sums) {
	c.rotate(now)
	k := c.keys[string(r.Key)]
	switch {
	case len(r.Key) == 0:
		k = &c.others // a wait for no key: a shard had restarted
	case k == nil:
		if len(c.keys) >= maxKeys {
			c.makeRoom()
		}
		k = &keyConflicts{key: bytes.Clone(r.Key), since: now}
		c.keys[string(k.key)] = k
	}
	k.last, k.nanos = now, k.nanos+s.Nanos
	most := maxPairs
	if k == &c.others {
		most = othersPairs
	}
	w := k.window(PairOf(r), most)
	w.cells[c.cell()].add(s)
	w.last = now
}

func (c *conflicts) cell() int { return int(c.current % minutes) }

// window finds that of a pair. The last of as many as there may be has all others.
func (k *keyConflicts) window(p Pair, most int) *window {
	for i := range k.pairs {
		if k.pairs[i].pair == p {
			return &k.pairs[i]
		}
	}
	switch n := len(k.pairs); {
	case n < most-1:
		k.pairs = append(k.pairs, window{pair: p})
	case n < most:
		k.pairs = append(k.pairs, window{}) // of which nothing is said
	}
	return &k.pairs[len(k.pairs)-1]
}

// makeRoom drops the least of a few keys; the order of the map is random.
func (c *conflicts) makeRoom() {
	var least *keyConflicts
	tried := 0
	for _, k := range c.keys {
		if least == nil || k.nanos < least.nanos {
			least = k
		}
		tried++
		if tried == 4 {
			break
		}
	}
	for i := range least.pairs {
		from := &least.pairs[i]
		to := c.others.window(from.pair, othersPairs)
		for m := range from.cells {
			to.cells[m].add(from.cells[m])
		}
		to.last = max(to.last, from.last)
	}
	c.others.last = max(c.others.last, least.last)
	delete(c.keys, string(least.key))
}

// rotate goes on to the present minute: what is older than the cells is forgotten.
func (c *conflicts) rotate(now int64) {
	m := now / minute
	if m <= c.current {
		return
	}
	for i := c.current + 1; i <= m && i <= c.current+minutes; i++ {
		c.forget(int(i % minutes))
	}
	c.current = m
}

// forget empties a cell, and drops what has nothing left.
func (c *conflicts) forget(cell int) {
	empty := func(k *keyConflicts) bool {
		k.pairs = slices.DeleteFunc(k.pairs, func(w window) bool {
			w.cells[cell] = sums{}
			return w.total() == sums{}
		})
		for i := range k.pairs {
			k.pairs[i].cells[cell] = sums{}
		}
		return len(k.pairs) == 0
	}
	for key, k := range c.keys {
		if empty(k) {
			delete(c.keys, key)
		}
	}
	empty(&c.others)
}

func (c *conflicts) list() (out []Conflict) {
	add := func(k *keyConflicts) {
		for i := range k.pairs {
			w := &k.pairs[i]
			s := w.total()
			out = append(out, Conflict{Key: k.key, Pair: w.pair, Waits: s.Waits, Aborts: s.Aborts, Nanos: s.Nanos,
				Since: k.since, Last: w.last})
		}
	}
	for _, k := range c.keys {
		add(k)
	}
	add(&c.others)
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(b.Aborts, a.Aborts), bytes.Compare(a.Key, b.Key))
	})
	return out
}
