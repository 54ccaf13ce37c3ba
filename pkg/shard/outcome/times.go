package outcome

// What a shard's next incarnation has to know of ids that have committed: the times in them.
// Ids with other times need not be looked up in the log.

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// idTimes are spans of time, in order and apart, that have the time of every id that has
// committed or was applied. The first one has no beginning. An id from the future makes
// one of its own: the time until then is in none.
//
// They go by no clock. Who is free to choose ids can have them grow together; the
// outcomes of more ids are looked up then, and none is taken for new.
type idTimes []idSpan

type idSpan struct {
	from, to int64
	// last is no less than any time of an id in it; to is in reserve.
	last int64
}

const (
	// reserveTime is how far ahead a span is, in nanoseconds, so that the state row need
	// not be written with every commit.
	reserveTime = int64(10 * time.Second)
	// maxSpans bounds the spans. Somewhat arbitrary: several nodes' clocks may be wrong.
	maxSpans = 8
)

// idTimesOf takes what the life before has left. A row of before format 2 tells of no
// times; ids were no further ahead of the clock than gateways allow.
func idTimesOf(last *entry.State, wall, retention int64) idTimes {
	newest := last.Newest
	if newest == 0 && last.Index > 0 {
		newest = max(wall, last.Floor+retention) + int64(kv.MaxIDAhead)
	}
	c := idTimes{{from: math.MinInt64, to: newest, last: newest}}
	for _, s := range last.Ahead {
		c = append(c, idSpan{from: s.From, to: s.To, last: s.To})
	}
	return c
}

// reserve makes the first span no shorter than what a row needs to be told from an old one.
func (c idTimes) reserve() { c[0].to = max(c[0].to, reserveTime) }

// note takes the time in an id that commits, and reports whether the state row has to be
// written for it.
func (c *idTimes) add(t int64) bool {
	i := len(*c)
	for ; t < (*c)[i-1].from; i-- {
	}
	if s := &(*c)[i-1]; t <= s.to {
		s.last = max(s.last, t)
		return false
	}
	to := t + min(reserveTime, math.MaxInt64-t)
	*c = slices.Insert(*c, i, idSpan{from: t - reserveTime, to: to, last: t})
	if i+1 < len(*c) && to >= (*c)[i+1].from {
		c.join(i)
	}
	if (*c)[i-1].to >= (*c)[i].from {
		c.join(i - 1)
	}
	if len(*c) > maxSpans {
		c.join(c.nearest())
	}
	return true
}

// nearest is the span that is the least apart from the one that follows it.
func (c *idTimes) nearest() int {
	best, apart := 0, uint64(math.MaxUint64)
	for i := range len(*c) - 1 {
		if d := uint64((*c)[i+1].from) - uint64((*c)[i].to); d < apart {
			best, apart = i, d
		}
	}
	return best
}

// join makes a span and the one that follows it one.
func (c *idTimes) join(i int) {
	s, next := &(*c)[i], (*c)[i+1]
	s.to, s.last = max(s.to, next.to), max(s.last, next.last)
	*c = slices.Delete(*c, i+1, i+2)
}

// drop joins what lies below the least time that is remembered: ids of it are refused.
func (c *idTimes) drop(floor int64) {
	for len(*c) > 1 && (*c)[1].to < floor {
		c.join(0)
	}
}

// rested leaves out what is in reserve, since nothing more will commit in this life.
func (c idTimes) trimReserve() {
	for i := range c {
		c[i].to = c[i].last
	}
	c[0].to = max(c[0].to, 1) // 0 is an old row's
}

// tell writes the spans into a state row.
func (c idTimes) fill(s *entry.State) {
	s.Newest, s.Ahead = c[0].to, nil
	for _, x := range c[1:] {
		s.Ahead = append(s.Ahead, entry.IDSpan{From: x.from, To: x.to})
	}
}
