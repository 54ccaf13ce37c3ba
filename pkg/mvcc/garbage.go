package mvcc

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// note says that the version of key at old was replaced at index at: by a whole
// value, or a tombstone.
type note struct {
	key     []byte
	old, at kv.Index
	// below are older rows, in order, that were replaced with it: the chain that
	// it is the end of. Each is seen from its own index up to at.
	below []kv.Index
	// tombstone: what became visible at at is a tombstone, which can go too.
	tombstone bool
	// page, if it is not 0, is what this is about, instead of a version: a page of
	// the key's value, which was named from old up to at.
	page uint64
}

// rows counts what a note stands for.
func (n *note) rows() int { return 1 + len(n.below) }

// Garbage remembers which versions have been replaced, and which pages dropped, in
// the order in which that happened, until they can be removed. It is bounded: past the bound it
// forgets some notes and asks for a sweep of the shard's rows instead.
type Garbage struct {
	// fresh are notes that nobody has looked at yet, in the order of at.
	fresh []note
	// blocked are those that a kept index sees, by the newest such one.
	blocked map[kv.Index][]note
	n       int // rows of both
	limit   int
	// Lost counts the notes that were forgotten: only a sweep finds what they
	// named. An earlier life of the shard may have left some as well.
	Lost uint64
}

// NewGarbage makes a list of notes of at most limit versions. lost: a restart has forgotten
// all earlier ones.
func NewGarbage(limit int, lost bool) *Garbage {
	g := &Garbage{limit: limit, blocked: map[kv.Index][]note{}}
	if lost {
		g.Lost = 1
	}
	return g
}

// Replaced notes that the version of key that became visible at old was
// replaced at index at, and with it those of below, on which it rests; old is 0
// if only they were. It keeps key and below, which must not change.
func (g *Garbage) Replaced(key []byte, below []kv.Index, old, at kv.Index, tombstone bool) {
	if old == 0 && len(below) == 0 && !tombstone {
		return
	}
	g.note(note{key: key, old: old, at: at, below: below, tombstone: tombstone})
}

// Dropped notes that pages of the value of key are not named any more from index
// at on. A page is seen by whoever sees a version that names it, as a version
// would be that had been there all the time. It keeps key.
func (g *Garbage) Dropped(key []byte, pages []entry.PageRef, at kv.Index) {
	for _, p := range pages {
		g.note(note{key: key, old: p.Born, at: at, page: p.ID})
	}
}

// Unknown says that there are pages, or versions, which nobody has listed.
func (g *Garbage) Unknown() { g.Lost++ }

func (g *Garbage) note(x note) {
	if g.n >= g.limit {
		g.forget()
	}
	g.n += x.rows()
	g.fresh = append(g.fresh, x)
}

// forget drops notes: first those that cannot be worked off soon.
func (g *Garbage) forget() {
	before, drop := g.n, 0
	clear(g.blocked)
	g.n = 0
	for i := range g.fresh {
		g.n += g.fresh[i].rows()
	}
	for ; g.n > g.limit/2; drop++ {
		g.n -= g.fresh[drop].rows()
	}
	g.fresh = append(g.fresh[:0], g.fresh[drop:]...)
	g.Lost += uint64(before - g.n)
}

// Len is the number of versions that are noted.
func (g *Garbage) Len() int { return g.n }

// Fresh is the number of notes that nobody has looked at: at the last Collect
// they were above the floor.
func (g *Garbage) Fresh() int { return len(g.fresh) }

// Collect removes what no read can see, given that reads are at the indexes
// kept, in order, and at floor or above. It returns the entries that do it: one
// per version, or one per key that has many.
func (g *Garbage) Collect(floor kv.Index, kept []kv.Index) []entry.Entry {
	var ready []note
	n := 0
	for n < len(g.fresh) && g.fresh[n].at <= floor {
		ready = g.look(ready, g.fresh[n], kept)
		n++
	}
	if n > 0 {
		g.fresh = append([]note(nil), g.fresh[n:]...)
	}
	ready = g.unblock(ready, kept)
	slices.SortStableFunc(ready, func(a, b note) int { return bytes.Compare(a.key, b.key) })
	out := make([]entry.Entry, 0, len(ready))
	for i := 0; i < len(ready); {
		j := i
		for j < len(ready) && bytes.Equal(ready[j].key, ready[i].key) {
			j++
		}
		out = removal(out, ready[i:j], kept)
		i = j
	}
	return out
}

