// Package delay adds a fixed one-way delay to a connection between two nodes, for benchmarks and tests of
// distance on one machine.
//
// A sleep before each write would limit the throughput as well: a delay of 1 ms would allow a thousand
// writes per second. A Conn adds latency only. Each segment is stamped with the time at which it leaves,
// and one goroutine releases it then, so any number of segments are in flight, as on a real network.
//
//	write --> stamp(now + delay) --> [ . . . . . ] --> sleep until due --> out
//
// The sleep uses a timerfd where available (see Sleeper); a segment leaves at most about 0.1 ms late on a
// machine with a free core.
package delay

import (
	"errors"
	"io"
	"sync"
	"time"
)

// maxQueueBytes bounds the data in flight in one direction. Writers wait above it: 64 MiB is 12 GB/s at 5
// ms.
const maxQueueBytes = 64 << 20

type segment struct {
	data []byte
	due  time.Time
}

// delayQueue releases data a fixed time after it was put in. put may be called by one goroutine, run by
// another.
type delayQueue struct {
	delay   time.Duration
	sleeper *Sleeper
	// filled and drained hold one token each: data was put in, or released.
	filled, drained chan struct{}
	closed          chan struct{}
	once            sync.Once

	mu       sync.Mutex
	segments []segment
	bytes    int
	// err is why nothing more is accepted.
	err error
}

func newDelayQueue(d time.Duration) (*delayQueue, error) {
	s, err := NewSleeper()
	if err != nil {
		return nil, err
	}
	return &delayQueue{delay: d, sleeper: s, filled: make(chan struct{}, 1),
		drained: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

var errClosed = errors.New("delay: the line is closed")

// put adds a copy of b. It waits while the queue is full.
func (l *delayQueue) put(b []byte) error {
	s := segment{data: append([]byte(nil), b...), due: time.Now().Add(l.delay)}
	for {
		l.mu.Lock()
		if l.err != nil {
			err := l.err
			l.mu.Unlock()
			return err
		}
		if l.bytes < maxQueueBytes {
			l.segments = append(l.segments, s)
			l.bytes += len(b)
			l.mu.Unlock()
			signal(l.filled)
			return nil
		}
		l.mu.Unlock()
		select {
		case <-l.drained:
		case <-l.closed:
			return errClosed
		}
	}
}

// end accepts no more data. run returns err after the data in flight.
func (l *delayQueue) end(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	signal(l.filled)
}

// run releases segments in order until out fails or the queue ends, and returns the reason.
func (l *delayQueue) run(out func([]byte) error) error {
	for {
		l.mu.Lock()
		batch, err := l.segments, l.err
		l.segments = nil
		l.mu.Unlock()
		if len(batch) == 0 {
			if err != nil {
				return err
			}
			select {
			case <-l.filled:
			case <-l.closed:
				return errClosed
			}
			continue
		}
		for _, s := range batch {
			if !l.sleeper.Sleep(time.Until(s.due)) {
				return errClosed
			}
			if err := out(s.data); err != nil {
				return err
			}
			l.mu.Lock()
			l.bytes -= len(s.data)
			l.mu.Unlock()
			signal(l.drained)
		}
	}
}

func (l *delayQueue) close() {
	l.once.Do(func() {
		l.end(io.ErrClosedPipe)
		close(l.closed)
		l.sleeper.Close()
	})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
