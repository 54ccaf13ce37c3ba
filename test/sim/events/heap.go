// Package events holds the scheduled events of a simulation, in order.
package events

// Event is a function that is called at an instant.
type Event struct {
	At  int64
	Seq uint64 // events of one instant run in the order of their creation
	Run func()
}

// Heap is a binary heap, earliest first.
type Heap []Event

func (h Heap) less(i, j int) bool {
	return h[i].At < h[j].At || h[i].At == h[j].At && h[i].Seq < h[j].Seq
}

// Push adds an event.
func (h *Heap) Push(e Event) {
	*h = append(*h, e)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(i, up) {
			return
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

// Pop removes the earliest event. There must be one.
func (h *Heap) Pop() Event {
	q := *h
	top, n := q[0], len(q)-1
	q[0], q[n] = q[n], Event{}
	q = q[:n]
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < n && q.less(c, least) {
				least = c
			}
		}
		if least == i {
			break
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
	*h = q
	return top
}
