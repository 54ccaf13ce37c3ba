// Package delay makes a link between two nodes slower by a fixed time each
// way, for benchmarks and tests of distance on one machine.
//
// The simple approach, a sleep before each write, would make the link narrow
// as well as long: at 1 ms one way it passes a thousand writes a second. A
// Conn is long only. Whatever enters is stamped with the time at which it is
// to leave, and one goroutine lets it out then, so any number of segments are
// under way at once, as on a real wire.
//
//	write --> stamp(now + delay) --> [ . . . . . ] --> sleep until due --> out
//
// The sleep is a timerfd where there is one (see Sleeper); a segment leaves at
// most about 0.1 ms late on a machine with a free core.
package delay

import (
	"errors"
	"io"
	"sync"
	"time"
)

// maxLineBytes bounds what is under way in one direction. Above it writers
// wait: 64 MiB is 12 GB/s at 5 ms.
const maxLineBytes = 64 << 20

type segment struct {
	data []byte
	due  time.Time
}

// line lets bytes out a fixed time after they were put in. put may be called
// by one goroutine, run by another.
type line struct {
	delay   time.Duration
	sleeper *Sleeper
	// filled and drained have room for one token each: something was put in,
	// or let out.
	filled, drained chan struct{}
	closed          chan struct{}
	once            sync.Once

	mu       sync.Mutex
	segments []segment
	bytes    int
	// err is why nothing more comes in.
	err error
}

func newLine(d time.Duration) (*line, error) {
	s, err := NewSleeper()
	if err != nil {
		return nil, err
	}
	return &line{delay: d, sleeper: s, filled: make(chan struct{}, 1),
		drained: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

var errClosed = errors.New("delay: the line is closed")

// put enters a copy of b. It waits while the line is full.
func (l *line) put(b []byte) error {
	s := segment{data: append([]byte(nil), b...), due: time.Now().Add(l.delay)}
	for {
		l.mu.Lock()
		if l.err != nil {
			err := l.err
			l.mu.Unlock()
			return err
		}
		if l.bytes < maxLineBytes {
			l.segments = append(l.segments, s)
			l.bytes += len(b)
			l.mu.Unlock()
			token(l.filled)
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

// end lets what is under way out and then no more: out gets err.
func (l *line) end(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	token(l.filled)
}

// run lets segments out in order until out fails or the line ends, and
// returns why.
func (l *line) run(out func([]byte) error) error {
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
			token(l.drained)
		}
	}
}

func (l *line) close() {
	l.once.Do(func() {
		l.end(io.ErrClosedPipe)
		close(l.closed)
		l.sleeper.Close()
	})
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
