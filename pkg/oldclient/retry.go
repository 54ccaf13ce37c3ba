package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retrier holds what the attempts of one call have in common. It costs
// nothing until something goes wrong.
type retrier struct {
	db *DB
	// ctx is the caller's.
	ctx context.Context
	// whole is ctx, but ends when the DB is closed, too; limited is whole with a
	// deadline. Each is made when first needed, and ended by its cancel.
	whole, limited     context.Context
	cancel, cancelMore context.CancelFunc
	pause              *backoff.ExponentialBackOff
}

func newRetrier(db *DB, ctx context.Context) retrier { return retrier{db: db, ctx: ctx} }

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

// settled waits until a context has ended if the DB has been closed: it ends a moment later
// than that, and the connection may have been closed in between.
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
		stop := context.AfterFunc(r.db.conn.closing, func() { cancel(closedError("first")) })
		r.whole = context.WithValue(ctx, closingKey{}, r.db.conn.closing)
		r.cancel = func() {
			stop()
			cancel(nil)
		}
	}
	return r.whole
}

// bounded is context, with a deadline if it has none: nothing is tried again for ever.
func (r *retrier) bounded() context.Context {
	if r.limited == nil {
		r.limited = r.context()
		_, has := r.ctx.Deadline()
		if !has {
			r.limited, r.cancelMore = context.WithTimeout(r.limited, r.db.opts.patience)
		}
	}
	return r.limited
}

// over is an error if the caller's context has ended, or the DB is closed: nothing is
// sent after that. when says before what.
func (r *retrier) over(when string) *Error {
	switch {
	case r.ctx.Err() != nil:
		return contextError(r.ctx, when)
	case r.db.conn.closing.Err() != nil:
		return closedError(when)
	}
	return nil
}

// session gives the live session. Without retries it waits for a new one only
// until every address has been tried.
func (r *retrier) session() (*session, error) {
	over := r.over("before anything was sent")
	if over != nil {
		return nil, over
	}
	if s := r.db.conn.live(); s != nil {
		return s, nil
	}
	return r.db.conn.session(r.bounded(), !r.db.opts.retries)
}

// use gives the live session and keeps its connection open until unuse.
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

// again says whether to make another attempt after err, and waits until it is
// time for it. If it was the time in the id that the node refused, the clock is set
// by the node's first.
func (r *retrier) again(err *Error) bool {
	r.db.setClock(err)
	if !r.db.opts.retries || !err.retryable() || err.RetryAfter > longestWish || r.known(err) {
		return false
	}
	rested := err.RetryAfter > 0 && r.restFor(err.RetryAfter) || err.RetryAfter == 0 && r.rest()
	if rested && r.bounded().Err() == nil {
		return true
	}
	err.because(contextCause(r.bounded()))
	return false
}

// known reports whether err comes of a node that is known to be down and is not to be
// waited for: it would be the same again.
func (r *retrier) known(err *Error) bool { return err.Down != nil && !r.db.opts.waitForShards }

// longestWish is for how long the client waits at the server's wish. Who is to come
// back later than that, as when a disk is full, hears of it at once: somebody has to
// do something about it.
const longestWish = 5 * time.Second

// restFor pauses for as long as the server has asked for, and up to a tenth
// more, lest clients of several servers come all at once.
func (r *retrier) restFor(d time.Duration) bool {
	return sleep(r.bounded(), d+rand.N(d/10+1))
}

// rest pauses before the next attempt. It reports false if there is no time
// for one.
func (r *retrier) rest() bool {
	if r.pause == nil {
		r.pause = newPause(r.db.opts)
	}
	return sleep(r.bounded(), r.pause.NextBackOff())
}
