package outbox

// item is a queued message, which may be taken from time due on.
type item[T any] struct {
	m    T
	size int
	due  int64
}

// fifo is a queue whose bounds are its owner's.
type fifo[T any] struct {
	// items[head:] are queued, oldest first.
	items []item[T]
	head  int
	bytes int
}

func (f *fifo[T]) count() int { return len(f.items) - f.head }

func (f *fifo[T]) push(it item[T]) {
	if len(f.items) == cap(f.items) && f.head >= len(f.items)/2 {
		f.compact() // a queue that is never empty would grow without bound
	}
	f.items = append(f.items, it)
	f.bytes += it.size
}

// pop removes the oldest message of a queue that is not empty.
func (f *fifo[T]) pop() T {
	it := &f.items[f.head]
	m := it.m
	f.bytes -= it.size
	*it = item[T]{}
	f.head++
	return m
}

// take appends to dst the messages that are due at now, up to maxCount and maxBytes, but at least one if any is due.
// next is the time at which more are due; it is 0 if the queue is empty.
func (f *fifo[T]) take(dst []T, maxCount, maxBytes int, now int64) (taken []T, next int64) {
	size := 0
	for n := 0; f.count() > 0; n++ {
		it := &f.items[f.head]
		if it.due > now || n > 0 && (n >= maxCount || size+it.size > maxBytes) {
			return dst, max(it.due, 1)
		}
		size += it.size
		dst = append(dst, f.pop())
	}
	f.reset()
	return dst, 0
}

// maxKeptCapacity bounds the capacity that an empty queue keeps.
const maxKeptCapacity = 1024

// reset reuses the slots of an empty queue.
func (f *fifo[T]) reset() {
	f.head = 0
	if cap(f.items) > maxKeptCapacity {
		f.items = nil
		return
	}
	f.items = f.items[:0]
}

// compact moves the queued items to the front of the slice.
func (f *fifo[T]) compact() {
	n := copy(f.items, f.items[f.head:])
	clear(f.items[n:])
	f.items, f.head = f.items[:n], 0
}
