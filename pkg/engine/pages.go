package engine

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// PageWalk finds the pages that no version names. It is given the keys of the
// page table, in order, as long as Page says, and then End is called.
type PageWalk struct {
	// Limit is over how many pages no further user key is begun; 0: none.
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

// Page takes the key of a page, and reports whether there is to be another one.
func (w *PageWalk) Page(key []byte) bool {
	user, id, ok := entry.SplitPageKey(key)
	if !ok {
		return true // it is none of ours, and nothing is known of it
	}
	if len(w.stored) > 0 && !bytes.Equal(user, w.user) {
		w.judge()
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
		w.judge()
	}
	return w.err
}

// judge finds what is garbage of one key. If one of its versions cannot be read,
// nothing is.
func (w *PageWalk) judge() {
	named, readable := map[uint64]bool{}, true
	w.err = w.Versions(w.user, func(value []byte) {
		pages, err := entry.Pages(value)
		readable = readable && err == nil
		for _, p := range pages {
			named[p.ID] = true
		}
	})
	g := entry.Garbage{Key: bytes.Clone(w.user)}
	for _, id := range w.stored {
		if !named[id] {
			g.Pages = append(g.Pages, id)
		}
	}
	if w.err == nil && readable && len(g.Pages) > 0 {
		w.Garbage = append(w.Garbage, g)
	}
	w.stored = w.stored[:0]
}
