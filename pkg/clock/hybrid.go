package clock

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Hybrid is a node's clock whose time of day is never far behind the times by which shards collect garbage.
// It makes the times of new ids, and affects ids only. Reason: a shard rejects an id below its low
// watermark, and that may be in the future if a time of day was wrong for long.
//
// Its methods are safe for concurrent use.
type Hybrid struct {
	Clock
	// slack is how far the time of day may be behind minIDTime.
	slack int64
	// minIDTime is the time by which shards collect garbage, minus Now; unset until one is known.
	minIDTime atomic.Int64

	mu    sync.Mutex
	peers map[kv.NodeID]peer
	// low and high are the lower and upper median of the other nodes' times of day, minus Now; high is unset
	// if no peer is known.
	low, high atomic.Int64
}

// peer is the last known clock of another node: its time of day minus this node's Now.
type peer struct{ offset, receivedAt int64 }

const (
	unset = math.MinInt64
	// peerFresh is for how long a peer's clock counts without an update; peers announce it every ten seconds
	// (package node).
	peerFresh = 35 * time.Second
)

// NewHybrid makes a clock whose Wall is the time of day of c, unless that is more than slack behind the
// time of RaiseMinIDTime.
func NewHybrid(c Clock, slack time.Duration) *Hybrid {
	h := &Hybrid{Clock: c, slack: int64(slack), peers: map[kv.NodeID]peer{}}
	h.minIDTime.Store(unset)
	h.high.Store(unset)
	return h
}

// Wall is the time for new ids, in nanoseconds since 1970: the time of day, or the time of RaiseMinIDTime plus the
// time since then.
func (h *Hybrid) Wall() int64 { return h.WallAt(h.Clock.Now()) }

// WallAt is Wall for a caller that knows Now.
func (h *Hybrid) WallAt(now int64) int64 {
	wall, minimum := h.Clock.Wall(), h.minIDTime.Load()
	if minimum != unset && wall < now+minimum-h.slack {
		return now + minimum
	}
	return wall
}

// OrderAt is the begin time of transactions that arrive now: the time of day, or that of most other nodes
// if this one is behind. Otherwise the transactions of a node with a slow clock would win all conflicts.
func (h *Hybrid) OrderAt(now int64) int64 {
	wall := h.Clock.Wall()
	if h.high.Load() == unset {
		return wall
	}
	return max(wall, now+h.low.Load())
}

// TimeOfDay is the time of day of the underlying clock.
func (h *Hybrid) TimeOfDay() int64 { return h.Clock.Wall() }

// RaiseMinIDTime reports the time by which a shard collects garbage, so that new ids are not far behind it. offset is
// that time minus Now; a lower one than before has no effect.
func (h *Hybrid) RaiseMinIDTime(offset int64) {
	for {
		old := h.minIDTime.Load()
		if offset <= old || h.minIDTime.CompareAndSwap(old, offset) {
			return
		}
	}
}

// MinIDTime is the highest time of RaiseMinIDTime, as of now; false if there is none.
func (h *Hybrid) MinIDTime(now int64) (int64, bool) {
	minimum := h.minIDTime.Load()
	return now + minimum, minimum != unset
}

// ObservePeer records the time of day of another node, as of now.
func (h *Hybrid) ObservePeer(n kv.NodeID, now, wall int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.peers[n] = peer{wall - now, now}
	h.updateMedians(now)
}

// updateMedians computes low and high from the clocks that were updated recently. With an odd number of
// nodes, this one included, one of the three values low, high and this node's time is the median: high if
// this node is later, low if it is earlier, else its own.
func (h *Hybrid) updateMedians(now int64) {
	offsets := make([]int64, 0, len(h.peers))
	for n, p := range h.peers {
		if now-p.receivedAt > int64(peerFresh) {
			delete(h.peers, n)
			continue
		}
		offsets = append(offsets, p.offset)
	}
	n := len(offsets)
	if n == 0 {
		h.high.Store(unset)
		return
	}
	slices.Sort(offsets)
	h.low.Store(offsets[(n-1)/2])
	h.high.Store(offsets[n/2])
}

// GCTime is the time by which shards collect garbage: Wall, or less if the times of day of most other nodes
// are behind that, but not less than what has already been collected by. So a single fast clock does not
// cause early collection.
func (h *Hybrid) GCTime(now int64) int64 {
	wall, high := h.WallAt(now), h.high.Load()
	if high == unset {
		return wall
	}
	return min(wall, now+max(high, h.minIDTime.Load()))
}

// Difference is by how much the time of day is ahead of most other nodes, negative if it is behind; false if no
// other clock is known.
func (h *Hybrid) Difference(now int64) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updateMedians(now)
	wall, low, high := h.TimeOfDay()-now, h.low.Load(), h.high.Load()
	switch {
	case high == unset:
		return 0, false
	case wall > high:
		return time.Duration(wall - high), true
	case wall < low:
		return time.Duration(wall - low), true
	}
	return 0, true
}

// Agreement returns how many other clocks are known, and how many of them agree with this one within a
// tolerance.
func (h *Hybrid) Agreement(now int64, tolerance time.Duration) (agree, known int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.TimeOfDay() - now
	for _, p := range h.peers {
		if now-p.receivedAt > int64(peerFresh) {
			continue
		}
		known++
		if d := time.Duration(own - p.offset); d <= tolerance && -d <= tolerance {
			agree++
		}
	}
	return agree, known
}
