package tree

import (
	"fmt"
	"iter"
)

// List is an immutable list of values by position; the zero List is empty. The size of a value in
// Bytes is given with the value.
type List[V any] struct {
	root *node[struct{}, V]
}

// BuildList returns a List of n values from next, in O(n). It stops at an error of next. Memory is
// allocated as values arrive: n may come from damaged data.
func BuildList[V any](n int, bytes func(V) int, next func() (V, error)) (List[V], error) {
	b := builder[struct{}, V]{remaining: n, weigh: func(_ struct{}, v V) int { return bytes(v) },
		next: func() (k struct{}, v V, err error) {
			v, err = next()
			return k, v, err
		}}
	root, err := b.build(max(n, 0))
	return List[V]{root}, err
}

// Len returns the number of values in O(1).
func (l List[V]) Len() int { return l.root.count() }

// Bytes returns the size of all values in O(1).
func (l List[V]) Bytes() int { return l.root.size() }

// Append returns the List with one more value of a size at its end, in O(log n).
func (l List[V]) Append(v V, bytes int) List[V] {
	return List[V]{link(l.root, &node[struct{}, V]{value: v, len: 1, bytes: bytes}, nil)}
}

// At returns the value at a position from 0 to Len()-1, and panics for others. O(log n).
func (l List[V]) At(i int) V { return l.root.at(checkPosition(i, l.Len())).value }

// From visits the values from a position on, in order. A negative position counts as 0. O(log n),
// and O(1) per value.
func (l List[V]) From(i int) iter.Seq[V] {
	return func(yield func(V) bool) {
		l.root.ascend(max(i, 0), func(_ struct{}, v V) bool { return yield(v) })
	}
}

// All visits all values in order.
func (l List[V]) All() iter.Seq[V] { return l.From(0) }

// Slice returns the List of the values at positions i to j, exclusive. Positions outside are cut
// off. O(log n).
func (l List[V]) Slice(i, j int) List[V] { return List[V]{l.root.take(j).drop(i)} }

// Join returns the values of l followed by those of after, in O(log n).
//
// Nodes are shared with both, which stay valid.
func (l List[V]) Join(after List[V]) List[V] { return List[V]{concat(l.root, after.root)} }

// Check verifies the invariants of the tree in O(n).
func (l List[V]) Check(bytes func(V) int) (err error) {
	weigh := func(_ struct{}, v V) int { return bytes(v) }
	l.root.check(weigh, func(format string, args ...any) { err = fmt.Errorf(format, args...) })
	return err
}
