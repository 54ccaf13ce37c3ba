package paged

import (
	"errors"
	"math"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// PageWriter configures how pages are made.
type PageWriter struct {
	// Bytes is the approximate size of a page.
	Bytes int
	// Put stores the encoded form of a new page and returns its reference.
	Put func(row []byte) entry.PageRef
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
}

// Store returns the Map in pages that are all stored: pages that have changed in memory are cut
// anew. Buffered changes of absent pages stay buffered. It needs no page, and every key that could
// be looked up in m can be looked up in the result: where keys are known, there is an open page.
//
//	pages before    [dirty] [dirty] [absent] [clean, small] [dirty]
//	after           └─ one run ──┘  kept     └── one run ─────────┘
//	                cut into pages of about equal size
//
// A small clean page next to a dirty one joins its run, so pages do not become smaller and smaller.
func (m Map[K, V]) Store(f *Form[K, V], to *PageWriter) Map[K, V] {
	s := storer[K, V]{PageWriter: to, form: f, run: tree.New(f.Order), absentBytes: &byteCount{}}
	if m.dir == nil {
		s.run = m.whole
		if s.run.Len() > 0 {
			s.runFrom, _ = s.run.At(0)
		}
		s.hasRun = true
		s.cutRun(nil)
		return s.directory()
	}
	for from, p := range m.dir.pages.All() {
		switch ok, err := p.tryOpen(); {
		case !ok || err != nil: // a damaged page is kept; the error is reported when it is read
			s.cutRun(p)
			s.keepPage(from, p)
		case p.dirty, s.run.Len() > 0 && s.run.Bytes() < to.Bytes/2:
			if !s.hasRun {
				s.hasRun, s.runFrom = true, from
			}
			s.run = s.run.Join(p.whole)
		default:
			s.cutRun(p)
			s.keepPage(from, p)
		}
	}
	s.cutRun(nil)
	return s.directory()
}

// storer builds a directory page by page.
type storer[K, V any] struct {
	*PageWriter
	form        *Form[K, V]
	absentBytes *byteCount
	// hasRun: run is to be cut into pages; it can be empty. Its first key is runFrom.
	hasRun    bool
	run       tree.Map[K, V]
	runFrom   K
	firstKeys []K
	pages     []*page[K, V]
	bytes     int
}

// keepPage adds a page unchanged. From now on it counts for the new Map's absentBytes; those of
// pages that are left out must not count.
func (s *storer[K, V]) keepPage(from K, p *page[K, V]) {
	p = s.withBuffered(p)
	p.stub.absentBytes = s.absentBytes
	if !p.stub.filled {
		s.absentBytes.bytes += p.stub.bytes
	}
	s.firstKeys, s.pages = append(s.firstKeys, from), append(s.pages, p)
	s.bytes += p.bytes
}

// cutRun makes pages of about equal size of the run; next is the page after it. An empty run
// becomes an empty page if its keys would otherwise belong to an absent page: they are known to be
// absent, and must stay known.
//
//	run of 10,000 bytes, pages of 4,096     n = 2 pages of about 5,000 bytes
//	run of 1,000 bytes                      1 page; Store has joined the next page to it, if that is in memory
func (s *storer[K, V]) cutRun(next *page[K, V]) {
	if !s.hasRun {
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
			s.addPage(s.run.Slice(begin, end))
		}
		begin = max(begin, end)
	}
	if s.run.Len() == 0 && next != nil && !next.open {
		s.addPage(s.run)
	}
	s.run, s.hasRun = tree.New(s.form.Order), false
}

// addPage makes a page of a part of the run. The first one starts where the run did.
func (s *storer[K, V]) addPage(content tree.Map[K, V]) {
	row := s.form.appendPage(make([]byte, 0, content.Bytes()+8), content)
	x := &stub[K, V]{form: s.form, ref: s.Put(row), n: content.Len(), bytes: content.Bytes(), filled: true,
		elements: content, absentBytes: s.absentBytes}
	if content.Len() > 0 {
		if first, _ := content.At(0); !s.hasRun || s.form.Order.Compare(first, s.runFrom) < 0 {
			s.runFrom = first // the first page of the Map has all smaller keys as well
		}
	}
	s.hasRun = false
	s.keepPage(s.runFrom, &page[K, V]{stub: x, n: x.n, bytes: x.bytes, open: true, dirty: x.n == 0, whole: content,
		buffered: tree.New(s.form.buffers)})
}

// directory returns the Map of the pages that were kept and made.
func (s *storer[K, V]) directory() Map[K, V] {
	if len(s.pages) == 0 {
		return New(s.form.Order) // an empty Map is not in pages
	}
	i := -1
	pages, err := tree.Build(s.form.pages, len(s.pages), func() (K, *page[K, V], error) {
		i++
		return s.firstKeys[i], s.pages[i], nil
	})
	if err != nil {
		panic(err) // cannot happen: the order of the pages has not changed
	}
	return Map[K, V]{dir: &directory[K, V]{form: s.form, pages: pages, bytes: s.bytes, absentBytes: s.absentBytes}}
}

// InOne returns the Map in one piece; ok is false if pages are absent.
//
// A value that has shrunk is stored whole again.
func (m Map[K, V]) InOne() (one Map[K, V], ok bool) {
	if m.dir == nil {
		return m, true
	}
	out := tree.New(m.dir.form.Order)
	for _, p := range m.dir.pages.All() {
		if ok, err := p.tryOpen(); err != nil || !ok {
			return m, false
		}
		out = out.Join(p.whole)
	}
	return Whole(out), true
}

