package link

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// newPause makes the pauses between attempts, which grow exponentially.
func newPause(o *Options) *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{InitialInterval: o.LeastPause, MaxInterval: o.MostPause,
		Multiplier: 2, RandomizationFactor: 0.5}
	b.Reset()
	return b
}

// sleep waits for d, or less if ctx ends, which it reports.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// margin is the time that a node is given: a little less than there is, so that its response arrives
// in time. 0 is no deadline.
func margin(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	left := time.Until(deadline)
	return max(left-min(left/10, 50*time.Millisecond), time.Millisecond)
}
