package pebblestore

import (
	"runtime"
	"time"
)

const (
	// turnTime is for how long one turn of a read of a range works.
	turnTime = 2 * time.Millisecond
	// breath is for how long it works before other goroutines have theirs. Somewhat arbitrary: as long
	// as a few reads of a key.
	breath = 100 * time.Microsecond
	// breathRows is after how many rows it looks at the time.
	breathRows = 32
	// breathBytes is after how many bytes of values it does.
	breathBytes = 64 << 10
)

// pause counts the rows that an iterator looks at, also those that are deleted and never surface, and
// has other goroutines run now and then.
type pause struct {
	rows, bytes int
	// worked is the time without that of the others; since is when it was last taken.
	worked time.Duration
	since  time.Time
}

func newPause() pause { return pause{since: time.Now()} }

// row counts a row. It is pebble's SkipPoint, the only place that all rows pass, and skips none.
func (p *pause) row([]byte) bool {
	p.rows++
	if p.rows%breathRows == 0 {
		p.look()
	}
	return false
}

// copied counts bytes of values.
func (p *pause) copied(n int) {
	p.bytes += n
	if p.bytes >= breathBytes {
		p.bytes = 0
		p.look()
	}
}

func (p *pause) look() {
	now := time.Now()
	if d := now.Sub(p.since); d >= breath {
		p.worked += d
		runtime.Gosched()
		p.since = time.Now()
	}
}

// over reports whether a turn of so many rows is over; 0 is no bound.
func (p *pause) over(rows int) bool { return rows > 0 && (p.rows >= rows || p.worked >= turnTime) }
