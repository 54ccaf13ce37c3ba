package guard

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// pace is how fast a connection is read. Who sends as fast as it can would otherwise have
// the processors to itself: Go gives each goroutine that has something to do ten
// milliseconds at a time, and a request passes through many of them.
//
//	Who has sent turnBytes lets the others have a turn.
//	Who is refused is not read for a moment, the longer the more of its calls were.
//	A stranger has strangerBytes, within which it shows who it is.
type pace struct {
	// until is when it is read again, in nanoseconds since 1970.
	until atomic.Int64
	// gone is closed with the connection.
	gone chan struct{}
	// turn and all are bytes, for the goroutine that reads: since others had a turn, and
	// since the beginning up to strangerBytes.
	turn, all int
}

// Somewhat arbitrary, all of them.
const (
	// turnBytes is what is read before others have their turn.
	turnBytes = 32 << 10
	// strangerBytes is what a stranger may say. A certificate and the headers of a call are
	// a tenth of it.
	strangerBytes = 128 << 10
	// slowBy is for how long a connection is not read for each of its calls that was
	// refused, slowAtMost for how long at a time.
	slowBy     = 5 * time.Millisecond
	slowAtMost = time.Second
)

// wait waits until the connection is to be read.
func (p *pace) wait() {
	if p.turn >= turnBytes {
		p.turn = 0
		runtime.Gosched()
	}
	until := p.until.Load()
	if until == 0 {
		return
	}
	for d := until - time.Now().UnixNano(); d > 0; d = p.until.Load() - time.Now().UnixNano() {
		select {
		case <-time.After(time.Duration(min(d, int64(slowAtMost)))): // the time of day may go back
		case <-p.gone:
			return
		}
	}
	p.until.CompareAndSwap(until, 0)
}

// read counts bytes, and reports whether they are more than a stranger may say.
func (p *pace) read(n int) bool {
	p.turn += n
	if p.all <= strangerBytes {
		p.all += n
	}
	return p.all > strangerBytes
}

// slow adds to the time for which the connection is not read.
func (p *pace) slow(by time.Duration) {
	now := time.Now().UnixNano()
	for {
		until := p.until.Load()
		if p.until.CompareAndSwap(until, min(max(until, now)+int64(by), now+int64(slowAtMost))) {
			return
		}
	}
}

// Slow says that a call was refused for want of room, so that its connection is not read
// for a moment: who goes on all the same does not take the processors from others.
func Slow(ctx context.Context) {
	c, ok := ctx.Value(callKey{}).(*call)
	if ok && c.conn != nil {
		c.conn.pace.slow(slowBy)
	}
}
