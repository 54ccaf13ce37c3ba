package timeofday

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

const (
	// maxAhead is how far the time of day may be ahead of the newest time in the store. The value is somewhat
	// arbitrary: longer than most nodes are ever stopped, and shorter than the error of a clock that has lost
	// its battery or was set to a wrong date.
	maxAhead = int64(3 * 24 * time.Hour)
	// recordInterval is the largest interval at which the newest time in the store is written.
	recordInterval = int64(time.Hour)
	// maxUnproven bounds the unproven clocks that are recorded. The oldest is dropped first, and then counts as
	// proven.
	maxUnproven = 256
)

// Peers is how the time of day of the node compares with that of the other nodes.
type Peers uint8

// The other nodes that sent their time recently: there are none, at least half of them show the same time, or most show
// another.
const (
	PeersUnknown Peers = iota
	PeersAgree
	PeersDiffer
)

// Doubt is a reason not to rely on the time of day.
type Doubt uint8

// The reasons.
const (
	// None: the clock is proven.
	None Doubt = iota
	// Unsteady: the time of day has not been steady for long enough.
	Unsteady
	// Differs: most other nodes show another time.
	Differs
	// Ahead: the time of day is days ahead of the newest time in the store.
	Ahead
	// Behind: the time of day is before the newest time in the store.
	Behind
)

// String returns the name of a reason in logs and metrics.
func (d Doubt) String() string {
	return [...]string{"none", "not_steady", "other_nodes_differ", "ahead_of_store", "behind_store"}[d]
}

// Config are the parameters of a clock.
type Config struct {
	// Settle is for how long the time of day must have been steady.
	Settle time.Duration
	// Trusted: an operator has confirmed the time of day.
	Trusted bool
}

// Clock is the clock of a shard.
type Clock struct {
	env *step.Env
	cfg Config

	// start is Now when the incarnation began.
	start int64
	// offsets are the clocks of this incarnation: time of day minus Now. The last one is current.
	offsets []int64
	proven  bool
	// candidate is the offset at which the time of day has been steady since steadySince.
	candidate, steadySince int64
	peers                  Peers
	// newest is the newest time in the store, recorded at Now newestAt; 0 if there is none.
	newest, newestAt int64
	// unproven are the unproven clocks of earlier incarnations, and former ones of this one, in order.
	unproven []uint64
	// dirty: the state row is to be written.
	dirty bool
}

// New returns the clock of a new incarnation; last is the state row of the previous one.
func New(e *step.Env, cfg Config, last *entry.State) *Clock {
	offset := e.Wall - e.Now
	c := &Clock{env: e, cfg: cfg, start: e.Now, offsets: []int64{offset}, candidate: offset,
		steadySince: e.Now - e.SteadyNanos,
		newest:      last.Wall, newestAt: e.Now, unproven: slices.Clone(last.UnprovenClocks)}
	c.prove()
	return c
}

// Observe processes the time of day of a step. It reports whether another clock is current from now on, or
// the current one has been proven.
func (c *Clock) Observe(peers Peers) bool {
	c.peers = peers
	d := c.env.Wall - c.env.Now
	if !c.isNear(d, c.candidate) || c.Contradicted() != None {
		c.steadySince, c.candidate = c.env.Now, d
	}
	return c.prove()
}

// prove adopts the time of day as the current clock, if nothing speaks against it.
func (c *Clock) prove() bool {
	if c.Doubt() != None {
		return false
	}
	same := c.isNear(c.candidate, c.offset())
	if same && c.proven {
		c.recordNewest()
		return false
	}
	if !same {
		c.unproven = c.unprovenWithCurrent()
		c.offsets = append(c.offsets, c.candidate)
	}
	c.proven, c.newest, c.dirty = true, 0, true
	c.recordNewest()
	return true
}

// recordNewest records the newest time in the store.
func (c *Clock) recordNewest() {
	now := c.At(c.env.Now)
	if c.newest != 0 && c.env.Now-c.newestAt < recordInterval {
		return
	}
	c.newest, c.newestAt, c.dirty = now, c.env.Now, true
}

