package paged

import (
	"fmt"
	"iter"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
)

// Form declares how the elements of a Map are ordered, measured and stored. Order.Bytes should be
// about the stored length of an element.
type Form[K, V any] struct {
	Order       *tree.Order[K, V]
	AppendKey   func([]byte, K) []byte
	AppendValue func([]byte, V) []byte
	ReadKey     func(*Reader) (K, error)
	ReadValue   func(*Reader) (V, error)

	pages   *tree.Order[K, *page[K, V]]
	buffers *tree.Order[K, change[V]]
}

// NewForm completes a form.
func NewForm[K, V any](f Form[K, V]) *Form[K, V] {
	f.pages = &tree.Order[K, *page[K, V]]{Compare: f.Order.Compare, Bytes: func(_ K, p *page[K, V]) int { return p.n }}
	f.buffers = &tree.Order[K, change[V]]{Compare: f.Order.Compare,
		Bytes: func(_ K, c change[V]) int { return c.elementCount() }}
	return &f
}

func (f *Form[K, V]) weigh(k K, v V) int { return f.Order.Bytes(k, v) }

// Map is an immutable ordered map, made by New, Whole or ReadDirectory. Methods that need absent
// pages panic with *Absent.
//
//	New, Whole        one piece: a tree.Map, all in memory, no limit on concurrent readers
//	Store             pages, all in memory
//	ReadDirectory     pages, none in memory
//	InOne             one piece again
type Map[K, V any] struct {
	// whole has all elements if there is no directory.
	whole tree.Map[K, V]
	dir   *directory[K, V]
}

// directory has the pages of a Map. It is immutable.
type directory[K, V any] struct {
	form *Form[K, V]
	// pages are ordered by first key. The first page has all smaller keys as well.
	pages tree.Map[K, *page[K, V]]
	// bytes is the size of all pages.
	bytes       int
	absentBytes *byteCount
}

// New returns an empty Map.
func New[K, V any](o *tree.Order[K, V]) Map[K, V] { return Map[K, V]{whole: tree.New(o)} }

// Whole returns a Map of a tree, in one piece.
func Whole[K, V any](t tree.Map[K, V]) Map[K, V] { return Map[K, V]{whole: t} }

// InPages reports whether the Map is in pages.
func (m Map[K, V]) InPages() bool { return m.dir != nil }

// Len returns the number of keys in O(1).
func (m Map[K, V]) Len() int {
	if m.dir == nil {
		return m.whole.Len()
	}
	return m.dir.pages.Bytes()
}

// Bytes returns the size of all elements in O(1).
func (m Map[K, V]) Bytes() int {
	if m.dir == nil {
		return m.whole.Bytes()
	}
	return m.dir.bytes
}

// AbsentBytes approximates the number of bytes that are not in memory.
func (m Map[K, V]) AbsentBytes() int {
	if m.dir == nil {
		return 0
	}
	return m.dir.absentBytes.bytes
}

// Missing returns the absent pages: all, or, given keys, those needed to look up these keys.
//
// A key with a buffered change is known without its page.
func (m Map[K, V]) Missing(keys ...K) (out []Page) {
	if m.AbsentBytes() == 0 {
		return nil
	}
	if len(keys) == 0 {
		for _, p := range m.dir.pages.All() {
			if p.isAbsent() {
				out = append(out, p.stub)
			}
		}
		return out
	}
	for _, k := range keys {
		if _, p := m.dir.find(k); p.isAbsent() && !p.buffered.Has(k) {
			out = append(out, p.stub)
		}
	}
	return out
}

// find returns the page of a key and the page's first key.
//
//	pages from "d", from "k"
//	key "f"     page from "d"
//	key "k"     page from "k"
//	key "a"     page from "d": the first page has all smaller keys as well
func (d *directory[K, V]) find(key K) (K, *page[K, V]) {
	i, exists := d.pages.Rank(key)
	if !exists && i > 0 {
		i--
	}
	return d.pages.At(i)
}

// Get returns the value of a key.
func (m Map[K, V]) Get(key K) (value V, exists bool) {
	if m.dir == nil {
		return m.whole.Get(key)
	}
	_, p := m.dir.find(key)
	value, exists, ok := p.lookup(key)
	if !ok {
		panic(&Absent{[]Page{p.stub}})
	}
	return value, exists
}

// Has reports whether a key exists.
func (m Map[K, V]) Has(key K) bool {
	_, exists := m.Get(key)
	return exists
}

// Put returns the Map with a new value of a key.
func (m Map[K, V]) Put(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Put(key, value)}
	}
	return m.setElement(key, change[V]{value: value})
}

// Delete returns the Map without a key.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Delete(key)}
	}
	return m.setElement(key, change[V]{deleted: true})
}

// setElement changes an element after looking it up.
//
// The old element must be known, because the counts of the page depend on it: does a put add an element, and by how
// many bytes does the page grow?
func (m Map[K, V]) setElement(key K, c change[V]) Map[K, V] {
	from, p := m.dir.find(key)
	old, exists, ok := p.lookup(key)
	switch {
	case !ok:
		panic(&Absent{[]Page{p.stub}})
	case !exists && c.deleted:
		return m
	}
	return m.replacePage(from, p, p.withChange(key, c, exists, m.dir.form.weigh(key, old)))
}

