package clock

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Hybrid is a node's clock whose time of day is never far behind the times that
// shards have forgotten by. New ids are made by it, and what it shows other than
// the time of day concerns ids alone: a shard refuses an id from before its low
// watermark, and that may be in the future if a time of day was wrong for long.
//
// Its methods may be called by any goroutine.
type Hybrid struct {
	Clock
	// slack is how far behind least the time of day may be.
	slack int64
	// least is the time that ids should have by now, less Now; none until one
	// is known.
	least atomic.Int64

	mu    sync.Mutex
	peers map[kv.NodeID]peer
	// low and high are between which times most nodes are, this one included if it
	// is between them, less Now; none if no peer is known.
	low, high atomic.Int64
}

// peer is what was heard of another node's clock: its time of day less our Now.
type peer struct{ offset, heard int64 }

const (
	none = math.MinInt64
	// peerFresh is for how long the clock of a peer counts that is not heard of
	// again; it is told every ten seconds (package node).
	peerFresh = 35 * time.Second
)

// NewHybrid makes a clock whose Wall is the time of day of c, unless that is
// further behind than slack what Push has been told.
func NewHybrid(c Clock, slack time.Duration) *Hybrid {
	h := &Hybrid{Clock: c, slack: int64(slack), peers: map[kv.NodeID]peer{}}
	h.least.Store(none)
	h.high.Store(none)
	return h
}

// Wall is the time for new ids, in nanoseconds since 1970: the time of day, or
// what Push was told and what has passed since.
func (h *Hybrid) Wall() int64 { return h.WallAt(h.Clock.Now()) }

// WallAt is Wall for who knows what Now is.
func (h *Hybrid) WallAt(now int64) int64 {
	wall, least := h.Clock.Wall(), h.least.Load()
	if least != none && wall < now+least-h.slack {
		return now + least
	}
	return wall
}

// OrderAt is the time by which transactions are ordered that arrive now: the time of day, or that of
// most other nodes if it is behind. Else what arrives at a node whose clock is behind would win all
// conflicts.
func (h *Hybrid) OrderAt(now int64) int64 {
	wall := h.Clock.Wall()
	if h.high.Load() == none {
		return wall
	}
	return max(wall, now+h.low.Load())
}

// TimeOfDay is what the clock below shows.
func (h *Hybrid) TimeOfDay() int64 { return h.Clock.Wall() }

// Push says that a shard forgets by a time, so that ids should not be far behind
// it. offset is that time less Now; what is no later than what was told before
// changes nothing.
func (h *Hybrid) Push(offset int64) {
	for {
		old := h.least.Load()
		if offset <= old || h.least.CompareAndSwap(old, offset) {
			return
		}
	}
}

// Least is the greatest time that Push was told, as of now; false if there is none.
func (h *Hybrid) Least(now int64) (int64, bool) {
	least := h.least.Load()
	return now + least, least != none
}

// Heard notes the time of day of another node, as of now.
func (h *Hybrid) Heard(n kv.NodeID, now, wall int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.peers[n] = peer{wall - now, now}
	h.agree(now)
}

// agree finds the medians of the nodes' times, of those that have been heard of lately
// and this one: high is that if this node's is later, and low if it is earlier. If it is
// neither it is the median itself.
func (h *Hybrid) agree(now int64) {
	offsets := make([]int64, 0, len(h.peers))
	for n, p := range h.peers {
		if now-p.heard > int64(peerFresh) {
			delete(h.peers, n)
			continue
		}
		offsets = append(offsets, p.offset)
	}
	n := len(offsets)
	if n == 0 {
		h.high.Store(none)
		return
	}
	slices.Sort(offsets)
	h.low.Store(offsets[(n-1)/2])
	h.high.Store(offsets[n/2])
}

// Agreed is the time to forget by: Wall, or less if the times of day of most other
// nodes are behind that, but not less than what has been forgotten by already. So a
// single clock that is ahead makes nothing be forgotten.
func (h *Hybrid) Agreed(now int64) int64 {
	wall, high := h.WallAt(now), h.high.Load()
	if high == none {
		return wall
	}
	return min(wall, now+max(high, h.least.Load()))
}

// Apart is how far the time of day is ahead of most other nodes', negative if it is
// behind them; false if no other node has been heard of lately.
func (h *Hybrid) Apart(now int64) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agree(now)
	wall, low, high := h.TimeOfDay()-now, h.low.Load(), h.high.Load()
	switch {
	case high == none:
		return 0, false
	case wall > high:
		return time.Duration(wall - high), true
	case wall < low:
		return time.Duration(wall - low), true
	}
	return 0, true
}

// Agreement is how many other nodes have been heard of lately, and how many of them show the
// same time of day as this node, within a tolerance.
func (h *Hybrid) Agreement(now int64, tolerance time.Duration) (agree, known int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.TimeOfDay() - now
	for _, p := range h.peers {
		if now-p.heard > int64(peerFresh) {
			continue
		}
		known++
		if d := time.Duration(own - p.offset); d <= tolerance && -d <= tolerance {
			agree++
		}
	}
	return agree, known
}
