package tree

// node is an element with its subtrees. It is immutable once it is shared. key comes first: an
// empty struct at the end would be padded.
type node[K, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
	// len and bytes count the whole tree.
	len, bytes int
}

// maxWeightRatio is the maximum ratio of the weights of siblings.
const maxWeightRatio = 3

func (n *node[K, V]) count() int {
	if n == nil {
		return 0
	}
	return n.len
}

func (n *node[K, V]) size() int {
	if n == nil {
		return 0
	}
	return n.bytes
}

func (n *node[K, V]) weight() int { return n.count() + 1 }

// ownBytes returns the size of the element alone.
func (n *node[K, V]) ownBytes() int { return n.bytes - n.left.size() - n.right.size() }

// withChildren returns a node with n's element between two balanced trees.
func (n *node[K, V]) withChildren(left, right *node[K, V]) *node[K, V] {
	if n.left == left && n.right == right {
		return n
	}
	return &node[K, V]{key: n.key, value: n.value, left: left, right: right,
		len: left.count() + 1 + right.count(), bytes: left.size() + n.ownBytes() + right.size()}
}

// areBalanced reports whether trees of two weights can be siblings.
//
// With a ratio of 3 the height is at most about 2.4 times the logarithm to base 2 of the number of elements, and one
// single or double rotation at each level restores the balance after a link.
func areBalanced(a, b int) bool { return a <= maxWeightRatio*b && b <= maxWeightRatio*a }

// link returns a tree of left, the element of n, and right. It descends the heavier tree to a
// subtree that balances with the lighter one, and rebalances on the way back.
//
//	link(big, n, small)      big         descends to the right, until a subtree R' balances with small:
//	                        /   \        big
//	                       L     R      /   \
//	                            / \    L     R        and rebalances R and big on the way back
//	                          ..   R'       / \
//	                                      ..   n
//	                                          / \
//	                                         R'  small
func link[K, V any](left, n, right *node[K, V]) *node[K, V] {
	switch l, r := left.weight(), right.weight(); {
	case areBalanced(l, r):
		return n.withChildren(left, right)
	case l > r:
		return rebalanceRight(left, link(left.right, n, right))
	default:
		return rebalanceLeft(link(left, n, right.left), right)
	}
}

// rebalanceRight returns n with a new right subtree that is heavier than the old one, after a
// single or double rotation if needed.
//
//	single:   n                right        double:   n                 mid
//	         / \              /     \                / \              /     \
//	        l  right   ─▶    n      rr              l  right   ─▶    n      right
//	          /  \          / \                       /  \          / \     /  \
//	        mid   rr       l  mid                   mid   rr       l  ml   mr   rr
func rebalanceRight[K, V any](n, right *node[K, V]) *node[K, V] {
	left := n.left
	switch w := left.weight(); {
	case areBalanced(w, right.weight()):
		return n.withChildren(left, right)
	case areBalanced(w, right.left.weight()) && areBalanced(w+right.left.weight(), right.right.weight()):
		return right.withChildren(n.withChildren(left, right.left), right.right)
	}
	mid := right.left
	return mid.withChildren(n.withChildren(left, mid.left), right.withChildren(mid.right, right.right))
}

// rebalanceLeft is the mirror image of rebalanceRight.
func rebalanceLeft[K, V any](left, n *node[K, V]) *node[K, V] {
	right := n.right
	switch w := right.weight(); {
	case areBalanced(w, left.weight()):
		return n.withChildren(left, right)
	case areBalanced(w, left.right.weight()) && areBalanced(w+left.right.weight(), left.left.weight()):
		return left.withChildren(left.left, n.withChildren(left.right, right))
	}
	mid := left.right
	return mid.withChildren(left.withChildren(left.left, mid.left), n.withChildren(mid.right, right))
}

// concat returns a tree of left and right. It takes the middle element from the larger tree.
//
//	concat([a b c], [d e])     link([a b], c, [d e]): the middle element comes from the larger tree, so the two
//	                           sides become more alike
func concat[K, V any](left, right *node[K, V]) *node[K, V] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.len > right.len:
		last := left.at(left.len - 1)
		return link(left.take(left.len-1), last, right)
	}
	return link(left, right.at(0), right.drop(1))
}

// at returns the element at an existing position.
func (n *node[K, V]) at(i int) *node[K, V] {
	for {
		switch l := n.left.count(); {
		case i < l:
			n = n.left
		case i == l:
			return n
		default:
			n, i = n.right, i-l-1
		}
	}
}

