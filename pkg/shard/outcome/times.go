package outcome

// What the next incarnation must know about ids that have committed: the spans of time in which they
// lie. Ids with other times are new, and need no lookup in the log after a restart.

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// idTimes are disjoint spans in ascending order. They contain the time of every id that has
// committed or was applied. The first span begins at the beginning of time. An id from the future,
// made by a wrong clock, gets a span of its own:
//
//	spans            ◀──────────────────────┤          ├────┤
//	                  all usual ids         now         an id of a wrong clock
//
// Ids between the spans are new. If a span reached from the beginning to the future id, all ids
// until then would be looked up. No clock is used. A client that chooses its ids can make the spans
// merge; then more ids are looked up, and none is treated as new.
type idTimes []idSpan

type idSpan struct {
	from, to int64
	// last is the highest time of an id in the span. The rest, up to to, is reserve.
	last int64
}

const (
	// reserveTime is how far a span reaches beyond its last id, in nanoseconds. The state row need
	// not be written until an id is beyond that.
	reserveTime = int64(10 * time.Second)
	// maxSpans bounds the spans. Somewhat arbitrary: the clocks of several nodes may be wrong.
	maxSpans = 8
)

// idTimesOf returns the spans of a state row. A row of before format 2 has none; then ids were at
// most as far ahead of the clock as gateways allow.
func idTimesOf(last *entry.State, wall, retention int64) idTimes {
	newest := last.Newest
	if newest == 0 && last.CSN > 0 {
		newest = max(wall, last.LowWatermark+retention) + int64(kv.MaxIDAhead)
	}
	c := idTimes{{from: math.MinInt64, to: newest, last: newest}}
	for _, s := range last.Ahead {
		c = append(c, idSpan{from: s.From, to: s.To, last: s.To})
	}
	return c
}

// reserve makes the first span end after 0, which in a row denotes the old format.
func (c idTimes) reserve() { c[0].to = max(c[0].to, reserveTime) }

// add extends the spans to contain a time, and reports whether the state row must be written.
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

// nearest returns the span with the smallest gap to the next one.
func (c *idTimes) nearest() int {
	best, apart := 0, uint64(math.MaxUint64)
	for i := range len(*c) - 1 {
		if d := uint64((*c)[i+1].from) - uint64((*c)[i].to); d < apart {
			best, apart = i, d
		}
	}
	return best
}

// join merges a span and the next one.
func (c *idTimes) join(i int) {
	s, next := &(*c)[i], (*c)[i+1]
	s.to, s.last = max(s.to, next.to), max(s.last, next.last)
	*c = slices.Delete(*c, i+1, i+2)
}

// drop merges the spans below the low watermark: their ids are rejected anyway.
func (c *idTimes) drop(low int64) {
	for len(*c) > 1 && (*c)[1].to < low {
		c.join(0)
	}
}

// trimReserve cuts the reserve off, since nothing more will commit in this incarnation.
func (c idTimes) trimReserve() {
	for i := range c {
		c[i].to = c[i].last
	}
	// In a row, 0 denotes the old format.
	c[0].to = max(c[0].to, 1)
}

// fill sets the spans in a state row.
func (c idTimes) fill(s *entry.State) {
	s.Newest, s.Ahead = c[0].to, nil
	for _, x := range c[1:] {
		s.Ahead = append(s.Ahead, entry.IDSpan{From: x.from, To: x.to})
	}
}
