// Package clock provides the two times of a node. Deterministic packages get them as arguments.
//
//  1. Now is for everything that affects correctness: leases, deadlines, timeouts. It is CLOCK_BOOTTIME,
//     which never decreases, cannot be set, and advances while the machine is suspended. The last is
//     required: when a suspended lease holder wakes up, its lease must have expired, because the shard that
//     granted it continued. Values of Now of two nodes, or before and after a boot, cannot be compared.
//  2. Wall is the time of day, for people and for the age of transactions, which affects fairness only. It
//     may jump in both directions.
package clock

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Clock is a source of both times. Its methods are safe for concurrent use.
type Clock interface {
	// Now is in nanoseconds since an arbitrary time before the start of the process. It never decreases.
	Now() int64
	// Wall is in nanoseconds since 1970, UTC.
	Wall() int64
}

// Real is the clock of the machine.
type Real struct{}

// NewReal checks that the machine has CLOCK_BOOTTIME, so that Now cannot fail.
func NewReal() (Real, error) {
	_, err := boottime()
	return Real{}, err
}

// Now is CLOCK_BOOTTIME; see reading.
func (Real) Now() int64 {
	t := time.Now()
	if now, ok := last.Load().now(t.UnixNano(), int64(t.Sub(start))); ok {
		return now
	}
	return readBoottime()
}

// Wall reads the time of day.
func (Real) Wall() int64 { return time.Now().UnixNano() }

// Manual is a clock that is advanced by its user, for tests and simulations. Its zero value is at zero.
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

// Now returns the time to which the clock was advanced.
func (m *Manual) Now() int64 { return m.now.Load() }

// Wall returns the time to which the clock was advanced or set.
func (m *Manual) Wall() int64 { return m.wall.Load() }

// Advance advances both times by d, which must not be negative.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Advance(%v): Now never decreases", d))
	}
	m.now.Add(int64(d))
	m.wall.Add(int64(d))
}

// SetWall sets the time of day only, as an operator or NTP would.
func (m *Manual) SetWall(wall int64) { m.wall.Store(wall) }
