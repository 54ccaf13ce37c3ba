package record

// eldest is a bounded memory's order of forgetting: a heap from which the
// entry with the least time comes first.
//
// It goes by the time in the id and not by the order of arrival, because what
// is forgotten raises a floor to its time. Ids are made by clients, and a
// single one whose clock is an hour ahead would otherwise have the floor rise
// above everything that anybody begins within that hour.
type eldest[T any] struct {
	items []T
	time  func(T) int64
}

func (h *eldest[T]) len() int { return len(h.items) }

func (h *eldest[T]) less(i, j int) bool { return h.time(h.items[i]) < h.time(h.items[j]) }

func (h *eldest[T]) push(v T) {
	h.items = append(h.items, v)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *eldest[T]) pop() T {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
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
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
