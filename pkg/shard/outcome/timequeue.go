package outcome

// timeQueue is the order of eviction of a bounded memory: the element with the lowest time comes
// first.
//
// The order is by the time in the id, not by arrival, because an evicted id raises a low watermark
// to its time. Clients make the ids. If a client's clock is an hour ahead, then in the order of
// arrival its id would raise the watermark above everything that begins within that hour.
//
// Most ids arrive nearly in the order of their times. An element that is not older than the previous
// one is appended to sorted; others are in a heap, which stays small.
type timeQueue[T any] struct {
	time func(T) int64
	// sorted[head:] is in ascending order.
	sorted []T
	head   int
	heap   []T
}

func (h *timeQueue[T]) len() int { return len(h.sorted) - h.head + len(h.heap) }

func (h *timeQueue[T]) push(v T) {
	if n := len(h.sorted); n == h.head || h.time(v) >= h.time(h.sorted[n-1]) {
		h.sorted = append(h.sorted, v)
		return
	}
	h.heap = append(h.heap, v)
	for i := len(h.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.heap[i], h.heap[parent] = h.heap[parent], h.heap[i]
		i = parent
	}
}

// pop removes and returns the element with the lowest time. The queue must not be empty.
func (h *timeQueue[T]) pop() T {
	if len(h.heap) > 0 && (h.head == len(h.sorted) || h.time(h.heap[0]) < h.time(h.sorted[h.head])) {
		return h.popHeap()
	}
	v := h.sorted[h.head]
	h.head++
	if 2*h.head >= len(h.sorted) {
		h.sorted, h.head = h.sorted[:copy(h.sorted, h.sorted[h.head:])], 0
	}
	return v
}

func (h *timeQueue[T]) less(i, j int) bool { return h.time(h.heap[i]) < h.time(h.heap[j]) }

func (h *timeQueue[T]) popHeap() T {
	top, last := h.heap[0], len(h.heap)-1
	h.heap[0] = h.heap[last]
	h.heap = h.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < last && h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}