// bytesBefore returns the size of the first i elements, or of all if there are fewer.
func (n *node[K, V]) bytesBefore(i int) (bytes int) {
	for n != nil && i > 0 {
		l := n.left.count()
		if i <= l {
			n = n.left
			continue
		}
		bytes += n.left.size() + n.ownBytes()
		n, i = n.right, i-l-1
	}
	return bytes
}

// positionPast implements Map.Past.
func (n *node[K, V]) positionPast(bytes int) (i, before int) {
	for n != nil {
		l := n.left.size()
		switch {
		case bytes < before+l:
			n = n.left
			continue
		case bytes < before+l+n.ownBytes():
			return i + n.left.count(), before + l
		}
		i, before = i+n.left.count()+1, before+l+n.ownBytes()
		n = n.right
	}
	return i, before
}

// take returns the first i elements, or all if there are fewer.
//
// It links again the subtrees to the left of the cut, from the bottom up. The costs of the links add up to O(log n), as
// the heights grow on the way.
func (n *node[K, V]) take(i int) *node[K, V] {
	switch {
	case i <= 0:
		return nil
	case i >= n.count():
		return n
	case i <= n.left.count():
		return n.left.take(i)
	}
	return link(n.left, n, n.right.take(i-n.left.count()-1))
}

// drop returns all elements except the first i.
func (n *node[K, V]) drop(i int) *node[K, V] {
	switch {
	case i <= 0:
		return n
	case i >= n.count():
		return nil
	case i > n.left.count():
		return n.right.drop(i - n.left.count() - 1)
	}
	return link(n.left.drop(i), n, n.right)
}

// ascend visits the elements from a position on until visit returns false.
func (n *node[K, V]) ascend(i int, visit func(K, V) bool) bool {
	if i >= n.count() {
		return true
	}
	l := n.left.count()
	return (i >= l || n.left.ascend(i, visit)) &&
		(i > l || visit(n.key, n.value)) && n.right.ascend(max(i-l-1, 0), visit)
}

// descend visits the elements from a position down to the first until visit returns false.
func (n *node[K, V]) descend(i int, visit func(K, V) bool) bool {
	if n == nil || i < 0 {
		return true
	}
	l := n.left.count()
	return (i <= l || n.right.descend(i-l-1, visit)) &&
		(i < l || visit(n.key, n.value)) && n.left.descend(min(i, l-1), visit)
}

// slabSize is the number of nodes that Build allocates at once. One referenced node keeps its slab
// in memory, so it is small. The value is not critical.
const slabSize = 32

// builder builds a balanced tree of elements in order.
type builder[K, V any] struct {
	next func() (K, V, error)
	// weigh returns the size of an element.
	weigh func(K, V) int
	slab  []node[K, V]
	// rest is how many elements have not come yet.
	remaining int
}

// It recurses in the order of the elements: the left half, the element, the right half. So elements are needed one at
// a time.
func (b *builder[K, V]) build(n int) (*node[K, V], error) {
	if n == 0 {
		return nil, nil
	}
	left, err := b.build(n / 2)
	if err != nil {
		return nil, err
	}
	key, value, err := b.next()
	if err != nil {
		return nil, err
	}
	if len(b.slab) == 0 {
		b.slab = make([]node[K, V], min(b.remaining, slabSize))
	}
	top := &b.slab[0]
	b.slab, b.remaining = b.slab[1:], b.remaining-1
	right, err := b.build(n - n/2 - 1)
	if err != nil {
		return nil, err
	}
	*top = node[K, V]{key: key, value: value, left: left, right: right, len: n,
		bytes: left.size() + b.weigh(key, value) + right.size()}
	return top, nil
}

// check reports violated invariants of a tree.
func (n *node[K, V]) check(weigh func(K, V) int, bad func(format string, args ...any)) {
	if n == nil {
		return
	}
	if !areBalanced(n.left.weight(), n.right.weight()) {
		bad("%d elements left and %d right of %v", n.left.count(), n.right.count(), n.key)
	}
	if want := n.left.count() + 1 + n.right.count(); n.len != want {
		bad("%d elements at %v, not %d", n.len, n.key, want)
	}
	if want := n.left.size() + weigh(n.key, n.value) + n.right.size(); n.bytes != want {
		bad("%d bytes at %v, not %d", n.bytes, n.key, want)
	}
	n.left.check(weigh, bad)
	n.right.check(weigh, bad)
}
