package tree

// node is an element with what is left and right of it. It never changes once
// others can see it. K comes first: an empty struct at the end would take room.
type node[K, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
	// len and bytes are of the whole tree.
	len, bytes int
}

// heavier is how much heavier a tree may be than its sibling.
const heavier = 3

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

// own is the bytes of the element alone.
func (n *node[K, V]) own() int { return n.bytes - n.left.size() - n.right.size() }

// with is n's element between two trees that are balanced.
func (n *node[K, V]) with(left, right *node[K, V]) *node[K, V] {
	if n.left == left && n.right == right {
		return n
	}
	return &node[K, V]{key: n.key, value: n.value, left: left, right: right,
		len: left.count() + 1 + right.count(), bytes: left.size() + n.own() + right.size()}
}

// like reports whether two weights go together as siblings.
func like(a, b int) bool { return a <= heavier*b && b <= heavier*a }

// link is a tree of what is in left, the element of n, and what is in right.
func link[K, V any](left, n, right *node[K, V]) *node[K, V] {
	switch l, r := left.weight(), right.weight(); {
	case like(l, r):
		return n.with(left, right)
	case l > r:
		return leanRight(left, link(left.right, n, right))
	default:
		return leanLeft(link(left, n, right.left), right)
	}
}

// leanRight is n with another tree to its right, which has become heavier.
func leanRight[K, V any](n, right *node[K, V]) *node[K, V] {
	left := n.left
	switch w := left.weight(); {
	case like(w, right.weight()):
		return n.with(left, right)
	case like(w, right.left.weight()) && like(w+right.left.weight(), right.right.weight()):
		return right.with(n.with(left, right.left), right.right)
	}
	mid := right.left
	return mid.with(n.with(left, mid.left), right.with(mid.right, right.right))
}

// leanLeft is the mirror of leanRight.
func leanLeft[K, V any](left, n *node[K, V]) *node[K, V] {
	right := n.right
	switch w := right.weight(); {
	case like(w, left.weight()):
		return n.with(left, right)
	case like(w, left.right.weight()) && like(w+left.right.weight(), left.left.weight()):
		return left.with(left.left, n.with(left.right, right))
	}
	mid := left.right
	return mid.with(left.with(left.left, mid.left), n.with(mid.right, right))
}

// concat is a tree of what is in left and what is in right.
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

// at is the element at a position that there is.
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

// before is the bytes of the first i elements, or of all that there are.
func (n *node[K, V]) before(i int) (bytes int) {
	for n != nil && i > 0 {
		l := n.left.count()
		if i <= l {
			n = n.left
			continue
		}
		bytes += n.left.size() + n.own()
		n, i = n.right, i-l-1
	}
	return bytes
}

// past finds the first element with which there are more than some bytes.
func (n *node[K, V]) past(bytes int) (i, before int) {
	for n != nil {
		l := n.left.size()
		switch {
		case bytes < before+l:
			n = n.left
			continue
		case bytes < before+l+n.own():
			return i + n.left.count(), before + l
		}
		i, before = i+n.left.count()+1, before+l+n.own()
		n = n.right
	}
	return i, before
}

// take is the first i elements, or all that there are.
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

// drop is all but the first i elements.
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

// ascend visits the elements from a position on, as long as visit says.
func (n *node[K, V]) ascend(i int, visit func(K, V) bool) bool {
	if i >= n.count() {
		return true
	}
	l := n.left.count()
	return (i >= l || n.left.ascend(i, visit)) &&
		(i > l || visit(n.key, n.value)) && n.right.ascend(max(i-l-1, 0), visit)
}

// descend visits the elements from a position down to the first.
func (n *node[K, V]) descend(i int, visit func(K, V) bool) bool {
	if n == nil || i < 0 {
		return true
	}
	l := n.left.count()
	return (i <= l || n.right.descend(i-l-1, visit)) &&
		(i < l || visit(n.key, n.value)) && n.left.descend(min(i, l-1), visit)
}

// slab is how many nodes are made at once where many are. Each keeps the others
// in memory, so that it is not many. Somewhat arbitrary.
const slab = 32

// builder makes a balanced tree of elements that come in order.
type builder[K, V any] struct {
	next func() (K, V, error)
	// weigh gives the bytes of an element.
	weigh func(K, V) int
	room  []node[K, V]
	// rest is how many elements have not come yet.
	rest int
}

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
	if len(b.room) == 0 {
		b.room = make([]node[K, V], min(b.rest, slab))
	}
	top := &b.room[0]
	b.room, b.rest = b.room[1:], b.rest-1
	right, err := b.build(n - n/2 - 1)
	if err != nil {
		return nil, err
	}
	*top = node[K, V]{key: key, value: value, left: left, right: right, len: n,
		bytes: left.size() + b.weigh(key, value) + right.size()}
	return top, nil
}

// check tells where a tree is not as it should be.
func (n *node[K, V]) check(weigh func(K, V) int, bad func(format string, args ...any)) {
	if n == nil {
		return
	}
	if !like(n.left.weight(), n.right.weight()) {
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
