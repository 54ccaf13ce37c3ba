package engine

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// PageWalk finds the pages that no version references. The caller passes the keys of the page table in
// order to Page while it returns true, and then calls End.
type PageWalk struct {
	// Limit is the number of pages after which no further user key is started; 0 means unbounded.
	Limit int
	// Versions visits the stored values of all versions of a key.
	Versions func(user []byte, visit func(value []byte)) error
	// Garbage and Resume are those of the result.
	Garbage []entry.Garbage
	Resume  []byte

	user   []byte
	stored []uint64
	n      int
	last   []byte
	err    error
}

// Page adds the key of a page, and reports whether the walk continues.
func (w *PageWalk) Page(key []byte) bool {
	user, id, ok := entry.SplitPageKey(key)
	if !ok {
		return true // not a page key: ignored
	}
	if len(w.stored) > 0 && !bytes.Equal(user, w.user) {
		w.collectUnreferenced()
		if w.err != nil {
			return false
		}
		if w.Limit > 0 && w.n >= w.Limit {
			w.Resume = kv.Next(w.last)
			return false
		}
	}
	w.user, w.last = append(w.user[:0], user...), append(w.last[:0], key...)
	w.stored = append(w.stored, id)
	w.n++
	return true
}

// End ends the walk.
func (w *PageWalk) End() error {
	if w.err == nil && len(w.stored) > 0 {
		w.collectUnreferenced()
	}
	return w.err
}

// collectUnreferenced adds the unreferenced pages of one key. If one of its versions cannot be read, none is
// added.
func (w *PageWalk) collectUnreferenced() {
	referenced, readable := map[uint64]bool{}, true
	w.err = w.Versions(w.user, func(value []byte) {
		pages, err := entry.Pages(value)
		readable = readable && err == nil
		for _, p := range pages {
			referenced[p.ID] = true
		}
	})
	g := entry.Garbage{Key: bytes.Clone(w.user)}
	for _, id := range w.stored {
		if !referenced[id] {
			g.Pages = append(g.Pages, id)
		}
	}
	if w.err == nil && readable && len(g.Pages) > 0 {
		w.Garbage = append(w.Garbage, g)
	}
	w.stored = w.stored[:0]
}
