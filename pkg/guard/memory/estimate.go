package memory

import (
	"time"
)

// Class is what kind of operations a transaction has, by what its answer may be.
type Class int

const (
	// Blind transactions read nothing.
	Blind Class = iota
	// Points are those that read keys.
	Points
	// Ranges are those that read ranges.
	Ranges
	// ManyRanges are those that read several.
	ManyRanges
	numClasses
)

// Estimates are how many bytes a response may have: the most of recent ones. The size is
// unknown before a transaction has run, and then it is too late to have fewer of them. So
// it begins with much, and goes down by half in a time, lest who knows the rule have
// small ones first and many large ones then.
type Estimates [numClasses]estimate

type estimate struct {
	bytes int64
	// since is when it was seen, in nanoseconds; 0 is never.
	since int64
}

// habits are where estimates begin, how far they go down, and how fast. Somewhat
// arbitrary: a scan reads up to 4 MiB of each shard, and several about four times as much
// (package shard); and a stream has 4096 calls in flight only if their answers are small.
var habits = [numClasses]struct {
	first, least int64
	half         time.Duration
}{
	Points: {64 << 10, 256, 50 * time.Millisecond},
	Ranges: {4 << 20, 256 << 10, 2 * time.Second},

	ManyRanges: {16 << 20, 1 << 20, 2 * time.Second},
}

// Saw says that an answer had n bytes, at a time in nanoseconds.
func (e *Estimates) Saw(c Class, n, now int64) {
	x := &e[c]
	switch {
	case c == Blind:
	case x.since == 0:
		*x = estimate{max(n, habits[c].first), now}
	case n >= e.At(c, now):
		*x = estimate{n, now}
	}
}

// At is the estimate at a time.
func (e *Estimates) At(c Class, now int64) int64 {
	h, x := &habits[c], &e[c]
	if x.since == 0 {
		return h.first
	}
	return max(x.bytes>>min(uint64(max(now-x.since, 0))/uint64(h.half), 63), h.least)
}

// Saw says that an answer to the user had n bytes.
func (a *Account) Saw(c Class, n int64) {
	if a == nil || c == Blind {
		return
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.user.estimates.Saw(c, n, time.Now().UnixNano())
}

// Expected is how many bytes an answer to the user may have, if it may have any.
func (a *Account) Expected(c Class) int64 {
	if a == nil || c == Blind {
		return 0
	}
	b := a.conn.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return a.user.estimates.At(c, time.Now().UnixNano())
}