// replacePage returns the Map with another page at a first key.
func (m Map[K, V]) replacePage(from K, old, p *page[K, V]) Map[K, V] {
	next := *m.dir
	next.pages, next.bytes = next.pages.Put(from, p), next.bytes-old.bytes+p.bytes
	return Map[K, V]{dir: &next}
}

// Insert is Put for a key that is known to be absent. It needs no page.
//
// Example: a sorted set has an index by member and one by score. The member was looked up in the former, so the
// latter can be changed without its pages.
func (m Map[K, V]) Insert(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Put(key, value)}
	}
	return m.Change(Change[K, V]{Key: key, Is: true, Value: value})
}

// Drop is Delete for a key that is known to exist with a value. It needs no page.
func (m Map[K, V]) Drop(key K, value V) Map[K, V] {
	if m.dir == nil {
		return Map[K, V]{whole: m.whole.Delete(key)}
	}
	return m.Change(Change[K, V]{Key: key, Was: true, Old: m.dir.form.weigh(key, value)})
}

// Change is a change of an element with known old state: whether it existed and its size then, and
// whether it exists now and its value.
type Change[K, V any] struct {
	Key   K
	Was   bool
	Old   int
	Is    bool
	Value V
}

// Change applies changes to a Map in pages, in the order of their keys, each key once. It needs no
// page. It panics with *Damaged if a change contradicts what is in memory.
//
// Each run of changes of one page makes one new page, whatever their number.
func (m Map[K, V]) Change(changes ...Change[K, V]) Map[K, V] {
	compare := m.dir.form.Order.Compare
	for len(changes) > 0 {
		i, exists := m.dir.pages.Rank(changes[0].Key)
		if !exists && i > 0 {
			i--
		}
		from, p := m.dir.pages.At(i)
		n := len(changes)
		if i+1 < m.dir.pages.Len() {
			// The changes before the first key of the next page belong to this one.
			next, _ := m.dir.pages.At(i + 1)
			n, _ = slices.BinarySearchFunc(changes, next, func(c Change[K, V], k K) int { return compare(c.Key, k) })
		}
		m = m.replacePage(from, p, p.withChanges(changes[:n]))
		changes = changes[n:]
	}
	return m
}

// Rank returns the number of smaller keys, and whether the key exists.
//
// The directory knows how many elements precede a page, so one page is read at most.
func (m Map[K, V]) Rank(key K) (rank int, exists bool) {
	if m.dir == nil {
		return m.whole.Rank(key)
	}
	i, exact := m.dir.pages.Rank(key)
	if !exact && i > 0 {
		i--
	}
	_, p := m.dir.pages.At(i)
	p.mustOpen()
	rank, exists = p.whole.Rank(key)
	return m.dir.pages.Before(i) + rank, exists
}

// readAhead is the minimum number of pages that a walk requests at once after its first page. A
// longer walk requests as many as it has passed, so the number of rounds is logarithmic. The value
// is not critical.
const readAhead = 8

// openAt returns the page at a position, open, for a walk that began at another position.
//
// An operation is repeated once for each request. One that walks 100 absent pages requests the first, then nine,
// then about as many as it has passed, instead of one page at a time.
func (d *directory[K, V]) openAt(at, begun, step int) *page[K, V] {
	_, p := d.pages.At(at)
	ok, err := p.tryOpen()
	if err != nil {
		panic(err)
	}
	if ok {
		return p
	}
	absent := &Absent{[]Page{p.stub}}
	// The first page of a walk may be the only one that is read. From the second page on, more
	// follow.
	if at != begun {
		for range max(readAhead, step*(at-begun)) {
			at += step
			if at < 0 || at >= d.pages.Len() {
				break
			}
			if _, p := d.pages.At(at); p.isAbsent() {
				absent.Pages = append(absent.Pages, p.stub)
			}
		}
	}
	panic(absent)
}

// From visits the elements from a position on, in order. A negative position counts as 0.
//
//	pages of 100, 80 and 120 elements      position 150 is element 50 of the second page (tree.Map.Past)
func (m Map[K, V]) From(i int) iter.Seq2[K, V] {
	if m.dir == nil {
		return m.whole.From(i)
	}
	return func(yield func(K, V) bool) {
		i = max(i, 0)
		begun, before := m.dir.pages.Past(i)
		for at := begun; at < m.dir.pages.Len(); at++ {
			p := m.dir.openAt(at, begun, 1)
			for k, v := range p.whole.From(i - before) {
				if !yield(k, v) {
					return
				}
			}
			i, before = 0, 0
		}
	}
}

// Down visits the elements from a position down to the first. A position after the last counts as
// the last.
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
			p := m.dir.openAt(at, begun, -1)
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

// All visits all elements in order. It requests all absent pages at once.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	if absent := m.Missing(); absent != nil {
		panic(&Absent{absent})
	}
	return m.From(0)
}

// Check verifies the invariants of the Map in O(n).
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
		if ok, err := p.tryOpen(); err != nil || !ok {
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
			return fmt.Errorf("a page counts %d elements of %d bytes, and has %d of %d", p.n, p.bytes, p.whole.Len(),
				p.whole.Bytes())
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
