package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// connector keeps one session alive. A single goroutine, keep, connects to the first address and, at
// each failure, to the next one, in a circle:
//
//	forever:
//	  connect to the current address
//	  if that works: publish the session; wait for its end, or its retirement
//	  make the next address the current one
//	  after as many failures in a row as there are addresses: pause
//
// A session that ends within a second counts as a failure, so that a node which accepts and drops
// connections does not make the loop spin.
type connector struct {
	addrs []string
	opts  *options
	// current is the live session; nil while there is none.
	current atomic.Pointer[session]
	// closing ends keep; stopped is closed when it has ended.
	closing context.Context
	close   context.CancelFunc
	stopped chan struct{}
	// retiring counts the retired sessions that still wait for responses.
	retiring sync.WaitGroup
	// welcomed is called with each new session.
	welcomed func(*session)

	mu sync.Mutex
	// changed is closed, and replaced, at each of keep's results.
	changed chan struct{}
	// rounds counts how often all addresses have failed in a row; failure is the error of the last
	// one.
	rounds  int
	failure error
}

const sessionCounts = time.Second

func newConnector(addrs []string, o *options, welcomed func(*session)) *connector {
	c := &connector{addrs: addrs, opts: o, welcomed: welcomed,
		stopped: make(chan struct{}), changed: make(chan struct{})}
	c.closing, c.close = context.WithCancel(context.Background())
	go c.keep()
	return c
}

func (c *connector) keep() {
	defer close(c.stopped)
	pause := newPause(c.opts)
	failures := 0
	for turn := 0; c.closing.Err() == nil; turn++ {
		lived, err := c.connect(c.addrs[turn%len(c.addrs)])
		if lived >= sessionCounts {
			failures = 0
			pause.Reset()
			continue
		}
		failures++
		wholeRound := failures%len(c.addrs) == 0
		c.publish(nil, err, wholeRound && err != nil)
		if wholeRound {
			wait := pause.NextBackOff()
			if rejected(err) {
				wait = max(wait, pauseRejected)
			}
			sleep(c.closing, wait)
		}
	}
}

// connect makes a session, publishes it and waits for its end.
func (c *connector) connect(addr string) (lived time.Duration, err error) {
	ctx, cancel := context.WithTimeout(c.closing, c.opts.connectTimeout)
	s, err := newSession(ctx, addr, c.opts, c.closing.Done())
	cancel()
	if err != nil {
		return 0, &addressError{addr, err}
	}
	born := time.Now()
	c.welcomed(s)
	c.publish(s, nil, false)
	select {
	case <-s.done:
	case <-s.retired:
		// What was sent on it still gets its response, while the next one is opened.
		c.retiring.Add(1)
		go func() {
			defer c.retiring.Done()
			c.await(s)
		}()
	case <-c.closing.Done():
		s.shutDown()
	}
	c.publish(nil, nil, false)
	return time.Since(born), nil
}

// await waits for the end of a session that has retired.
func (c *connector) await(s *session) {
	select {
	case <-s.done:
	case <-c.closing.Done():
		s.shutDown()
	}
}

// addressError is an error with the address that failed.
type addressError struct {
	addr string
	err  error
}

func (e *addressError) Error() string {
	text := fromStatus(e.err).Message
	if why, ok := errors.AsType[*Error](e.err); ok {
		text = why.Message
	}
	return e.addr + ": " + text
}

func (e *addressError) Unwrap() error { return e.err }

func (c *connector) publish(s *session, failure error, round bool) {
	c.current.Store(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if failure != nil {
		c.failure = failure
	}
	if round {
		c.rounds++
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// live is the current session, unless it has ended and keep has not noticed.
func (c *connector) live() *session {
	if s := c.current.Load(); s != nil && !s.over.Load() {
		return s
	}
	return nil
}

// session returns the live session, or waits for one until ctx ends; with once set, only until each
// address has been tried once. Its errors are of KindUnavailable, KindClosed if the DB is closed, and
// those of a context that ended before an attempt to connect has failed.
func (c *connector) session(ctx context.Context, once bool) (*session, error) {
	if s := c.live(); s != nil {
		return s, nil
	}
	rounds := -1
	for {
		c.mu.Lock()
		changed, failure, now := c.changed, c.failure, c.rounds
		c.mu.Unlock()
		if rounds < 0 {
			rounds = now
		}
		if s := c.live(); s != nil {
			return s, nil
		}
		if now > rounds && (once || rejected(failure)) {
			return nil, c.unreachable(failure, failure)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if failure == nil {
				return nil, contextError(ctx, "before a node was reached")
			}
			return nil, c.unreachable(failure, contextCause(ctx))
		case <-c.closing.Done():
			return nil, closedError("before a node was reached")
		}
	}
}

// pauseRejected is the least pause before the next attempt if all nodes reject the client: nodes
// limit failures to authenticate.
const pauseRejected = 5 * time.Second

// rejected reports whether a node has answered, and does not admit the client: another attempt would
// be rejected, too.
func rejected(failure error) bool {
	if failure == nil {
		return false
	}
	var a *addressError
	if errors.As(failure, &a) {
		failure = a.err
	}
	k := fromStatus(failure).Kind
	return k == KindUnauthenticated || k == KindPermissionDenied
}

func (c *connector) unreachable(failure, cause error) *Error {
	if rejected(failure) {
		e := fromStatus(errors.Unwrap(failure))
		e.Message = failure.Error()
		return e
	}
	e := errorf(KindUnavailable, cause, "no node could be reached in time")
	hint := "check that linchpin runs at one of these addresses"
	if failure != nil {
		e.Message = "no node can be reached; " + failure.Error()
		if len(c.addrs) > 1 {
			e.Message = "no node can be reached; the last error is that of " + failure.Error()
		}
		why, ok := errors.AsType[*Error](failure)
		if ok && why.Hint != "" {
			hint = why.Hint
		}
	}
	e.Hint = hint
	return e
}

// stop ends the sessions and waits for keep.
func (c *connector) stop() {
	c.close()
	<-c.stopped
	c.retiring.Wait()
}

// newPause makes the pauses between attempts, which grow exponentially.
func newPause(o *options) *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{InitialInterval: o.leastPause, MaxInterval: o.mostPause,
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
