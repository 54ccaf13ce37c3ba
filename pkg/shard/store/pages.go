package store

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Pages requests pages of an item's value for a waiter, and returns for how many it has to wait.
//
// A waiter that needs several pages is woken once for each (Wake.Page), so it counts them.
func (s *Store) Pages(it *mvcc.Item, pages []adt.Page, waiter any) (n int) {
	for _, p := range pages {
		// Another read has filled the page since the plan was made.
		if p.Filled() {
			continue
		}
		i := slices.IndexFunc(it.Loads, func(l *mvcc.Load) bool { return l.Page == p })
		if i < 0 {
			i = len(it.Loads)
			l := &mvcc.Load{Page: p}
			it.Loads = append(it.Loads, l)
			// The item must stay in memory while one of its pages is read.
			if i == 0 {
				s.keys.Acquire(it.Key) // one reference for all pages: the references of a key count transactions
			}
			user, commit := callerOf(waiter)
			s.ReadPage(it.Key, p, entry.Read{CSN: s.csn, User: user, Commit: commit}, func(err error) { s.onPage(it, l, err) })
		}
		if l := it.Loads[i]; !slices.Contains(l.Waiting, waiter) {
			l.Waiting = append(l.Waiting, waiter)
			n++
		}
	}
	return n
}

// ReadPage reads a page. r names the CSN and the user.
//
// HAZARD: a page is read at the CSN at which its directory was visible. At a later one it may be deleted: a page
// that a change has rewritten gets a new id, and the old one becomes garbage.
func (s *Store) ReadPage(key []byte, p adt.Page, r entry.Read, then func(error)) {
	r.Kind, r.Table, r.Key = entry.ReadRow, entry.TablePage, entry.PageKey(key, p.Ref().ID)
	s.stats.PagesRead++
	s.ReadAt(r, func(r *entry.ReadResult) {
		switch {
		case p.Filled(): // another read has filled it; since then the page may have been rewritten and deleted
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

// onPage handles a page that has been read, or cannot be read.
func (s *Store) onPage(it *mvcc.Item, l *mvcc.Load, err error) {
	it.Loads = slices.DeleteFunc(it.Loads, func(o *mvcc.Load) bool { return o == l })
	last := len(it.Loads) == 0
	for _, waiter := range l.Waiting {
		// A merge has no task; it starts when its last page has arrived.
		w, own := waiter.(*pageMerge)
		if !own {
			s.wakes = append(s.wakes, Wake{waiter, err, true})
			continue
		}
		w.missing--
		if w.missing == 0 {
			s.mergeIntoPages(it)
		}
	}
	if last { // a load that was requested meanwhile has its own reference
		s.keys.Release(it)
	}
}

// storeInPages writes the new pages of a value, and stores the directory of all pages in row.
//
// Page rows have ids instead of CSNs: a page is written once, and several versions of the directory name it.
func (s *Store) storeInPages(it *mvcc.Item, row *entry.Entry) error {
	// born is a copy: a row that the closure captures would be allocated.
	size, born := s.cfg.Paging.Page(adt.Size(&it.Value)), row.CSN
	to := &adt.Storing{Bytes: size, Mutants: s.env.Mutants}
	to.Put = func(content []byte) entry.PageRef {
		s.writes++
		ref := entry.PageRef{ID: s.writes, FirstCSN: born}
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

// recordDroppedPages records the pages that the newest row does not refer to any more as garbage.
func (s *Store) recordDroppedPages(it *mvcc.Item, before []entry.PageRef, at kv.CSN) {
	if len(before) > 0 {
		s.Collector.notes.AddDroppedPages(it.Key, s.Collector.droppedPages(before, it.Pages, at), at)
	}
}

// pageMerge reads the pages of a value, so that the changes stored beside them can be merged into them.
type pageMerge struct{ missing int }

// startPageMerge starts a merge if the changes stored beside the pages of a value have become large.
//
// Changes of pages that are not in memory are stored beside the directory. Each write of the directory writes them
// again, so at some size it is cheaper to read the pages once and merge.
func (s *Store) startPageMerge(it *mvcc.Item) {
	if pages := s.cfg.Paging.OverfullPages(&it.Value); len(pages) > 0 {
		w := &pageMerge{}
		w.missing = s.Pages(it, pages, w)
	}
}

// mergeIntoPages writes a value again, unchanged, with all changes merged into its pages. If no read is
// possible at the CSN of the newest row, the new row replaces it.
func (s *Store) mergeIntoPages(it *mvcc.Item) {
	old := it.CSN
	unread := old > s.newestReadableCSN()
	if !it.Loaded || !adt.InPages(&it.Value) || old == s.csn && !unread {
		return // replaced meanwhile, or its row can be read
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, CSN: s.csn}
	if unread {
		row.CSN = old
	}
	pages, below := it.Pages, it.Below
	if err := s.storeInPages(it, &row); err != nil {
		panic(err) // the value has been decoded, so it can be encoded
	}
	it.CSN = row.CSN
	s.placeRow(it, row, unread)
	if unread {
		old = 0
	}
	s.recordDroppedPages(it, pages, s.csn)
	s.Collector.notes.AddReplaced(it.Key, below, old, s.csn, false)
}
