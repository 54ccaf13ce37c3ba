package tree

import (
	"errors"
	"fmt"
	"iter"
)

// Order is the order of a Map's keys, the same for all its versions.
type Order[K, V any] struct {
	// Compare is negative if a comes before b, 0 if they are equal, and positive if a comes after b.
	Compare func(a, b K) int
	// Bytes is the size of an element in Map.Bytes; nil: 0.
	Bytes func(K, V) int
}

// weigh returns the size of an element.
func (o *Order[K, V]) weigh(k K, v V) int {
	if o.Bytes == nil {
		return 0
	}
	return o.Bytes(k, v)
}

// Map is an immutable map in the order of its keys. It is made by New or Build.
type Map[K, V any] struct {
	order *Order[K, V]
	root  *node[K, V]
}

// New returns an empty Map. It retains the order.
func New[K, V any](o *Order[K, V]) Map[K, V] { return Map[K, V]{order: o} }

// ErrOrder is the error of Build if the keys are not in order.
var ErrOrder = errors.New("the keys are not in order, each once")

// Build returns a Map of n elements from next, in the order of their keys and each key once, in
// O(n). It stops at an error of next. Memory is allocated as elements arrive: n may come from
// damaged data.
func Build[K, V any](o *Order[K, V], n int, next func() (K, V, error)) (Map[K, V], error) {
	var last K
	first := true
	b := builder[K, V]{remaining: n, weigh: o.weigh, next: func() (K, V, error) {
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

// Len returns the number of keys in O(1).
func (m Map[K, V]) Len() int { return m.root.count() }

// Bytes returns the size of all elements in O(1).
func (m Map[K, V]) Bytes() int { return m.root.size() }

// Get returns the value of a key in O(log n).
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

// Has reports whether a key exists, in O(log n).
func (m Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// Put returns the Map with a new value of a key, in O(log n).
func (m Map[K, V]) Put(key K, value V) Map[K, V] {
	m.root = m.put(m.root, &node[K, V]{key: key, value: value, len: 1, bytes: m.order.weigh(key, value)})
	return m
}

// put adds the element of leaf to a tree, or replaces the one with its key.
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
	return leaf.withChildren(n.left, n.right)
}

// Delete returns the Map without a key, in O(log n).
func (m Map[K, V]) Delete(key K) Map[K, V] {
	m.root = m.delete(m.root, key)
	return m
}

// delete removes the element of a key from a tree. The result shares all nodes beside the path to it.
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

// Rank returns the number of smaller keys, and whether the key exists, in O(log n).
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

// At returns the element at a position from 0 to Len()-1, and panics for others. O(log n).
func (m Map[K, V]) At(i int) (K, V) {
	n := m.root.at(checkPosition(i, m.Len()))
	return n.key, n.value
}

// Before returns the size of the first i elements in O(log n).
func (m Map[K, V]) Before(i int) int { return m.root.bytesBefore(i) }

// Past returns the position of the first element at which the size of the elements up to and
// including it exceeds bytes, and the size of those before it; Len() and Bytes() if none does.
// O(log n).
//
// Example, with elements of 10, 20 and 30 bytes: Past(9) is (0, 0), Past(10) is (1, 10), Past(60) is (3, 60).
func (m Map[K, V]) Past(bytes int) (i, before int) { return m.root.positionPast(bytes) }

// From visits the elements from a position on, in order. A negative position counts as 0. O(log n),
// and O(1) per element.
func (m Map[K, V]) From(i int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.ascend(max(i, 0), yield) }
}

// Down visits the elements from a position down to the first. A position after the last counts as
// the last. O(log n), and O(1) per element.
func (m Map[K, V]) Down(i int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.descend(min(i, m.Len()-1), yield) }
}

// Ascend visits the elements from a key on, in order. O(log n), and O(1) per element.
func (m Map[K, V]) Ascend(from K) iter.Seq2[K, V] {
	i, _ := m.Rank(from)
	return m.From(i)
}

// All visits all elements in order.
func (m Map[K, V]) All() iter.Seq2[K, V] { return m.From(0) }

// Slice returns the Map of the elements at positions i to j, exclusive. Positions outside are cut
// off. O(log n).
//
// The result shares all nodes but those on the two cuts, so a page is cut out of a million elements in O(log n).
func (m Map[K, V]) Slice(i, j int) Map[K, V] {
	m.root = m.root.take(j).drop(i)
	return m
}

// Join returns the elements of m and after; all keys of after must be greater than those of m.
// O(log n).
//
// Nodes are shared with both, which stay valid. That the keys are in order is not checked; Check finds it.
func (m Map[K, V]) Join(after Map[K, V]) Map[K, V] {
	m.root = concat(m.root, after.root)
	return m
}

// Check verifies the order, the balance and the counts in O(n).
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

// checkPosition returns i, and panics if it is not from 0 to n-1: a caller's error.
func checkPosition(i, n int) int {
	if i < 0 || i >= n {
		panic(fmt.Sprintf("tree: position %d of %d", i, n))
	}
	return i
}