// unblock looks again at the notes whose index is no longer kept.
func (g *Garbage) unblock(ready []note, kept []kv.Index) []note {
	var free []kv.Index
	for k := range g.blocked {
		if _, is := slices.BinarySearch(kept, k); !is {
			free = append(free, k)
		}
	}
	slices.Sort(free)
	for _, k := range free {
		notes := g.blocked[k]
		delete(g.blocked, k)
		for _, x := range notes {
			ready = g.look(ready, x, kept)
		}
	}
	return ready
}

// look judges a note: it is ready, or files it under the newest kept index
// that sees what it names. What that does not see is ready. A tombstone is seen
// by whoever could otherwise see a version below it, so that it stays for any
// kept index below itself.
func (g *Garbage) look(ready []note, x note, kept []kv.Index) []note {
	i, _ := slices.BinarySearch(kept, x.at)
	g.n -= x.rows()
	if i == 0 {
		return append(ready, x)
	}
	newest := kept[i-1]
	seen, _ := slices.BinarySearch(x.below, newest+1)
	free := note{key: x.key, at: x.at, below: x.below[seen:], page: x.page}
	if x.old > newest {
		free.old, x.old = x.old, 0
	}
	if free.old > 0 || len(free.below) > 0 {
		ready = append(ready, free)
	}
	x.below = x.below[:seen]
	if x.old == 0 && seen == 0 && !x.tombstone {
		return ready
	}
	g.n += x.rows()
	g.blocked[newest] = append(g.blocked[newest], x)
	return ready
}

// fewVersions is up to how many versions of a key are named one by one. More
// are for the store to find. Somewhat arbitrary.
const fewVersions = 8

// removal appends the entries that remove what the notes on one key name.
func removal(out []entry.Entry, notes []note, kept []kv.Index) []entry.Entry {
	if !slices.ContainsFunc(notes, func(n note) bool { return n.page != 0 }) {
		return removeVersions(out, notes, kept)
	}
	var versions []note
	for i := range notes {
		if n := &notes[i]; n.page == 0 {
			versions = append(versions, *n)
		} else {
			out = append(out, entry.Entry{Action: entry.Delete, Table: entry.TablePage, Key: entry.PageKey(n.key, n.page)})
		}
	}
	if len(versions) == 0 {
		return out
	}
	return removeVersions(out, versions, kept)
}

// removeVersions removes those that are versions. A tombstone goes together with
// everything below it, named or not: else a version that was forgotten would be
// seen again.
func removeVersions(out []entry.Entry, notes []note, kept []kv.Index) []entry.Entry {
	below, gone, last, rows := kv.Index(0), kv.Index(0), kv.Index(0), 0
	for i := range notes {
		n := &notes[i]
		below, last, rows = max(below, n.newest()+1), max(last, n.at), rows+n.rows()
		if n.tombstone {
			gone = max(gone, n.at+1)
		}
	}
	if rows > fewVersions && (len(kept) == 0 || kept[0] >= last) {
		gone = max(gone, below)
	}
	e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: notes[0].key, Index: gone}
	if gone > 0 {
		out = append(out, e)
	}
	e.Action = entry.Delete
	remove := func(i kv.Index) {
		e.Index = i
		if i >= gone && i > 0 {
			out = append(out, e)
		}
	}
	for i := range notes {
		for _, b := range notes[i].below {
			remove(b)
		}
		remove(notes[i].old)
	}
	return out
}

// newest is the newest row that a note names, 0 if it names none.
func (n *note) newest() kv.Index {
	if n.old == 0 && len(n.below) > 0 {
		return n.below[len(n.below)-1]
	}
	return n.old
}
