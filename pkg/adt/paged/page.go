package paged

import (
	"errors"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Page is a stored page that may not be in memory.
type Page interface {
	// Ref returns its reference.
	Ref() entry.PageRef
	// Filled reports whether it is in memory.
	Filled() bool
	// Fill loads its stored form, which is copied. After an error the page is still absent.
	Fill(row []byte) error
}

// Absent is the error, and the panic value, of an operation that needs absent pages.
//
// It is a panic inside of this package and of the functions of a data type, and an error outside: every access to an
// element could need a page, and an error in each signature would be in every function of every type.
type Absent struct{ Pages []Page }

func (a *Absent) Error() string {
	return fmt.Sprintf("%d pages of the value are not in memory", len(a.Pages))
}

// Damaged is the error, and the panic value, for stored pages and counts that contradict each
// other.
type Damaged struct{ Text string }

func (d *Damaged) Error() string { return d.Text }

// byteCount is shared by the versions of a Map: the size of their absent pages.
//
// History: version 1 of a value has an absent page; version 2 is derived from it; the page is filled for both. A
// count in each version would still count the page in the other one.
type byteCount struct{ bytes int }

// stub is a stored page.
//
// Stubs are shared by all versions of a value that have the page, so a page is read once for all of them. That is also
// why it cannot be evicted alone: it goes with the last version that refers to it.
type stub[K, V any] struct {
	form *Form[K, V]
	ref  entry.PageRef
	// n and bytes count its elements, which are in elements if filled.
	n, bytes    int
	filled      bool
	elements    tree.Map[K, V]
	absentBytes *byteCount
}

// Ref implements Page.
func (s *stub[K, V]) Ref() entry.PageRef { return s.ref }

// Filled implements Page.
func (s *stub[K, V]) Filled() bool { return s.filled }

// pageForm is the first byte of a stored page; a later layout gets another number.
const pageForm = 1

// Fill implements Page. A row that does not match the directory's counts is damaged: applying buffered changes to it
// would spread the damage into the counts of the whole value.
func (s *stub[K, V]) Fill(row []byte) error {
	if s.filled {
		return nil
	}
	if len(row) == 0 || row[0] != pageForm {
		return errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	r := Reader{string(row[1:])}
	n, err := r.Count(1)
	if err != nil {
		return err
	}
	content, err := tree.Build(s.form.Order, n, func() (k K, v V, err error) {
		k, err = s.form.ReadKey(&r)
		if err == nil {
			v, err = s.form.ReadValue(&r)
		}
		return k, v, err
	})
	if err == nil {
		err = r.End()
	}
	// The directory and the page were written together: different counts mean that one of them is
	// damaged.
	if err == nil && (n != s.n || content.Bytes() != s.bytes) {
		err = fmt.Errorf("it has %d elements of %d bytes, and should have %d of %d", n, content.Bytes(), s.n, s.bytes)
	}
	if err != nil {
		return err
	}
	s.elements, s.filled = content, true
	s.absentBytes.bytes -= s.bytes
	return nil
}

// appendPage encodes a page: its version, the number of elements, and each element.
func (f *Form[K, V]) appendPage(b []byte, content tree.Map[K, V]) []byte {
	b = AppendLength(append(b, pageForm), content.Len())
	for k, v := range content.All() {
		b = f.AppendValue(f.AppendKey(b, k), v)
	}
	return b
}

// change is a buffered change: a value, or a deletion.
type change[V any] struct {
	deleted bool
	value   V
}

// elementCount returns the number of elements after the change, so that a tree of changes can count
// them (see openIfAllBuffered).
func (c change[V]) elementCount() int {
	if c.deleted {
		return 0
	}
	return 1
}

// page is a part of a Map. It is immutable, except that tryOpen applies buffered changes.
//
//	absent, nothing buffered   only the counts are known
//	absent, buffered           these keys are known, and the counts with them
//	open                       all is known; buffered is empty
type page[K, V any] struct {
	stub *stub[K, V]
	// n and bytes count the elements including buffered changes.
	n, bytes int
	// buffered are changes that the stub does not have. If the page is open, buffered is empty,
	// whole has the elements, and dirty reports whether they differ from the stub.
	buffered    tree.Map[K, change[V]]
	open, dirty bool
	whole       tree.Map[K, V]
}

// tryOpen reports whether the elements of the page are known, and applies the buffered changes if
// the stub is loaded. The error is a *Damaged.
//
//	stub   a b c     buffered: b deleted, d = 4     open: a c d
//
// HAZARD: it changes the page, in all versions that share it. The result is the same whenever it is called, so a
// version remains immutable to its reader; but two goroutines must not read versions that share a page.
func (p *page[K, V]) tryOpen() (bool, error) {
	if p.open || !p.stub.filled {
		return p.open, nil
	}
	whole := p.stub.elements
	for k, c := range p.buffered.All() {
		if c.deleted {
			whole = whole.Delete(k)
		} else {
			whole = whole.Put(k, c.value)
		}
	}
	if whole.Len() != p.n || whole.Bytes() != p.bytes {
		return false, &Damaged{
			fmt.Sprintf("a page has %d elements of %d bytes with what has changed, and should have %d of %d",
				whole.Len(), whole.Bytes(), p.n, p.bytes)}
	}
	p.whole, p.open, p.dirty = whole, true, p.buffered.Len() > 0
	p.buffered = tree.New(p.stub.form.buffers)
	return true, nil
}

// mustOpen panics unless the elements of the page are known.
func (p *page[K, V]) mustOpen() {
	switch ok, err := p.tryOpen(); {
	case err != nil:
		panic(err)
	case !ok:
		panic(&Absent{[]Page{p.stub}})
	}
}

// lookup finds a key, without loading the page if possible; ok is false if the page must be loaded.
//
// A buffered change answers without the page: a deleted key is known to be absent.
func (p *page[K, V]) lookup(key K) (value V, exists, ok bool) {
	open, err := p.tryOpen()
	if err != nil {
		panic(err)
	}
	if open {
		value, exists = p.whole.Get(key)
		return value, exists, true
	}
	c, ok := p.buffered.Get(key)
	return c.value, ok && !c.deleted, ok
}

// withChange returns the page after a change of an element that had old bytes (was), or was absent.
// The page need not be open.
func (p *page[K, V]) withChange(key K, c change[V], was bool, old int) *page[K, V] {
	next := *p
	if p.open {
		next.dirty = true
		if c.deleted {
			next.whole = p.whole.Delete(key)
		} else {
			next.whole = p.whole.Put(key, c.value)
		}
		next.n, next.bytes = next.whole.Len(), next.whole.Bytes()
		return &next
	}
	next.buffered = p.buffered.Put(key, c)
	if was {
		next.n, next.bytes = next.n-1, next.bytes-old
	}
	if !c.deleted {
		next.n, next.bytes = next.n+1, next.bytes+p.stub.form.weigh(key, c.value)
	}
	next.openIfAllBuffered()
	return &next
}

// withChanges returns the page after changes, in order. It panics with *Damaged.
//
// A change that contradicts a known element means that a row was lost or damaged: applying it would make the counts
// wrong, and the damage would be found much later.
func (p *page[K, V]) withChanges(changes []Change[K, V]) *page[K, V] {
	for i := range changes {
		c := &changes[i]
		v, exists, ok := p.lookup(c.Key)
		if ok && (exists != c.Was || exists && p.stub.form.weigh(c.Key, v) != c.Old) {
			panic(&Damaged{fmt.Sprintf("an element that was there (%v) is changed as if it had been (%v)", exists, c.Was)})
		}
		if !p.open && i == 0 && p.buffered.Len() == 0 && len(changes) > 1 {
			p = p.withBufferedChanges(changes)
			break
		}
		p = p.withChange(c.Key, change[V]{deleted: !c.Is, value: c.Value}, c.Was, c.Old)
	}
	if p.n < 0 || p.bytes < 0 || p.n == 0 && p.bytes > 0 {
		panic(&Damaged{"a page has less than nothing with what has changed"})
	}
	return p
}

// withBufferedChanges returns an absent page without buffered changes after changes, building the
// buffer in one pass.
func (p *page[K, V]) withBufferedChanges(changes []Change[K, V]) *page[K, V] {
	next := *p
	rest := changes
	top, err := tree.Build(p.stub.form.buffers, len(changes), func() (k K, x change[V], err error) {
		c := &rest[0]
		rest = rest[1:]
		if c.Was {
			next.n, next.bytes = next.n-1, next.bytes-c.Old
		}
		if c.Is {
			next.n, next.bytes = next.n+1, next.bytes+p.stub.form.weigh(c.Key, c.Value)
		}
		return c.Key, change[V]{deleted: !c.Is, value: c.Value}, nil
	})
	if err != nil {
		panic(&Damaged{err.Error()})
	}
	next.buffered = top
	next.openIfAllBuffered()
	return &next
}

// openIfAllBuffered opens a page of which all remaining elements are buffered, whatever is stored.
// It does so in every version for which that holds: if a key is known to be absent from an emptied
// page, earlier versions know it as well, back to those that had the removed elements (adt.Patch
// relies on it).
//
//	stored     a b, absent
//	buffered   a deleted, b deleted, c = 3
//	n = 1      what remains is c, so the page need not be read
func (p *page[K, V]) openIfAllBuffered() {
	if p.open || p.buffered.Bytes() != p.n {
		return
	}
	whole := tree.New(p.stub.form.Order)
	for k, c := range p.buffered.All() {
		if !c.deleted {
			whole = whole.Put(k, c.value)
		}
	}
	if whole.Bytes() != p.bytes {
		return // damaged; the error is reported when the page is read
	}
	p.open, p.dirty, p.whole, p.buffered = true, true, whole, tree.New(p.stub.form.buffers)
}

// isAbsent reports whether the elements of the page are unknown and its stub is not loaded.
func (p *page[K, V]) isAbsent() bool { return !p.open && !p.stub.filled }
