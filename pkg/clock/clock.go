// Package clock tells the time to the shells; pure packages get it as an
// argument.
//
// There are two times. Now is for everything that must be *right*: leases,
// deadlines, graces. It is CLOCK_BOOTTIME, which never goes back, is not set
// by anyone, and goes on while the machine is suspended. The last matters: a
// lease that a sleeping holder believes in must have lapsed when it wakes up,
// since the shard that granted it went on. Two nodes' Now cannot be compared,
// nor can one node's before and after a boot. Wall is for people and for the
// age of transactions, which is fairness only: it may jump either way.
package clock

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is a source of both times. Its methods may be called by any goroutine.
type Clock interface {
	// Now is in nanoseconds since an arbitrary moment before the process
	// started. It never decreases.
	Now() int64
	// Wall is in nanoseconds since 1970, UTC.
	Wall() int64
}

// Real is the clock of the machine.
type Real struct{}

// NewReal checks that the machine has the clock that Now needs, so that Now
// itself cannot fail.
func NewReal() (Real, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return Real{}, fmt.Errorf("clock: CLOCK_BOOTTIME cannot be read: %w", err)
	}
	return Real{}, nil
}

// Now reads CLOCK_BOOTTIME.
func (Real) Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// It worked in NewReal, and the call has no other way to fail. A
		// clock that stands still would keep lapsed leases alive.
		panic(fmt.Sprintf("clock: CLOCK_BOOTTIME cannot be read any more: %v", err))
	}
	return ts.Nano()
}

// Wall reads the time of day.
func (Real) Wall() int64 { return time.Now().UnixNano() }

// Manual is a clock that moves when it is told to, for tests and simulations.
// Its zero value stands at zero.
type Manual struct {
	now, wall atomic.Int64
}

// NewManual makes a clock at the given times, in nanoseconds.
func NewManual(now, wall int64) *Manual {
	m := &Manual{}
	m.now.Store(now)
	m.wall.Store(wall)
	return m
}

// Now is where the clock was moved to.
func (m *Manual) Now() int64 { return m.now.Load() }

// Wall is where the clock was moved or set to.
func (m *Manual) Wall() int64 { return m.wall.Load() }

// Advance moves both times by d, which must not be negative.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Advance(%v): Now never decreases", d))
	}
	m.now.Add(int64(d))
	m.wall.Add(int64(d))
}

// SetWall sets the time of day alone, as an operator or NTP would.
func (m *Manual) SetWall(wall int64) { m.wall.Store(wall) }
