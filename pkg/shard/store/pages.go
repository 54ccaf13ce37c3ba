package store

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Pages asks for pages of an item's value on behalf of a waiter, and returns for
// how many he has to wait.
func (s *Store) Pages(it *mvcc.Item, pages []adt.Page, waiter any) (n int) {
	for _, p := range pages {
		if p.Filled() {
			continue
		}
		i := slices.IndexFunc(it.Loads, func(l *mvcc.Load) bool { return l.Page == p })
		if i < 0 {
			i = len(it.Loads)
			l := &mvcc.Load{Page: p}
			it.Loads = append(it.Loads, l)
			if i == 0 {
				s.keys.Pin(it.Key) // once for all pages: pins are counted as those who want the key
			}
			user, commit := callerOf(waiter)
			s.ReadPage(it.Key, p, entry.Read{Index: s.index, User: user, Commit: commit}, func(err error) { s.paged(it, l, err) })
		}
		if l := it.Loads[i]; !slices.Contains(l.Waiting, waiter) {
			l.Waiting = append(l.Waiting, waiter)
			n++
		}
	}
	return n
}

// ReadPage reads a page that is seen at an index, both of which r says, and for whom.
func (s *Store) ReadPage(key []byte, p adt.Page, r entry.Read, then func(error)) {
	r.Kind, r.Table, r.Key = entry.ReadRow, entry.TablePage, entry.PageKey(key, p.Ref().ID)
	s.stats.PagesRead++
	s.ReadAt(r, func(r *entry.ReadResult) {
		switch {
		case p.Filled(): // by another read; the page may have been written anew since, and be gone
			then(nil)
		case r.Err != nil:
			then(r.Err)
		case len(r.Rows) == 0:
			then(mvcc.DamagedPages(key, "a page is missing"))
		default:
			err := p.Fill(r.Rows[0].Value)
			if err != nil {
				err = mvcc.DamagedPages(key, err.Error())
			}
			then(err)
		}
	})
}

// paged: a page has been read, or cannot be.
func (s *Store) paged(it *mvcc.Item, l *mvcc.Load, err error) {
	it.Loads = slices.DeleteFunc(it.Loads, func(o *mvcc.Load) bool { return o == l })
	last := len(it.Loads) == 0
	for _, waiter := range l.Waiting {
		w, own := waiter.(*workIn)
		if !own {
			s.waking = append(s.waking, Wake{waiter, err, true})
			continue
		}
		w.missing--
		if w.missing == 0 {
			s.workTopsIn(it)
		}
	}
	if last { // others, asked for just now, have their own pin
		s.keys.Unpin(it)
	}
}

// storeInPages writes a value as a directory and the pages of it that are new, and
// has row be the directory's.
func (s *Store) storeInPages(it *mvcc.Item, row *entry.Entry) error {
	size, born := s.cfg.Paging.Page(adt.Size(&it.Value)), row.Index // a row that a function keeps would be allocated
	to := &adt.Storing{Bytes: size, Forget: s.env.Mutants.Has(mutant.TopsDropped)}
	to.Put = func(content []byte) entry.PageRef {
		s.writes++
		ref := entry.PageRef{ID: s.writes, Born: born}
		s.env.Write(entry.Entry{Table: entry.TablePage, Key: entry.PageKey(it.Key, ref.ID), Value: content})
		s.stats.PagesWritten++
		return ref
	}
	pages, directory, err := adt.StoreInPages(&it.Value, to)
	if err != nil {
		return err
	}
	row.Value = entry.EncodeDirectory(&it.Value, pages, directory)
	it.Chain = mvcc.Chain{Pages: pages}
	return nil
}

// dropPages notes which pages are not named any more by what has taken the place
// of a row that named them.
func (s *Store) dropPages(it *mvcc.Item, before []entry.PageRef, at kv.Index) {
	if len(before) > 0 {
		dropped := mvcc.Dropped(before, it.Pages)
		for i := range dropped {
			if s.env.Mutants.Has(mutant.PagesPastPin) {
				dropped[i].Born = at
			}
		}
		s.garbage.Dropped(it.Key, dropped, at)
	}
}

// workIn is a reading of pages so that changes which are kept beside them can be
// worked in.
type workIn struct{ missing int }

// lighten has changes that are kept beside pages be worked in, if they have come
// to weigh much.
func (s *Store) lighten(it *mvcc.Item) {
	if pages := s.cfg.Paging.TopHeavy(&it.Value); len(pages) > 0 {
		w := &workIn{}
		w.missing = s.Pages(it, pages, w)
	}
}

// workTopsIn writes a value anew, without a change, so that what is kept beside
// its pages goes into them. Where nobody reads since, it takes the place of the
// newest row.
func (s *Store) workTopsIn(it *mvcc.Item) {
	old := it.Index
	unread := old > s.newestRead()
	if !it.Loaded || !adt.InPages(&it.Value) || old == s.index && !unread {
		return // it was replaced meanwhile, or is being read
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: s.index}
	if unread {
		row.Index = old
	}
	pages, below := it.Pages, it.Below
	if err := s.storeInPages(it, &row); err != nil {
		panic(err) // it has been decoded
	}
	it.Index = row.Index
	s.place(it, row, unread)
	if unread {
		old = 0
	}
	s.dropPages(it, pages, s.index)
	s.garbage.Replaced(it.Key, below, old, s.index, false)
}

// pageSwept removes pages that the sweep has found.
func (s *Store) pageSwept(g *entry.Garbage) {
	for _, id := range g.Pages {
		s.env.Delete(entry.TablePage, entry.PageKey(g.Key, id))
	}
}
