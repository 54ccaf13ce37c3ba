package tree

import (
	"fmt"
	"iter"
)

// List is values by position. It never changes, and the zero List is empty. What
// the values count for in Bytes is told with each.
type List[V any] struct {
	root *node[struct{}, V]
}

// BuildList is a List of n values that next gives one after the other. It takes
// O(n), and stops at an error of next. Memory is taken as values come, not by
// what n promises.
func BuildList[V any](n int, bytes func(V) int, next func() (V, error)) (List[V], error) {
	b := builder[struct{}, V]{rest: n, weigh: func(_ struct{}, v V) int { return bytes(v) }, next: func() (k struct{}, v V, err error) {
		v, err = next()
		return k, v, err
	}}
	root, err := b.build(max(n, 0))
	return List[V]{root}, err
}

// Len is the number of values. O(1).
func (l List[V]) Len() int { return l.root.count() }

// Bytes is the sum of what the values count for. O(1).
func (l List[V]) Bytes() int { return l.root.size() }

// Append is the List with one more value at its end, which counts for some
// bytes. O(log n).
func (l List[V]) Append(v V, bytes int) List[V] {
	return List[V]{link(l.root, &node[struct{}, V]{value: v, len: 1, bytes: bytes}, nil)}
}

// At is the value at a position from 0 to Len()-1; others panic. O(log n).
func (l List[V]) At(i int) V { return l.root.at(within(i, l.Len())).value }

// From visits the values from a position on, in order. One before the first
// counts as the first. O(log n), and O(1) for each.
func (l List[V]) From(i int) iter.Seq[V] {
	return func(yield func(V) bool) {
		l.root.ascend(max(i, 0), func(_ struct{}, v V) bool { return yield(v) })
	}
}

// All visits all values, in order.
func (l List[V]) All() iter.Seq[V] { return l.From(0) }

// Slice is the List of the values from position i up to j, without j. Positions
// that there are not count as the nearest that there are. O(log n).
func (l List[V]) Slice(i, j int) List[V] { return List[V]{l.root.take(j).drop(i)} }

// Join is the List of the values of l and then those of after. O(log n).
func (l List[V]) Join(after List[V]) List[V] { return List[V]{concat(l.root, after.root)} }

// Check tells what is wrong with the tree, nil if nothing is. O(n).
func (l List[V]) Check(bytes func(V) int) (err error) {
	weigh := func(_ struct{}, v V) int { return bytes(v) }
	l.root.check(weigh, func(format string, args ...any) { err = fmt.Errorf(format, args...) })
	return err
}
