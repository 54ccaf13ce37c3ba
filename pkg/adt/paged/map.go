package paged

import (
	"fmt"
	"iter"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
)

// Form is how the elements of a Map are ordered, weighed and stored. What an
// element counts for in the order is to be its stored length, more or less.
type Form[K, V any] struct {
	Order       *tree.Order[K, V]
	AppendKey   func([]byte, K) []byte
	AppendValue func([]byte, V) []byte
	ReadKey     func(*Reader) (K, error)
	ReadValue   func(*Reader) (V, error)

	pages *tree.Order[K, *page[K, V]]
	tops  *tree.Order[K, change[V]]
}

// NewForm completes a form.
func NewForm[K, V any](f Form[K, V]) *Form[K, V] {
	f.pages = &tree.Order[K, *page[K, V]]{Compare: f.Order.Compare, Bytes: func(_ K, p *page[K, V]) int { return p.n }}
	f.tops = &tree.Order[K, change[V]]{Compare: f.Order.Compare, Bytes: func(_ K, c change[V]) int { return c.there() }}
	return &f
}

func (f *Form[K, V]) weigh(k K, v V) int { return f.Order.Bytes(k, v) }

// Map is keys with values, in the order of the keys. It is made by New, Whole or
// ReadDirectory, and never changes. Methods that lack pages panic with *Absent.
type Map[K, V any] struct {
	// whole has all elements, unless there is a directory.
	whole tree.Map[K, V]
	dir   *directory[K, V]
}

// directory is the pages of a Map. It never changes.
type directory[K, V any] struct {
	form *Form[K, V]
	// pages are by the key from which on they go; the first has whatever comes
	// before it as well.
	pages tree.Map[K, *page[K, V]]
	// bytes is the sum of what they have.
	bytes int
	away  *away
}

// New is a Map that has nothing yet.
func New[K, V any](o *tree.Order[K, V]) Map[K, V] { return Map[K, V]{whole: tree.New(o)} }

// Whole is a Map of what is in a tree, in one piece.
func Whole[K, V any](t tree.Map[K, V]) Map[K, V] { return Map[K, V]{whole: t} }

// InPages reports whether the Map is in pages.
func (m Map[K, V]) InPages() bool { return m.dir != nil }

// Len is the number of keys. O(1).
func (m Map[K, V]) Len() int {
	if m.dir == nil {
		return m.whole.Len()
	}
	return m.dir.pages.Bytes()
}

// Bytes is the sum of what the elements count for. O(1).
func (m Map[K, V]) Bytes() int {
	if m.dir == nil {
		return m.whole.Bytes()
	}
	return m.dir.bytes
}

// Away is about how many bytes of it are not in memory.
func (m Map[K, V]) Away() int {
	if m.dir == nil {
		return 0
	}
	return m.dir.away.bytes
}

// Missing lists the pages that are not in memory: all of them, or, given keys,
// those without which it is not known what there is of them.
func (m Map[K, V]) Missing(keys ...K) (out []Page) {
	if m.Away() == 0 {
		return nil
	}
	if len(keys) == 0 {
		for _, p := range m.dir.pages.All() {
			if p.missing() {
				out = append(out, p.stub)
			}
		}
		return out
	}
	for _, k := range keys {
		if _, p := m.dir.find(k); p.missing() && !p.top.Has(k) {
			out = append(out, p.stub)
		}
	}
	return out
}

// find is the page that a key belongs to, and from where on it goes.
func (d *directory[K, V]) find(key K) (K, *page[K, V]) {
	i, there := d.pages.Rank(key)
	if !there && i > 0 {
		i--
	}
	return d.pages.At(i)
}

// Get finds a key's value.
func (m Map[K, V]) Get(key K) (value V, there bool) {
	if m.dir == nil {
		return m.whole.Get(key)
	}
	_, p := m.dir.find(key)
	value, there, ok := p.known(key)
	if !ok {
		panic(&Absent{[]Page{p.stub}})
	}
	return value, there
}

// Has reports whether there is a key.
func (m Map[K, V]) Has(key K) bool {
	_, there := m.Get(key)
	return there
}

// Put is the Map with a value for a key, in the place of an old one.
func (m Map[K, V]) Put(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Put(key, value)}
	}
	return m.set(key, change[V]{value: value})
}

// Delete is the Map without a key.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Delete(key)}
	}
	return m.set(key, change[V]{gone: true})
}

// set changes an element of which the Map itself knows what there was.
func (m Map[K, V]) set(key K, c change[V]) Map[K, V] {
	from, p := m.dir.find(key)
	old, there, ok := p.known(key)
	switch {
	case !ok:
		panic(&Absent{[]Page{p.stub}})
	case !there && c.gone:
		return m
	}
	return m.replace(from, p, p.with(key, c, there, m.dir.form.weigh(key, old)))
}

func (m Map[K, V]) replace(from K, old, p *page[K, V]) Map[K, V] {
	next := *m.dir
	next.pages, next.bytes = next.pages.Put(from, p), next.bytes-old.bytes+p.bytes
	return Map[K, V]{dir: &next}
}

// Insert is Put of a key that is known not to be there. It lacks no page.
func (m Map[K, V]) Insert(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Put(key, value)}
	}
	return m.Change(Change[K, V]{Key: key, Is: true, Value: value})
}

