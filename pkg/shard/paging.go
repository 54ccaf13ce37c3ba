package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// Large values are in pages, which are read when somebody needs them. A task
// finds out before it asks for locks what it will probably need (preload), and is
// sent back to wait if executing it shows that it needs more. Nobody lacks pages
// who cannot wait: what has been executed has looked up what it changes, and what
// was looked up stays known (package adt/paged). After a restart, promises are
// executed once more to find out (ready).

// pager waits for pages: a task, in the try in which it asked.
type pager struct {
	task  *task
	round int
}

// page asks for pages of an item's value on behalf of a waiter, and returns for
// how many he has to wait.
func (m *Machine) page(it *mvcc.Item, pages []adt.Page, waiter any) (n int) {
	for _, p := range pages {
		if p.Filled() {
			continue
		}
		i := slices.IndexFunc(it.Loads, func(l *mvcc.Load) bool { return l.Page == p })
		if i < 0 {
			i = len(it.Loads)
			l := &mvcc.Load{Page: p}
			if it.Loads = append(it.Loads, l); i == 0 {
				m.store.Pin(it.Key) // once for all pages: pins are counted as those who want the key
			}
			m.askForPage(it.Key, p, m.index, func(err error) { m.paged(it, l, err) })
		}
		if l := it.Loads[i]; !slices.Contains(l.Waiting, waiter) {
			l.Waiting = append(l.Waiting, waiter)
			n++
		}
	}
	return n
}

// askForPage reads a page that is seen at an index.
func (m *Machine) askForPage(key []byte, p adt.Page, at kv.Index, then func(error)) {
	r := entry.Read{Kind: entry.ReadRow, Table: entry.TablePage, Key: entry.PageKey(key, p.Ref().ID), Index: at}
	m.stats.PagesRead++
	m.askAt(r, &coldRead{then: func(r *entry.ReadResult) {
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
	}})
}

// paged: a page has been read, or cannot be.
func (m *Machine) paged(it *mvcc.Item, l *mvcc.Load, err error) {
	it.Loads = slices.DeleteFunc(it.Loads, func(o *mvcc.Load) bool { return o == l })
	last := len(it.Loads) == 0
	for _, w := range l.Waiting {
		switch w := w.(type) {
		case pager:
			m.pagedFor(w, err)
		case *prepared:
			m.pagedForPromise(w, err)
		case *workIn:
			if w.missing--; w.missing == 0 {
				m.workTopsIn(it)
			}
		}
	}
	if last { // others, asked for just now, have their own pin
		m.store.Unpin(it)
	}
}

// pagedFor has a task go on when it has all that it asked for.
func (m *Machine) pagedFor(w pager, err error) {
	t := w.task
	if t.round != w.round || t.stage != stageLoading && t.stage != stagePaging {
		return // given up, or begun again
	}
	if err != nil {
		t.err = err
	}
	if t.missing--; t.missing > 0 {
		return
	}
	switch {
	case t.stage == stageLoading:
		m.loaded(t)
	case t.readsOnly():
		t.stage = stageLoading
		m.loaded(t)
	case t.err != nil:
		m.refuse(t, failureOf(t.err))
	case t.kind == taskOptimistic:
		m.run(t)
	default:
		m.acquire(t)
	}
}

// readsOnly reports whether the task is a reader's.
func (t *task) readsOnly() bool {
	return t.kind == taskRead || t.kind == taskPark && t.rec.Park.Snapshot
}

// preload asks for the pages that the task will probably need, and reports
// whether it has to wait. They are found by planning its calls as things are; one
// more round may show more.
func (m *Machine) preload(t *task) bool {
	if t.err != nil {
		return false
	}
	for i := range t.ops {
		op := &t.ops[i]
		if !op.Span().IsPoint() {
			continue
		}
		it := m.store.Get(op.Key)
		if it == nil || adt.Away(&it.Value) == 0 {
			continue
		}
		t.paging = true
		t.missing += m.page(it, likelyPages(t, op, &it.Value), pager{t, t.round})
	}
	return t.missing > 0
}

// likelyPages are those that one operation needs.
func likelyPages(t *task, op *msg.Op, v *entry.Value) []adt.Page {
	if op.Kind == msg.OpMoveOut || op.Kind == msg.OpGet && op.Stored || op.Expect == msg.ExpectValue {
		return adt.Missing(v)
	}
	if !op.IsCall() || uint32(v.Type) != op.Type {
		return nil
	}
	method, err := adt.Find(op)
	if err != nil {
		return nil
	}
	plan, _ := (&adt.Request{Method: method, Args: op.Args, Value: v, Unique: mvcc.Unique(t.txn, op.Seq)}).Plan(nil)
	if pages := adt.Lacks(plan.Err); pages != nil || plan.Err != nil {
		return pages
	}
	return adt.Unneeded(v, plan.Calls)
}

