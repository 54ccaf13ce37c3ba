package tree

import (
	"errors"
	"fmt"
	"iter"
)

// Order is what a Map goes by. It is the same for all versions of a Map.
type Order[K, V any] struct {
	// Compare is negative if a comes before b, 0 if they are the same key, and
	// positive if a comes after b.
	Compare func(a, b K) int
	// Bytes is what an element counts for in Map.Bytes; nil: nothing.
	Bytes func(K, V) int
}

func (o *Order[K, V]) weigh(k K, v V) int {
	if o.Bytes == nil {
		return 0
	}
	return o.Bytes(k, v)
}

// Map is keys with values, in the order of the keys. It is made by New or Build,
// and never changes.
type Map[K, V any] struct {
	order *Order[K, V]
	root  *node[K, V]
}

// New is a Map that has nothing yet. The order is kept.
func New[K, V any](o *Order[K, V]) Map[K, V] { return Map[K, V]{order: o} }

// ErrOrder is the error of a Build whose keys do not come in order.
var ErrOrder = errors.New("the keys are not in order, each once")

// Build is a Map of n elements that next gives one after the other, in the order
// of their keys and no key twice. It takes O(n), and stops at an error of next.
// Memory is taken as elements come, not by what n promises.
func Build[K, V any](o *Order[K, V], n int, next func() (K, V, error)) (Map[K, V], error) {
	var last K
	first := true
	b := builder[K, V]{rest: n, weigh: o.weigh, next: func() (K, V, error) {
		k, v, err := next()
		if err == nil && !first && o.Compare(last, k) >= 0 {
			err = ErrOrder
		}
		last, first = k, false
		return k, v, err
	}}
	root, err := b.build(max(n, 0))
	if err != nil {
		return New(o), err
	}
	return Map[K, V]{order: o, root: root}, nil
}

// Len is the number of keys. O(1).
func (m Map[K, V]) Len() int { return m.root.count() }

// Bytes is the sum of what the elements count for, by the Order. O(1).
func (m Map[K, V]) Bytes() int { return m.root.size() }

// Get finds a key's value. O(log n).
func (m Map[K, V]) Get(key K) (value V, ok bool) {
	for n := m.root; n != nil; {
		switch c := m.order.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

// Has reports whether there is a key. O(log n).
func (m Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// Put is the Map with a value for a key, in the place of an old one. O(log n).
func (m Map[K, V]) Put(key K, value V) Map[K, V] {
	m.root = m.put(m.root, &node[K, V]{key: key, value: value, len: 1, bytes: m.order.weigh(key, value)})
	return m
}

// put puts the one element of leaf into a tree.
func (m Map[K, V]) put(n, leaf *node[K, V]) *node[K, V] {
	if n == nil {
		return leaf
	}
	switch c := m.order.Compare(leaf.key, n.key); {
	case c < 0:
		return link(m.put(n.left, leaf), n, n.right)
	case c > 0:
		return link(n.left, n, m.put(n.right, leaf))
	}
	return leaf.with(n.left, n.right)
}

// Delete is the Map without a key. O(log n).
func (m Map[K, V]) Delete(key K) Map[K, V] {
	m.root = m.delete(m.root, key)
	return m
}

func (m Map[K, V]) delete(n *node[K, V], key K) *node[K, V] {
	if n == nil {
		return nil
	}
	switch c := m.order.Compare(key, n.key); {
	case c < 0:
		return link(m.delete(n.left, key), n, n.right)
	case c > 0:
		return link(n.left, n, m.delete(n.right, key))
	}
	return concat(n.left, n.right)
}

// Rank is how many keys come before one, and whether it is there itself.
// O(log n).
func (m Map[K, V]) Rank(key K) (rank int, ok bool) {
	for n := m.root; n != nil; {
		switch c := m.order.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			rank += n.left.count() + 1
			n = n.right
		default:
			return rank + n.left.count(), true
		}
	}
	return rank, false
}

// At is the element at a position from 0 to Len()-1; others panic. O(log n).
func (m Map[K, V]) At(i int) (K, V) {
	n := m.root.at(within(i, m.Len()))
	return n.key, n.value
}

// Before is what the first i elements count for in Bytes. O(log n).
func (m Map[K, V]) Before(i int) int { return m.root.before(i) }

// Past is the position of the first element with which the elements up to it
// count for more than some bytes, and what those before it count for; Len() and
// Bytes() if all do not. O(log n).
func (m Map[K, V]) Past(bytes int) (i, before int) { return m.root.past(bytes) }

// From visits the elements from a position on, in order. One before the first
// counts as the first. O(log n), and O(1) for each.
func (m Map[K, V]) From(i int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.ascend(max(i, 0), yield) }
}

// Down visits the elements from a position on, in the opposite order. One after
// the last counts as the last. O(log n), and O(1) for each.
func (m Map[K, V]) Down(i int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.descend(min(i, m.Len()-1), yield) }
}

// Ascend visits the elements from a key on, in order. O(log n), and O(1) for
// each.
func (m Map[K, V]) Ascend(from K) iter.Seq2[K, V] {
	i, _ := m.Rank(from)
	return m.From(i)
}

// All visits all elements, in order.
func (m Map[K, V]) All() iter.Seq2[K, V] { return m.From(0) }

// Slice is the Map of the elements from position i up to j, without j. Positions
// that there are not count as the nearest that there are. O(log n).
func (m Map[K, V]) Slice(i, j int) Map[K, V] {
	m.root = m.root.take(j).drop(i)
	return m
}

// Join is the Map of what is in m and what is in after, all of whose keys come
// after all of those of m. O(log n).
func (m Map[K, V]) Join(after Map[K, V]) Map[K, V] {
	m.root = concat(m.root, after.root)
	return m
}

// Check tells what is wrong with the tree, nil if nothing is: it is in order, it
// is balanced, and what its nodes count is right. O(n).
func (m Map[K, V]) Check() (err error) {
	m.root.check(m.order.weigh, func(format string, args ...any) { err = fmt.Errorf(format, args...) })
	var last *K
	for k := range m.All() {
		if last != nil && m.order.Compare(*last, k) >= 0 {
			err = ErrOrder
		}
		last = &k
	}
	return err
}

func within(i, n int) int {
	if i < 0 || i >= n {
		panic(fmt.Sprintf("tree: position %d of %d", i, n))
	}
	return i
}
