package paged

import (
	"errors"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Page is a stored page that may not be in memory.
type Page interface {
	// Ref is its name.
	Ref() entry.PageRef
	// Filled reports whether it is in memory.
	Filled() bool
	// Fill takes its stored form, which is copied. The error says what is wrong
	// with it; the page is as it was then.
	Fill(row []byte) error
}

// Absent is the error, and the panic, of what lacks pages.
type Absent struct{ Pages []Page }

func (a *Absent) Error() string {
	return fmt.Sprintf("%d pages of the value are not in memory", len(a.Pages))
}

// Damaged is the error, and the panic, of what cannot be: pages, and what is
// said of them elsewhere, contradict each other.
type Damaged struct{ Text string }

func (d *Damaged) Error() string { return d.Text }

// away is what the versions of a Map share: the stored bytes of their pages that
// are not in memory.
type away struct{ bytes int }

// stub is a stored page.
type stub[K, V any] struct {
	form *Form[K, V]
	ref  entry.PageRef
	// n and bytes are what it has, content that itself, if filled.
	n, bytes int
	filled   bool
	content  tree.Map[K, V]
	away     *away
}

func (s *stub[K, V]) Ref() entry.PageRef { return s.ref }

func (s *stub[K, V]) Filled() bool { return s.filled }

// pageForm is the first byte of a stored page; a later layout takes another
// number.
const pageForm = 1

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
	if err == nil && (n != s.n || content.Bytes() != s.bytes) {
		err = fmt.Errorf("it has %d elements of %d bytes, and should have %d of %d", n, content.Bytes(), s.n, s.bytes)
	}
	if err != nil {
		return err
	}
	s.content, s.filled = content, true
	s.away.bytes -= s.bytes
	return nil
}

// appendPage writes a page: its version, how many elements it has, and each.
func (f *Form[K, V]) appendPage(b []byte, content tree.Map[K, V]) []byte {
	b = AppendLength(append(b, pageForm), content.Len())
	for k, v := range content.All() {
		b = f.AppendValue(f.AppendKey(b, k), v)
	}
	return b
}

// change is what is on top of a stub: a value, or that there is none.
type change[V any] struct {
	gone  bool
	value V
}

// there counts the elements that it leaves, so that a tree of changes knows their
// number (page.settle).
func (c change[V]) there() int {
	if c.gone {
		return 0
	}
	return 1
}

// page is a part of a Map. It never changes, but for open.
type page[K, V any] struct {
	stub *stub[K, V]
	// n and bytes are what it has, with what is on top.
	n, bytes int
	// top are changes that stub does not have, unless the page is open: then whole
	// is what it has, and dirty says whether that differs from stub.
	top         tree.Map[K, change[V]]
	open, dirty bool
	whole       tree.Map[K, V]
}

// opened reports whether the page's elements are known, and works what is on
// top of its stub into them. The error is a *Damaged.
func (p *page[K, V]) opened() (bool, error) {
	if p.open || !p.stub.filled {
		return p.open, nil
	}
	whole := p.stub.content
	for k, c := range p.top.All() {
		if c.gone {
			whole = whole.Delete(k)
		} else {
			whole = whole.Put(k, c.value)
		}
	}
	if whole.Len() != p.n || whole.Bytes() != p.bytes {
		return false, &Damaged{fmt.Sprintf("a page has %d elements of %d bytes with what has changed, and should have %d of %d",
			whole.Len(), whole.Bytes(), p.n, p.bytes)}
	}
	p.whole, p.open, p.dirty = whole, true, p.top.Len() > 0
	p.top = tree.New(p.stub.form.tops)
	return true, nil
}

// mustOpen panics unless the page's elements are known.
func (p *page[K, V]) mustOpen() {
	switch ok, err := p.opened(); {
	case err != nil:
		panic(err)
	case !ok:
		panic(&Absent{[]Page{p.stub}})
	}
}

// known finds out what a page has of a key, without its elements if need be;
// ok is false if that cannot be told without them.
func (p *page[K, V]) known(key K) (value V, there, ok bool) {
	open, err := p.opened()
	if err != nil {
		panic(err)
	}
	if open {
		value, there = p.whole.Get(key)
		return value, there, true
	}
	c, ok := p.top.Get(key)
	return c.value, ok && !c.gone, ok
}

// with is the page after a change of an element that counted for old bytes, or
// was not there. The page does not need to be open.
func (p *page[K, V]) with(key K, c change[V], was bool, old int) *page[K, V] {
	next := *p
	if p.open {
		next.dirty = true
		if c.gone {
			next.whole = p.whole.Delete(key)
		} else {
			next.whole = p.whole.Put(key, c.value)
		}
		next.n, next.bytes = next.whole.Len(), next.whole.Bytes()
		return &next
	}
	next.top = p.top.Put(key, c)
	if was {
		next.n, next.bytes = next.n-1, next.bytes-old
	}
	if !c.gone {
		next.n, next.bytes = next.n+1, next.bytes+p.stub.form.weigh(key, c.value)
	}
	next.settle()
	return &next
}

// after is the page after changes, in order. It panics with *Damaged.
func (p *page[K, V]) after(changes []Change[K, V]) *page[K, V] {
	for i := range changes {
		c := &changes[i]
		v, there, ok := p.known(c.Key)
		if ok && (there != c.Was || there && p.stub.form.weigh(c.Key, v) != c.Old) {
			panic(&Damaged{fmt.Sprintf("an element that was there (%v) is changed as if it had been (%v)", there, c.Was)})
		}
		if !p.open && i == 0 && p.top.Len() == 0 && len(changes) > 1 {
			p = p.topped(changes)
			break
		}
		p = p.with(c.Key, change[V]{gone: !c.Is, value: c.Value}, c.Was, c.Old)
	}
	if p.n < 0 || p.bytes < 0 || p.n == 0 && p.bytes > 0 {
		panic(&Damaged{"a page has less than nothing with what has changed"})
	}
	return p
}

// topped is a page of which nothing is known with changes on top, all at once.
func (p *page[K, V]) topped(changes []Change[K, V]) *page[K, V] {
	next := *p
	rest := changes
	top, err := tree.Build(p.stub.form.tops, len(changes), func() (k K, x change[V], err error) {
		c := &rest[0]
		rest = rest[1:]
		if c.Was {
			next.n, next.bytes = next.n-1, next.bytes-c.Old
		}
		if c.Is {
			next.n, next.bytes = next.n+1, next.bytes+p.stub.form.weigh(c.Key, c.Value)
		}
		return c.Key, change[V]{gone: !c.Is, value: c.Value}, nil
	})
	if err != nil {
		panic(&Damaged{err.Error()})
	}
	next.top = top
	next.settle()
	return &next
}

// settle opens a page of which all that is left is on top, whatever is stored. It
// does so in each version in which that is so: what is known to be nowhere in a
// page that has been emptied is then known of the versions before as well, as far
// back as the elements were that it has lost (adt.Patch).
func (p *page[K, V]) settle() {
	if p.open || p.top.Bytes() != p.n {
		return
	}
	whole := tree.New(p.stub.form.Order)
	for k, c := range p.top.All() {
		if !c.gone {
			whole = whole.Put(k, c.value)
		}
	}
	if whole.Bytes() != p.bytes {
		return // it contradicts itself, which is told when it is read
	}
	p.open, p.dirty, p.whole, p.top = true, true, whole, tree.New(p.stub.form.tops)
}

// missing reports whether the page's elements are not known, and its stub is not
// in memory.
func (p *page[K, V]) missing() bool { return !p.open && !p.stub.filled }
