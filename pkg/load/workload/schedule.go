package workload

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// schedule says when transactions are meant to start, and which of them are
// measured. The two loops differ in nothing else.
type schedule interface {
	// next gives the intended start of the client's next transaction, once
	// it has come. ok is false when the client shall stop.
	next(ctx context.Context, client int) (start time.Time, measured, ok bool)
	// backlog is how many transactions were due before the measured part
	// ended and were not started.
	backlog(end time.Time) uint64
}

// window is the part of time that counts.
type window struct {
	// begin is the end of the warm-up; end is zero when only a count ends the
	// run.
	begin, end time.Time
}

// over reports whether nothing may start at t any more.
func (w window) over(t time.Time) bool { return !w.end.IsZero() && !t.Before(w.end) }

// closedLoop starts a transaction whenever a client is free. With a count,
// each client has its share from the beginning, so that which transactions
// are run does not depend on their speed.
type closedLoop struct {
	window
	counted bool
	left    []uint64 // by client; touched by it alone
}

func newClosedLoop(w window, clients int, count uint64) *closedLoop {
	l := &closedLoop{window: w, counted: count > 0, left: make([]uint64, clients)}
	n := uint64(clients)
	for i := range l.left {
		l.left[i] = count / n
		if uint64(i) < count%n {
			l.left[i]++
		}
	}
	return l
}

func (l *closedLoop) next(ctx context.Context, client int) (time.Time, bool, bool) {
	now := time.Now()
	measured := !now.Before(l.begin)
	if ctx.Err() != nil || l.over(now) {
		return now, measured, false
	}
	if measured && l.counted {
		if l.left[client] == 0 {
			return now, measured, false
		}
		l.left[client]--
	}
	return now, measured, true
}

func (l *closedLoop) backlog(time.Time) uint64 { return 0 }

// openLoop starts transactions at a rate, whichever client is free.
type openLoop struct {
	window
	start   time.Time
	rate    float64
	last    uint64 // tickets in total; math.MaxUint64 without a count
	tickets atomic.Uint64
}

func newOpenLoop(w window, start time.Time, rate float64, count uint64) *openLoop {
	l := &openLoop{window: w, start: start, rate: rate, last: math.MaxUint64}
	if count > 0 {
		warm := l.due(w.begin)
		l.last = warm + min(count, math.MaxUint64-warm)
	}
	return l
}

// at is the intended start of a ticket, which counts from 0.
func (l *openLoop) at(ticket uint64) time.Time { return nth(l.start, ticket, l.rate) }

// never is later than any run ends: at a very low rate what comes next is due
// after more time than a time.Duration can hold.
const never = 100 * 365 * 24 * time.Hour

// nth is when the n-th of events is due, from 0, of which there are so many in a
// second from start.
func nth(start time.Time, n uint64, perS float64) time.Time {
	return start.Add(time.Duration(min(float64(n)/perS*float64(time.Second), float64(never))))
}

// due is the number of tickets that are meant to start before t.
func (l *openLoop) due(t time.Time) uint64 {
	if !t.After(l.start) {
		return 0
	}
	n := uint64(t.Sub(l.start).Seconds() * l.rate)
	// The product is rounded; at decides.
	for n > 0 && !l.at(n-1).Before(t) {
		n--
	}
	for l.at(n).Before(t) {
		n++
	}
	return min(n, l.last)
}

func (l *openLoop) next(ctx context.Context, _ int) (time.Time, bool, bool) {
	for {
		ticket := l.tickets.Load()
		start := l.at(ticket)
		// What is due and not taken when time is up stays with the backlog.
		// What was taken in time is run, though it may have slept past it.
		if ticket >= l.last || ctx.Err() != nil || l.over(time.Now()) {
			return start, false, false
		}
		if l.over(start) {
			// Nothing more is due, and the run is not over before its time:
			// its length is what the throughput is divided by.
			Sleep(ctx, time.Until(l.end))
			return start, false, false
		}
		if l.tickets.CompareAndSwap(ticket, ticket+1) {
			measured := !start.Before(l.begin)
			return start, measured, Sleep(ctx, time.Until(start))
		}
	}
}

func (l *openLoop) backlog(end time.Time) uint64 {
	due, taken := l.due(end), l.tickets.Load()
	if due <= taken {
		return 0
	}
	return due - taken
}

// Sleep waits for d; it is false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
