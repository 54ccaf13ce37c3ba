package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
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
	opts  *Options
	// timeouts are those of a node that is silent.
	timeouts timeouts
	// current is the live session; nil while there is none.
	current atomic.Pointer[Session]
	// closing ends keep; stopped is closed when it has ended.
	closing context.Context
	close   context.CancelFunc
	stopped chan struct{}
	// retiring counts the retired sessions that still wait for responses.
	retiring sync.WaitGroup
	// welcomed is called with each new session, and silent with one that ends because its node is.
	welcomed, silent func(*Session)

	mu sync.Mutex
	// changed is closed, and replaced, at each of keep's results.
	changed chan struct{}
	// rounds counts how often all addresses have failed in a row; failure is the error of the last
	// one.
	rounds  int
	failure *Error
}

const sessionCounts = time.Second

func newConnector(addrs []string, o *Options, p timeouts, welcomed, silent func(*Session)) *connector {
	c := &connector{addrs: addrs, opts: o, timeouts: p, welcomed: welcomed, silent: silent,
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
func (c *connector) connect(addr string) (lived time.Duration, failure *Error) {
	ctx, cancel := context.WithTimeout(c.closing, c.opts.ConnectTimeout)
	s, err := newSession(ctx, addr, c.opts, c.closing.Done())
	cancel()
	if err != nil {
		err.Text = addr + ": " + err.Text
		return 0, err
	}
	born := time.Now()
	if c.timeouts != (timeouts{}) {
		go s.failOver(c.timeouts, c.silent)
	}
	c.welcomed(s)
	c.publish(s, nil, false)
	select {
	case <-s.pipe.done:
	case <-s.pipe.retired:
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
func (c *connector) await(s *Session) {
	select {
	case <-s.pipe.done:
	case <-c.closing.Done():
		s.shutDown()
	}
}

func (c *connector) publish(s *Session, failure *Error, round bool) {
	c.current.Store(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if failure != nil || s != nil { // a failure before a session says nothing of its end
		c.failure = failure
	}
	if round {
		c.rounds++
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// live is the current session, unless it has ended and keep has not noticed.
func (c *connector) live() *Session {
	if s := c.current.Load(); s != nil && !s.pipe.over.Load() {
		return s
	}
	return nil
}

// session returns the live session, or waits for one until ctx ends; with once set, only until each
// address has been tried once. Its errors are of KindUnavailable, KindClosed if the Link is closed, and
// those of a context that ended before an attempt to connect has failed.
func (c *connector) session(ctx context.Context, once bool) (*Session, *Error) {
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
			return nil, c.unreachable(failure, failure.Cause)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if failure == nil {
				return nil, ContextError(ctx, "before a node was reached")
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
func rejected(failure *Error) bool {
	return failure != nil && (failure.Kind == kv.KindUnauthenticated || failure.Kind == kv.KindPermissionDenied)
}

// unreachable is the error of a call that has found no node. failure is that of the last address, nil if
// none has failed yet.
func (c *connector) unreachable(failure *Error, cause error) *Error {
	if rejected(failure) {
		e := *failure
		return &e
	}
	e := errorf(kv.KindUnavailable, cause, "no node could be reached in time")
	e.Hint = "check that linchpin runs at one of these addresses"
	if failure == nil {
		return e
	}
	e.Text = "no node can be reached; " + failure.Text
	if len(c.addrs) > 1 {
		e.Text = "no node can be reached; the last error is that of " + failure.Text
	}
	if failure.Hint != "" {
		e.Hint = failure.Hint
	}
	return e
}

// stop ends the sessions and waits for keep.
func (c *connector) stop() {
	c.close()
	<-c.stopped
	c.retiring.Wait()
}