// BufferedPages returns the absent pages with buffered changes, and the approximate size of these changes.
//
// The shard reads these pages when the changes have become large, so that the next Store merges them.
func (m Map[K, V]) BufferedPages() (pages []Page, bytes int) {
	if m.AbsentBytes() == 0 {
		return nil, 0
	}
	for _, p := range m.dir.pages.All() {
		if p.buffered.Len() == 0 || p.stub.filled {
			continue
		}
		pages = append(pages, p.stub)
		for k, c := range p.buffered.All() {
			bytes += m.dir.form.weigh(k, c.value)
		}
	}
	return pages, bytes
}

// AppendRefs appends the references to the Map's pages, in order.
func (m Map[K, V]) AppendRefs(out []entry.PageRef) []entry.PageRef {
	if m.dir == nil {
		return out
	}
	for _, p := range m.dir.pages.All() {
		out = append(out, p.stub.ref)
	}
	return out
}

// AppendDirectory encodes the directory of a Map that Store has returned: the number of pages, and
// for each its first key, the number and size of its stored elements, and its number of buffered
// changes; if there are any, also the number and size of the elements including them, and each
// change.
//
//	1 page        first key "a", 3 elements of 12 bytes stored, 1 buffered change, 4 elements of 16 bytes with it,
//	              and the change: "d" = 4
func (m Map[K, V]) AppendDirectory(b []byte) []byte {
	if m.dir == nil {
		return AppendLength(b, 0)
	}
	f := m.dir.form
	b = AppendLength(b, m.dir.pages.Len())
	for from, p := range m.dir.pages.All() {
		b = AppendLength(AppendLength(f.AppendKey(b, from), p.stub.n), p.stub.bytes)
		b = AppendLength(b, p.buffered.Len())
		if p.buffered.Len() == 0 {
			continue
		}
		b = AppendLength(AppendLength(b, p.n), p.bytes)
		for k, c := range p.buffered.All() {
			b = f.AppendKey(b, k)
			if c.deleted {
				b = append(b, 0)
			} else {
				b = f.AppendValue(append(b, 1), c.value)
			}
		}
	}
	return b
}

// maxCount bounds every count of a Map, so that sums do not overflow.
const maxCount = math.MaxInt32

var (
	errPages     = errors.New("its pages are not as many as it says")
	errEmptyPage = errors.New("it has changes of a page of which nothing is left")
)

// ReadDirectory decodes what AppendDirectory encoded. It takes the references to the pages from the
// start of refs.
//
// It loads no page. Counts are checked against each other here, and against the page when that is filled.
func ReadDirectory[K, V any](f *Form[K, V], r *Reader, refs *[]entry.PageRef) (m Map[K, V], err error) {
	n, err := r.Count(4)
	if err == nil && (n == 0 || n > len(*refs)) {
		err = errPages
	}
	if err != nil {
		return m, err
	}
	d := &directory[K, V]{form: f, absentBytes: &byteCount{}}
	d.pages, err = tree.Build(f.pages, n, func() (from K, p *page[K, V], err error) {
		from, err = f.ReadKey(r)
		if err == nil {
			p, err = readPage(f, r)
		}
		if err != nil {
			return from, nil, err
		}
		p.stub.ref, p.stub.absentBytes, *refs = (*refs)[0], d.absentBytes, (*refs)[1:]
		d.absentBytes.bytes += p.stub.bytes
		d.bytes += p.bytes
		return from, p, nil
	})
	return Map[K, V]{dir: d}, err
}

// readPage reads an entry of the directory: the counts of the page, and its buffered changes. All changes of a page
// cannot leave it empty: Store writes no such page.
func readPage[K, V any](f *Form[K, V], r *Reader) (p *page[K, V], err error) {
	var bufferedCount int
	p = &page[K, V]{stub: &stub[K, V]{form: f}, buffered: tree.New(f.buffers)}
	p.stub.n, p.stub.bytes, err = readCounts(r)
	if err == nil {
		bufferedCount, err = r.Count(2)
	}
	p.n, p.bytes = p.stub.n, p.stub.bytes
	if err != nil || bufferedCount == 0 {
		p.openIfAllBuffered()
		return p, err
	}
	p.n, p.bytes, err = readCounts(r)
	if err != nil {
		return p, err
	}
	p.buffered, err = tree.Build(f.buffers, bufferedCount, func() (k K, c change[V], err error) {
		k, err = f.ReadKey(r)
		if err != nil {
			return k, c, err
		}
		exists, err := r.Byte()
		switch {
		case err != nil:
		case exists == 1:
			c.value, err = f.ReadValue(r)
		case exists == 0:
			c.deleted = true
		default:
			err = ErrNumber
		}
		return k, c, err
	})
	if err == nil && p.n == 0 {
		err = errEmptyPage
	}
	if err == nil {
		p.openIfAllBuffered()
	}
	return p, err
}

// readCounts reads a number of elements and their size in bytes, both at most maxCount.
func readCounts(r *Reader) (n, bytes int, err error) {
	n, err = r.Length()
	if err == nil {
		bytes, err = r.Length()
	}
	if err == nil && (n > maxCount || bytes > maxCount) {
		err = ErrCount
	}
	return n, bytes, err
}