// unprovenWithCurrent returns the unproven clocks with the current one.
func (c *Clock) unprovenWithCurrent() []uint64 {
	ids := append(slices.Clone(c.unproven), c.ID())
	return ids[max(len(ids)-maxUnproven, 0):]
}

// tolerance is the largest correction of the time of day that does not count as a step. The value is somewhat
// arbitrary: far less than the settle time, and more than the drift of a clock in it.
func (c *Clock) tolerance() int64 { return int64(c.cfg.Settle) / 8 }

func (c *Clock) isNear(a, b int64) bool { return a-b <= c.tolerance() && b-a <= c.tolerance() }

func (c *Clock) offset() int64 { return c.offsets[len(c.offsets)-1] }

// Contradicted returns what contradicts the time of day now: None, or a reason other than Unsteady.
func (c *Clock) Contradicted() Doubt {
	if c.isTrusted() || c.peers == PeersAgree {
		return None
	}
	if c.peers == PeersDiffer {
		return Differs
	}
	expected := c.newest + c.env.Now - c.newestAt
	switch {
	case c.newest == 0:
		return None
	case c.env.Wall > expected+maxAhead:
		return Ahead
	case c.env.Wall < c.newest-c.tolerance():
		return Behind
	}
	return None
}

// Doubt returns why the time of day is not relied on now; None if it is.
func (c *Clock) Doubt() Doubt {
	d := c.Contradicted()
	if d == None && c.env.Now-c.steadySince < int64(c.cfg.Settle) && !(c.isTrusted() && c.steadySince <= c.start) {
		return Unsteady
	}
	return d
}

// Next is when Observe or the state row is due.
func (c *Clock) Next() int64 {
	switch c.Doubt() {
	case None:
		return c.newestAt + recordInterval
	case Unsteady:
		return c.steadySince + int64(c.cfg.Settle)
	}
	return c.env.Now + int64(c.cfg.Settle)/60
}

// Proven reports whether the clock may be compared with times that earlier incarnations have recorded.
func (c *Clock) Proven() bool { return c.proven }

// Start is Now when the incarnation began.
func (c *Clock) Start() int64 { return c.start }

// At returns the time of the shard at now, in nanoseconds since 1970.
func (c *Clock) At(now int64) int64 { return now + c.offset() }

// ID names the current clock; no other clock of the shard has the same id.
func (c *Clock) ID() uint64 { return uint64(c.env.Inc)<<16 | uint64(len(c.offsets)-1)&math.MaxUint16 }

// Own reports whether a clock is one of this incarnation, with its offset.
func (c *Clock) Own(id uint64) (offset int64, own bool) {
	n := int(id & math.MaxUint16)
	if id>>16 != uint64(c.env.Inc) || n >= len(c.offsets) {
		return 0, false
	}
	return c.offsets[n], true
}

// Highest returns the largest offset of this incarnation's clocks.
func (c *Clock) Highest() int64 { return slices.Max(c.offsets) }

// Unproven reports whether there are clocks of earlier incarnations that may have been wrong.
func (c *Clock) Unproven() bool { return len(c.unproven) > 0 }

// RetainUnproven drops the unproven clocks of earlier incarnations except for some: nothing refers to the
// others.
func (c *Clock) RetainUnproven(some map[uint64]bool) {
	n := len(c.unproven)
	c.unproven = slices.DeleteFunc(c.unproven, func(id uint64) bool {
		_, own := c.Own(id)
		return !own && !some[id]
	})
	c.dirty = c.dirty || len(c.unproven) < n
}

// Flush reports once whether the state row is to be written.
func (c *Clock) Flush() bool {
	dirty := c.dirty
	c.dirty = false
	return dirty
}

// FillState sets what the next incarnation needs in the state row.
func (c *Clock) FillState(s *entry.State) {
	s.Wall = c.newest
	if c.proven && c.isNear(c.env.Wall-c.env.Now, c.offset()) {
		s.Wall = c.At(c.env.Now)
	}
	s.UnprovenClocks = c.unproven
	if !c.proven {
		s.UnprovenClocks = c.unprovenWithCurrent()
	}
}
