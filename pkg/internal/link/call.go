package link

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Policy is how a call is retried, and how long it waits.
type Policy struct {
	// NoRetry: there is one attempt only. A lost outcome is queried nevertheless.
	NoRetry bool
	// WaitForNodes: retry while a node that is known to be down has a shard that the call needs.
	WaitForNodes bool
	// Grace is how long a call whose context has ended waits for the response to what it has sent.
	Grace time.Duration
}

// Call is a call of the client with all of its attempts. It is for one goroutine, and is ended by End. It
// costs nothing until an attempt fails.
type Call struct {
	link   *Link
	policy *Policy
	// ctx is the caller's.
	ctx context.Context
	// whole is ctx, but ends when the Link is closed, too; limited is whole with a deadline. Each is
	// made when first needed, and ended by its cancel.
	whole, limited     context.Context
	cancel, cancelMore context.CancelFunc
	pause              *backoff.ExponentialBackOff
}

// Call begins a call. The policy must not change before its end.
func (l *Link) Call(ctx context.Context, p *Policy) Call { return Call{link: l, policy: p, ctx: ctx} }

// End frees what the call has made.
func (c *Call) End() {
	if c.cancelMore != nil {
		c.cancelMore()
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// Context returns the caller's context, which ends when the Link is closed, too.
func (c *Call) Context() context.Context {
	if c.whole == nil {
		ctx, cancel := context.WithCancelCause(c.ctx)
		closed := c.link.opts.Closed
		stop := context.AfterFunc(c.link.conn.closing, func() { cancel(closed) })
		c.whole = context.WithValue(ctx, closingKey{}, c.link.conn.closing)
		c.cancel = func() {
			stop()
			cancel(nil)
		}
	}
	return c.whole
}

// Bounded returns Context with a deadline, RetryFor from now, if it has none: no retry lasts for ever.
func (c *Call) Bounded() context.Context {
	if c.limited == nil {
		c.limited = c.Context()
		_, has := c.ctx.Deadline()
		if !has {
			c.limited, c.cancelMore = context.WithTimeout(c.limited, c.link.opts.RetryFor)
		}
	}
	return c.limited
}

// Ended returns an error if the caller's context has ended, or the Link is closed: nothing is sent after
// that. when names the moment: "before the request was sent".
func (c *Call) Ended(when string) *Error {
	switch {
	case c.ctx.Err() != nil:
		return ContextError(c.ctx, when)
	case c.link.conn.closing.Err() != nil:
		return closedError(when)
	}
	return nil
}

// session returns the live session. Without retries it waits for one only until every address has
// been tried.
func (c *Call) session() (*Session, *Error) {
	over := c.Ended("before anything was sent")
	if over != nil {
		return nil, over
	}
	if s := c.link.conn.live(); s != nil {
		return s, nil
	}
	return c.link.conn.session(c.Bounded(), c.policy.NoRetry)
}

// Session returns the live session, or waits for one. Its connection stays open until Release.
func (c *Call) Session() (*Session, *Error) {
	for {
		s, err := c.session()
		if err != nil {
			return nil, err
		}
		if s.use() {
			return s, nil
		}
	}
}

// Ask makes a unary call until there is a response, or no point in another attempt.
func Ask[A any](c *Call, call func(context.Context, *Session) (A, error)) (A, *Error) {
	for {
		s, failed := c.Session()
		if failed != nil {
			return *new(A), failed
		}
		answer, err := call(c.Bounded(), s)
		s.Release()
		if err == nil {
			return answer, nil
		}
		failed = Failure(c.Bounded(), err)
		again, ended := c.Again(failed)
		if !again {
			failed.because(ended)
			return answer, failed
		}
	}
}

// Change is Ask for a request that changes something. If an attempt got no response, and no later one did,
// it is unknown whether the change was made: the error is of KindOutcomeUnknown.
func Change[A any](c *Call, call func(context.Context, *Session) (A, error)) (A, *Error) {
	lost := false
	answer, failed := Ask(c, func(ctx context.Context, s *Session) (A, error) {
		answer, err := call(ctx, s)
		lost = lost || err != nil && noResponse(err)
		return answer, err
	})
	if lost && failed.withoutResponse() {
		failed.Kind = kv.KindOutcomeUnknown
		failed.Hint = "the change may have been made; check before you repeat it"
	}
	return answer, failed
}

// Again reports whether to make another attempt after err, and waits until it is time for it. ended is
// why there is no time for one, nil if err is final in itself. If the node has refused the time in the id,
// the clock is set by the node's first.
func (c *Call) Again(err *Error) (again bool, ended error) {
	c.link.setClock(err)
	if c.policy.NoRetry || !err.Retryable() || err.RetryAfter > mostRetryAfter || c.needsDown(err) {
		return false, nil
	}
	waited := err.RetryAfter > 0 && c.waitFor(err.RetryAfter) || err.RetryAfter == 0 && c.wait()
	if waited && c.Bounded().Err() == nil {
		return true, nil
	}
	return false, contextCause(c.Bounded())
}

// needsDown reports whether err is that of a node which is known to be down and is not waited for:
// another attempt would fail in the same way.
func (c *Call) needsDown(err *Error) bool { return err.Down != nil && !c.policy.WaitForNodes }

// mostRetryAfter is the longest time that the client waits before another attempt because the node
// asks for it. If a node asks for more, as with a full disk, an operator has to act, and the error is
// returned.
const mostRetryAfter = 5 * time.Second

// waitFor waits for as long as the node has asked for, and up to a tenth more, so that clients do not
// come back at the same moment.
func (c *Call) waitFor(d time.Duration) bool {
	return sleep(c.Bounded(), d+rand.N(d/10+1))
}

// wait waits before the next attempt. It reports false if there is no time for one.
func (c *Call) wait() bool {
	if c.pause == nil {
		c.pause = newPause(c.link.opts)
	}
	return sleep(c.Bounded(), c.pause.NextBackOff())
}
