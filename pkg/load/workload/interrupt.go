package workload

import (
	"context"
	"sync/atomic"
	"time"
)

// interruption is when a run was interrupted, if it was. The measured part ends
// then: what is in flight is waited for, for as long as its deadlines allow,
// and neither that time nor what is answered in it is a part of the measure.
type interruption struct{ at atomic.Pointer[time.Time] }

// watch notes when ctx ends, until the function it gives is called.
func (i *interruption) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { i.seen(ctx) })
}

// seen notes the end of ctx if it has ended and that was not noted before. What
// stops for it calls this first: watch may come later, and an interruption must
// not be after what it has stopped.
func (i *interruption) seen(ctx context.Context) {
	if ctx.Err() == nil {
		return
	}
	now := time.Now()
	i.at.CompareAndSwap(nil, &now)
}

// before reports whether the interruption came before t.
func (i *interruption) before(t time.Time) bool {
	at := i.at.Load()
	return at != nil && at.Before(t)
}

// end is when the measured part of w ended, of a run whose last client stopped
// asking for more at stopped, and whether that was an interruption.
func (i *interruption) end(w window, stopped time.Time) (end time.Time, interrupted bool) {
	at := i.at.Load()
	switch {
	case at != nil && !at.After(stopped) && !w.over(*at):
		return *at, true
	case w.over(stopped):
		return w.end, false
	}
	return stopped, false
}
