package paged

import (
	"errors"
	"math"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Storing is how pages are made.
type Storing struct {
	// Bytes is how much a page has, more or less.
	Bytes int
	// Put takes the stored form of a new page and names it.
	Put func(row []byte) entry.PageRef
	// Forget has what is on top of pages that are not in memory be lost, for a
	// mutant.
	Forget bool
}

// Store is the Map, in pages, none of which has changed in memory since it was
// stored: those that had are cut anew. What is on top of pages that are not in
// memory stays there. It lacks no page, and what could be looked up in m can be
// looked up in it: where something was known, a page that is in memory goes on.
func (m Map[K, V]) Store(f *Form[K, V], to *Storing) Map[K, V] {
	s := storer[K, V]{Storing: to, form: f, run: tree.New(f.Order), away: &away{}}
	if m.dir == nil {
		s.run = m.whole
		if s.run.Len() > 0 {
			s.from, _ = s.run.At(0)
		}
		s.running = true
		s.cut(nil)
		return s.done()
	}
	for from, p := range m.dir.pages.All() {
		switch ok, err := p.opened(); {
		case !ok || err != nil: // what contradicts itself stays as it is, and is told when somebody looks
			s.cut(p)
			s.keep(from, p)
		case p.dirty, s.run.Len() > 0 && s.run.Bytes() < to.Bytes/2:
			if !s.running {
				s.running, s.from = true, from
			}
			s.run = s.run.Join(p.whole)
		default:
			s.cut(p)
			s.keep(from, p)
		}
	}
	s.cut(nil)
	return s.done()
}

// storer makes a directory, page by page.
type storer[K, V any] struct {
	*Storing
	form *Form[K, V]
	away *away
	// run are neighbours that are to be cut into pages, from a key on. There may
	// be a run of nothing.
	running bool
	run     tree.Map[K, V]
	from    K
	froms   []K
	pages   []*page[K, V]
	bytes   int
}

// keep takes a page as it is. It is counted among the new Map's from now on: those
// that are left out must not be.
func (s *storer[K, V]) keep(from K, p *page[K, V]) {
	if s.Forget && !p.open {
		p = &page[K, V]{stub: p.stub, n: p.stub.n, bytes: p.stub.bytes, top: tree.New(s.form.tops)}
	}
	p.stub.away = s.away
	if !p.stub.filled {
		s.away.bytes += p.stub.bytes
	}
	s.froms, s.pages = append(s.froms, from), append(s.pages, p)
	s.bytes += p.bytes
}

// cut makes pages of the run, as equal as may be; next is what follows it. A run
// of nothing becomes a page all the same if its keys would else belong to one that
// is not in memory.
func (s *storer[K, V]) cut(next *page[K, V]) {
	if !s.running {
		return
	}
	if n := len(s.pages); n > 0 {
		next = s.pages[n-1]
	}
	n := max((s.run.Bytes()+s.Bytes/2)/max(s.Bytes, 1), 1)
	begin := 0
	for i := range n {
		end := s.run.Len()
		if i < n-1 {
			end, _ = s.run.Past(s.run.Bytes() / n * (i + 1))
		}
		if begin < end {
			s.page(s.run.Slice(begin, end))
		}
		begin = max(begin, end)
	}
	if s.run.Len() == 0 && next != nil && !next.open {
		s.page(s.run)
	}
	s.run, s.running = tree.New(s.form.Order), false
}

// page makes a page of a part of the run. The first goes on from where the run
// did.
func (s *storer[K, V]) page(content tree.Map[K, V]) {
	row := s.form.appendPage(make([]byte, 0, content.Bytes()+8), content)
	x := &stub[K, V]{form: s.form, ref: s.Put(row), n: content.Len(), bytes: content.Bytes(), filled: true, content: content, away: s.away}
	if content.Len() > 0 {
		if first, _ := content.At(0); !s.running || s.form.Order.Compare(first, s.from) < 0 {
			s.from = first // the first page of all has what comes before it as well
		}
	}
	s.running = false
	s.keep(s.from, &page[K, V]{stub: x, n: x.n, bytes: x.bytes, open: true, dirty: x.n == 0, whole: content, top: tree.New(s.form.tops)})
}

func (s *storer[K, V]) done() Map[K, V] {
	if len(s.pages) == 0 {
		return New(s.form.Order) // nothing is not in pages
	}
	i := -1
	pages, err := tree.Build(s.form.pages, len(s.pages), func() (K, *page[K, V], error) {
		i++
		return s.froms[i], s.pages[i], nil
	})
	if err != nil {
		panic(err) // pages stay in the order in which they were
	}
	return Map[K, V]{dir: &directory[K, V]{form: s.form, pages: pages, bytes: s.bytes, away: s.away}}
}

// InOne is the Map in one piece; ok is false if that lacks pages.
func (m Map[K, V]) InOne() (one Map[K, V], ok bool) {
	if m.dir == nil {
		return m, true
	}
	out := tree.New(m.dir.form.Order)
	for _, p := range m.dir.pages.All() {
		if ok, err := p.opened(); err != nil || !ok {
			return m, false
		}
		out = out.Join(p.whole)
	}
	return Whole(out), true
}

// Tops lists the pages that are not in memory and have changes on top, and about
// how many bytes those take.
func (m Map[K, V]) Tops() (pages []Page, bytes int) {
	if m.Away() == 0 {
		return nil, 0
	}
	for _, p := range m.dir.pages.All() {
		if p.top.Len() == 0 || p.stub.filled {
			continue
		}
		pages = append(pages, p.stub)
		for k, c := range p.top.All() {
			bytes += m.dir.form.weigh(k, c.value)
		}
	}
	return pages, bytes
}

// AppendRefs appends the names of the Map's pages, in their order.
func (m Map[K, V]) AppendRefs(out []entry.PageRef) []entry.PageRef {
	if m.dir == nil {
		return out
	}
	for _, p := range m.dir.pages.All() {
		out = append(out, p.stub.ref)
	}
	return out
}

// AppendDirectory writes a Map that Store has made, and that has something: the number of its pages, and
// of each the key from which on it goes, how many elements are stored in it, of
// how many bytes, and what is on top: the number of changes, and if there are any,
// how many elements of how many bytes there are with them, and each change.
func (m Map[K, V]) AppendDirectory(b []byte) []byte {
	if m.dir == nil {
		return AppendLength(b, 0)
	}
	f := m.dir.form
	b = AppendLength(b, m.dir.pages.Len())
	for from, p := range m.dir.pages.All() {
		b = AppendLength(AppendLength(f.AppendKey(b, from), p.stub.n), p.stub.bytes)
		b = AppendLength(b, p.top.Len())
		if p.top.Len() == 0 {
			continue
		}
		b = AppendLength(AppendLength(b, p.n), p.bytes)
		for k, c := range p.top.All() {
			b = f.AppendKey(b, k)
			if c.gone {
				b = append(b, 0)
			} else {
				b = f.AppendValue(append(b, 1), c.value)
			}
		}
	}
	return b
}

// most is more than any count of a Map, and few enough of them to be added.
const most = math.MaxInt32

var (
	errPages   = errors.New("its pages are not as many as it says")
	errNothing = errors.New("it has changes of a page of which nothing is left")
)

// ReadDirectory reads what AppendDirectory wrote. The pages' names are taken from
// the beginning of refs.
func ReadDirectory[K, V any](f *Form[K, V], r *Reader, refs *[]entry.PageRef) (m Map[K, V], err error) {
	n, err := r.Count(4)
	if err == nil && (n == 0 || n > len(*refs)) {
		err = errPages
	}
	if err != nil {
		return m, err
	}
	d := &directory[K, V]{form: f, away: &away{}}
	d.pages, err = tree.Build(f.pages, n, func() (from K, p *page[K, V], err error) {
		from, err = f.ReadKey(r)
		if err == nil {
			p, err = readPage(f, r)
		}
		if err != nil {
			return from, nil, err
		}
		p.stub.ref, p.stub.away, *refs = (*refs)[0], d.away, (*refs)[1:]
		d.away.bytes += p.stub.bytes
		d.bytes += p.bytes
		return from, p, nil
	})
	return Map[K, V]{dir: d}, err
}

func readPage[K, V any](f *Form[K, V], r *Reader) (p *page[K, V], err error) {
	var tops int
	p = &page[K, V]{stub: &stub[K, V]{form: f}, top: tree.New(f.tops)}
	p.stub.n, p.stub.bytes, err = readCounts(r)
	if err == nil {
		tops, err = r.Count(2)
	}
	p.n, p.bytes = p.stub.n, p.stub.bytes
	if err != nil || tops == 0 {
		p.settle()
		return p, err
	}
	p.n, p.bytes, err = readCounts(r)
	if err != nil {
		return p, err
	}
	p.top, err = tree.Build(f.tops, tops, func() (k K, c change[V], err error) {
		k, err = f.ReadKey(r)
		if err != nil {
			return k, c, err
		}
		there, err := r.Byte()
		switch {
		case err != nil:
		case there == 1:
			c.value, err = f.ReadValue(r)
		case there == 0:
			c.gone = true
		default:
			err = ErrNumber
		}
		return k, c, err
	})
	if err == nil && p.n == 0 {
		err = errNothing
	}
	if err == nil {
		p.settle()
	}
	return p, err
}

func readCounts(r *Reader) (n, bytes int, err error) {
	n, err = r.Length()
	if err == nil {
		bytes, err = r.Length()
	}
	if err == nil && (n > most || bytes > most) {
		err = ErrCount
	}
	return n, bytes, err
}