// lacksPages has a task wait for pages that executing it has shown to be absent.
// It keeps its locks, and asks for them again then; a reader registers again.
func (m *Machine) lacksPages(t *task, x *mvcc.Execution) bool {
	if len(x.Absent) == 0 {
		return false
	}
	t.stage, t.paging, t.missing = stagePaging, true, 0
	t.round++
	if t.readsOnly() {
		if t.entered.Tag != nil {
			m.queue.Done(m.now, &t.entered)
			t.entered.Tag = nil
		}
		if t.rec != nil {
			t.rec.State = record.Parked
		}
	}
	for _, a := range x.Absent {
		it := m.store.Get(a.Key)
		t.missing += m.page(it, a.Pages, pager{t, t.round})
	}
	return true
}

// stands reports whether a promise has not been settled meanwhile.
func (m *Machine) stands(pr *prepared) bool {
	a := m.attempts[pr.row.Txn]
	return a != nil && a.prepared == pr
}

// ready reports whether a promise, which stands, can be kept at once. After a restart its keys
// are read, and then the pages that its changes need are. If what is stored
// contradicts itself, the promise can be neither kept nor broken: it waits, and is
// looked at again later.
func (m *Machine) ready(pr *prepared) bool {
	if !pr.loaded() {
		return false
	}
	if !pr.recovered {
		return true
	}
	able := true
	for i, it := range pr.items {
		e := &pr.row.Effects[i]
		if e.Kind != entry.EffectChange {
			continue
		}
		_, err := adt.Apply(entry.Type(e.Type), &it.Value, e.Calls)
		if pages := adt.Lacks(err); pages != nil {
			m.page(it, pages, pr)
		} else if err != nil {
			m.unreadable(pr)
		}
		able = able && err == nil
	}
	pr.recovered = !able
	return able
}

// unreadable has a promise be looked at again later.
func (m *Machine) unreadable(pr *prepared) {
	m.stats.ReadErrors++
	if !slices.Contains(m.unread, pr) {
		m.unread = append(m.unread, pr)
	}
}

// pagedForPromise: a promise may be kept now. What cannot be read is asked for
// again later.
func (m *Machine) pagedForPromise(pr *prepared, err error) {
	switch {
	case !m.stands(pr):
	case err != nil:
		m.unreadable(pr)
	case m.ready(pr) && pr.decided != nil:
		d := pr.decided
		pr.decided = nil
		m.onDecide(d)
	}
}

// storeInPages writes a value as a directory and the pages of it that are new, and
// has row be the directory's.
func (m *Machine) storeInPages(it *mvcc.Item, row *entry.Entry) error {
	size, born := m.cfg.Paging.Page(adt.Size(&it.Value)), row.Index // a row that a function keeps would be allocated
	to := &adt.Storing{Bytes: size, Forget: m.cfg.Mutants.Has(mutant.TopsDropped)}
	to.Put = func(content []byte) entry.PageRef {
		m.writes++
		ref := entry.PageRef{ID: m.writes, Born: born}
		m.write(entry.Entry{Table: entry.TablePage, Key: entry.PageKey(it.Key, ref.ID), Value: content})
		m.stats.PagesWritten++
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
func (m *Machine) dropPages(it *mvcc.Item, before []entry.PageRef, at kv.Index) {
	if len(before) > 0 {
		dropped := mvcc.Dropped(before, it.Pages)
		for i := range dropped {
			if m.cfg.Mutants.Has(mutant.PagesPastPin) {
				dropped[i].Born = at
			}
		}
		m.garbage.Dropped(it.Key, dropped, at)
	}
}

// workIn is a reading of pages so that changes which are kept beside them can be
// worked in.
type workIn struct{ missing int }

// lighten has changes that are kept beside pages be worked in, if they have come
// to weigh much.
func (m *Machine) lighten(it *mvcc.Item) {
	if pages := m.cfg.Paging.TopHeavy(&it.Value); len(pages) > 0 {
		w := &workIn{}
		w.missing = m.page(it, pages, w)
	}
}

// workTopsIn writes a value anew, without a change, so that what is kept beside
// its pages goes into them. Where nobody reads since, it takes the place of the
// newest row.
func (m *Machine) workTopsIn(it *mvcc.Item) {
	old := it.Index
	unread := old > m.newestRead()
	if !it.Loaded || !adt.InPages(&it.Value) || old == m.index && !unread {
		return // it was replaced meanwhile, or is being read
	}
	row := entry.Entry{Table: entry.TableVersion, Key: it.Key, Index: m.index}
	if unread {
		row.Index = old
	}
	pages, below := it.Pages, it.Below
	if err := m.storeInPages(it, &row); err != nil {
		panic(err) // it has been decoded
	}
	it.Index = row.Index
	if m.place(it, row, unread); unread {
		old = 0
	}
	m.dropPages(it, pages, m.index)
	m.garbage.Replaced(it.Key, below, old, m.index, false)
}

// pageSwept removes pages that the sweep has found.
func (m *Machine) pageSwept(g *entry.Garbage) {
	for _, id := range g.Pages {
		m.del(entry.TablePage, entry.PageKey(g.Key, id))
	}
}

// fillPast asks for the pages that a read in the past lacks, as of its own index.
func (m *Machine) fillPast(p *pastRead, absent []mvcc.Absent) {
	for _, a := range absent {
		for _, x := range a.Pages {
			if !x.Filled() {
				p.missing++
				m.askForPage(a.Key, x, p.q.Index, func(err error) { m.pastArrived(p, err) })
			}
		}
	}
}
