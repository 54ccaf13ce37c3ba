package world

import (
	"math"
	"math/rand/v2"
	"time"
)

// Time is virtual time, in nanoseconds since the start of a run. It advances from one scheduled event to the next.
type Time struct {
	now    int64
	seq    uint64
	events heap
}

// Now returns the present instant.
func (t *Time) Now() int64 { return t.now }

// At schedules f at an instant, or now if the instant has passed. Events of one instant run in the order in which they
// were scheduled.
func (t *Time) At(when int64, f func()) {
	t.seq++
	t.events.push(event{at: max(when, t.now), seq: t.seq, run: f})
}

// After schedules f some time from now.
func (t *Time) After(d time.Duration, f func()) { t.At(t.now+int64(d), f) }

// Next returns the instant of the next event, math.MaxInt64 if there is none.
func (t *Time) Next() int64 {
	if len(t.events) == 0 {
		return math.MaxInt64
	}
	return t.events[0].at
}

// RunNext runs the next event. There must be one.
func (t *Time) RunNext() {
	e := t.events.pop()
	t.now = e.at
	e.run()
}

// AdvanceTo sets the time, unless it is later already. All events up to then must have run.
func (t *Time) AdvanceTo(now int64) { t.now = max(t.now, now) }

// event is a function that is called at an instant.
type event struct {
	at  int64
	seq uint64
	run func()
}

// heap is a binary heap, earliest event first.
type heap []event

func (h heap) less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h *heap) push(e event) {
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

func (h *heap) pop() event {
	q := *h
	top, n := q[0], len(q)-1
	q[0], q[n] = q[n], event{}
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

// Random draws what is random in a run. Without a source nothing is: durations are their means or zero, and no event
// of a random choice occurs.
type Random struct{ Rng *rand.Rand }

// Chance returns true with a probability.
func (r Random) Chance(p float64) bool { return p > 0 && r.Rng != nil && r.Rng.Float64() < p }

// OneIn returns true once in n times.
func (r Random) OneIn(n int) bool { return r.Rng != nil && r.Rng.IntN(n) == 0 }

// About draws a duration with the given mean, which is rarely exceeded by much.
func (r Random) About(mean time.Duration) time.Duration {
	if mean <= 0 || r.Rng == nil {
		return max(mean, 0)
	}
	return time.Duration(min(r.Rng.ExpFloat64(), 10) * float64(mean))
}

// UpTo draws a duration below d.
func (r Random) UpTo(d time.Duration) time.Duration {
	if d <= 0 || r.Rng == nil {
		return 0
	}
	return time.Duration(r.Rng.Int64N(int64(d)))
}