// Drop is Delete of a key that is known to be there with a value. It lacks no
// page.
func (m Map[K, V]) Drop(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Delete(key)}
	}
	return m.Change(Change[K, V]{Key: key, Was: true, Old: m.dir.form.weigh(key, value)})
}

// Change is what was told of an element: whether it was there, and what it
// counted for; and whether it is there now, with which value.
type Change[K, V any] struct {
	Key   K
	Was   bool
	Old   int
	Is    bool
	Value V
}

// Change is the Map, in pages, after changes, in the order of their keys and no
// key twice. It lacks no page. It panics with *Damaged if it is known that one of
// them cannot be.
func (m Map[K, V]) Change(changes ...Change[K, V]) Map[K, V] {
	compare := m.dir.form.Order.Compare
	for len(changes) > 0 {
		i, there := m.dir.pages.Rank(changes[0].Key)
		if !there && i > 0 {
			i--
		}
		from, p := m.dir.pages.At(i)
		n := len(changes)
		if i+1 < m.dir.pages.Len() {
			next, _ := m.dir.pages.At(i + 1)
			n, _ = slices.BinarySearchFunc(changes, next, func(c Change[K, V], k K) int { return compare(c.Key, k) })
		}
		m = m.replace(from, p, p.after(changes[:n]))
		changes = changes[n:]
	}
	return m
}

// Rank is how many keys come before one, and whether it is there itself.
func (m Map[K, V]) Rank(key K) (rank int, there bool) {
	if m.dir == nil {
		return m.whole.Rank(key)
	}
	i, exact := m.dir.pages.Rank(key)
	if !exact && i > 0 {
		i--
	}
	_, p := m.dir.pages.At(i)
	p.mustOpen()
	rank, there = p.whole.Rank(key)
	return m.dir.pages.Before(i) + rank, there
}

// ahead is how many pages at least are asked for at once by who has walked from
// one to the next. It is more if he has come a long way. Somewhat arbitrary.
const ahead = 8

// enter has the page at a place be open to who has begun at another.
func (d *directory[K, V]) enter(at, begun, step int) *page[K, V] {
	_, p := d.pages.At(at)
	ok, err := p.opened()
	if err != nil {
		panic(err)
	}
	if ok {
		return p
	}
	lacks := &Absent{[]Page{p.stub}}
	if at != begun {
		for range max(ahead, step*(at-begun)) {
			at += step
			if at < 0 || at >= d.pages.Len() {
				break
			}
			if _, p := d.pages.At(at); p.missing() {
				lacks.Pages = append(lacks.Pages, p.stub)
			}
		}
	}
	panic(lacks)
}

// From visits the elements from a position on, in order. One before the first
// counts as the first.
func (m Map[K, V]) From(i int) iter.Seq2[K, V] {
	if m.dir == nil {
		return m.whole.From(i)
	}
	return func(yield func(K, V) bool) {
		i = max(i, 0)
		begun, before := m.dir.pages.Past(i)
		for at := begun; at < m.dir.pages.Len(); at++ {
			p := m.dir.enter(at, begun, 1)
			for k, v := range p.whole.From(i - before) {
				if !yield(k, v) {
					return
				}
			}
			i, before = 0, 0
		}
	}
}

// Down visits the elements from a position on, in the opposite order. One after
// the last counts as the last.
func (m Map[K, V]) Down(i int) iter.Seq2[K, V] {
	if m.dir == nil {
		return m.whole.Down(i)
	}
	return func(yield func(K, V) bool) {
		i = min(i, m.Len()-1)
		if i < 0 {
			return
		}
		begun, before := m.dir.pages.Past(i)
		i -= before
		for at := begun; at >= 0; at-- {
			p := m.dir.enter(at, begun, -1)
			if at != begun {
				i = p.n - 1
			}
			for k, v := range p.whole.Down(i) {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// Ascend visits the elements from a key on, in order.
func (m Map[K, V]) Ascend(from K) iter.Seq2[K, V] {
	i, _ := m.Rank(from)
	return m.From(i)
}

// All visits all elements, in order. It lacks all pages at once.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	if lacks := m.Missing(); lacks != nil {
		panic(&Absent{lacks})
	}
	return m.From(0)
}

// Check tells what is wrong with the Map, nil if nothing is. O(n).
func (m Map[K, V]) Check() error {
	if m.dir == nil {
		return m.whole.Check()
	}
	if err := m.dir.pages.Check(); err != nil {
		return err
	}
	var last *K
	bytes, first := 0, true
	for from, p := range m.dir.pages.All() {
		bytes += p.bytes
		if ok, err := p.opened(); err != nil || !ok {
			if err != nil {
				return err
			}
			last, first = nil, false
			continue
		}
		if err := p.whole.Check(); err != nil {
			return err
		}
		if p.whole.Len() != p.n || p.whole.Bytes() != p.bytes {
			return fmt.Errorf("a page counts %d elements of %d bytes, and has %d of %d", p.n, p.bytes, p.whole.Len(), p.whole.Bytes())
		}
		for k := range p.whole.All() {
			if !first && m.dir.form.Order.Compare(k, from) < 0 || last != nil && m.dir.form.Order.Compare(*last, k) >= 0 {
				return fmt.Errorf("%v is in the page from %v", k, from)
			}
			last = &k
		}
		first = false
	}
	if bytes != m.dir.bytes {
		return fmt.Errorf("%d bytes are counted, and there are %d", m.dir.bytes, bytes)
	}
	return nil
}
