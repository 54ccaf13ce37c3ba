package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retrier has what the attempts of one call have in common. It costs nothing until an attempt fails.
type retrier struct {
	core *core
	how  *how
	// ctx is the caller's.
	ctx context.Context
	// whole is ctx, but ends when the DB is closed, too; limited is whole with a deadline. Each is
	// made when first needed, and ended by its cancel.
	whole, limited     context.Context
	cancel, cancelMore context.CancelFunc
	pause              *backoff.ExponentialBackOff
}

func newRetrier(ctx context.Context, db *DB) retrier {
	return retrier{core: db.core, how: &db.how, ctx: ctx}
}

// stop frees what the retrier has made.
func (r *retrier) stop() {
	if r.cancelMore != nil {
		r.cancelMore()
	}
	if r.cancel != nil {
		r.cancel()
	}
}

// closingKey finds the context that ends when the DB is closed in one that ends then, too.
type closingKey struct{}

// settled waits until a context has ended if the DB has been closed: it ends a moment later than
// that, and the connection may have been closed in between.
func settled(ctx context.Context) {
	closing, ok := ctx.Value(closingKey{}).(context.Context)
	if ok && closing.Err() != nil {
		<-ctx.Done()
	}
}

// context is the caller's, which ends when the DB is closed, too.
func (r *retrier) context() context.Context {
	if r.whole == nil {
		ctx, cancel := context.WithCancelCause(r.ctx)
		stop := context.AfterFunc(r.core.conn.closing, func() { cancel(closedError("first")) })
		r.whole = context.WithValue(ctx, closingKey{}, r.core.conn.closing)
		r.cancel = func() {
			stop()
			cancel(nil)
		}
	}
	return r.whole
}

// bounded is context, with a deadline if it has none: no retry lasts for ever.
func (r *retrier) bounded() context.Context {
	if r.limited == nil {
		r.limited = r.context()
		_, has := r.ctx.Deadline()
		if !has {
			r.limited, r.cancelMore = context.WithTimeout(r.limited, r.core.opts.retryFor)
		}
	}
	return r.limited
}

// over returns an error if the caller's context has ended, or the DB is closed: nothing is sent after
// that. when says before what.
func (r *retrier) over(when string) *Error {
	switch {
	case r.ctx.Err() != nil:
		return contextError(r.ctx, when)
	case r.core.conn.closing.Err() != nil:
		return closedError(when)
	}
	return nil
}

// session returns the live session. Without retries it waits for one only until every address has
// been tried.
func (r *retrier) session() (*session, error) {
	over := r.over("before anything was sent")
	if over != nil {
		return nil, over
	}
	if s := r.core.conn.live(); s != nil {
		return s, nil
	}
	return r.core.conn.session(r.bounded(), r.how.noRetry)
}

// use returns the live session and keeps its connection open until unuse.
func (r *retrier) use() (*session, *Error) {
	for {
		s, err := r.session()
		if err != nil {
			return nil, asError(err)
		}
		if s.use() {
			return s, nil
		}
	}
}

// again reports whether to make another attempt after err, and waits until it is time for it. If the
// node has refused the time in the id, the clock is set by the node's first.
func (r *retrier) again(err *Error) bool {
	r.core.setClock(err)
	if r.how.noRetry || !err.retryable() || err.RetryAfter > mostRetryAfter || r.needsDown(err) {
		return false
	}
	waited := err.RetryAfter > 0 && r.waitFor(err.RetryAfter) || err.RetryAfter == 0 && r.wait()
	if waited && r.bounded().Err() == nil {
		return true
	}
	err.because(contextCause(r.bounded()))
	return false
}

// needsDown reports whether err is that of a node which is known to be down and is not waited for:
// another attempt would fail in the same way.
func (r *retrier) needsDown(err *Error) bool { return err.Down != nil && !r.how.waitForNodes }

// mostRetryAfter is the longest time that the client waits before another attempt because the node
// asks for it. If a node asks for more, as with a full disk, an operator has to act, and the error is
// returned.
const mostRetryAfter = 5 * time.Second

// waitFor waits for as long as the node has asked for, and up to a tenth more, so that clients do not
// come back at the same moment.
func (r *retrier) waitFor(d time.Duration) bool {
	return sleep(r.bounded(), d+rand.N(d/10+1))
}

// wait waits before the next attempt. It reports false if there is no time for one.
func (r *retrier) wait() bool {
	if r.pause == nil {
		r.pause = newPause(r.core.opts)
	}
	return sleep(r.bounded(), r.pause.NextBackOff())
}
