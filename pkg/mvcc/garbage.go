package mvcc

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// note says that the version of key at old was replaced at index at.
type note struct {
	key     []byte
	old, at kv.Index
	// tombstone: what became visible at at is a tombstone, which can go too.
	tombstone bool
}

// Garbage remembers which versions have been replaced, in the order in which
// that happened, until they can be removed. It is bounded: past the bound it
// forgets the oldest notes and asks for a sweep of the shard's rows instead.
type Garbage struct {
	notes []note
	limit int
	// Lost: notes were forgotten, or an earlier incarnation may have left
	// some: only a sweep finds what they named.
	Lost bool
}

// NewGarbage makes a list of at most limit notes. It starts out Lost, since a
// restart forgets all notes.
func NewGarbage(limit int, lost bool) *Garbage { return &Garbage{limit: limit, Lost: lost} }

// Replaced notes that the version of key that became visible at old was
// replaced at index at. It keeps key, which must not change.
func (g *Garbage) Replaced(key []byte, old, at kv.Index, tombstone bool) {
	if old == 0 && !tombstone {
		return
	}
	if len(g.notes) >= g.limit {
		g.Lost = true
		g.notes = append(g.notes[:0], g.notes[len(g.notes)/2:]...)
	}
	g.notes = append(g.notes, note{key, old, at, tombstone})
}

// Len is the number of notes.
func (g *Garbage) Len() int { return len(g.notes) }

// Collect removes what no read at horizon or above can see, and returns the
// entries that do it: one per version, or one per key that has many.
func (g *Garbage) Collect(horizon kv.Index) []entry.Entry {
	n := 0
	for n < len(g.notes) && g.notes[n].at <= horizon {
		n++
	}
	if n == 0 {
		return nil
	}
	ready := g.notes[:n]
	slices.SortStableFunc(ready, func(a, b note) int { return bytes.Compare(a.key, b.key) })
	out := make([]entry.Entry, 0, n)
	for i := 0; i < n; {
		j := i
		for j < n && bytes.Equal(ready[j].key, ready[i].key) {
			j++
		}
		out = removal(out, ready[i:j])
		i = j
	}
	g.notes = append([]note(nil), g.notes[n:]...)
	return out
}

// fewVersions is up to how many versions of a key are named one by one. More
// are for the store to find. Somewhat arbitrary.
const fewVersions = 8

// removal appends the entries that remove what the notes on one key name. A
// tombstone goes together with everything below it, named or not: else a
// version that was forgotten would be seen again.
func removal(out []entry.Entry, notes []note) []entry.Entry {
	below, known := kv.Index(0), len(notes) <= fewVersions
	for _, n := range notes {
		below = max(below, n.old+1)
		if n.tombstone {
			below, known = max(below, n.at+1), false
		}
	}
	e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: notes[0].key, Index: below}
	if !known {
		return append(out, e)
	}
	e.Action = entry.Delete
	for _, n := range notes {
		e.Index = n.old
		out = append(out, e)
	}
	return out
}
