package timeofday

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

const (
	// farAhead is how far the time of day may be beyond the newest time in the store.
	// Somewhat arbitrary: longer than most nodes are ever stopped, and shorter than the
	// errors of clocks that have lost their battery, or were set to a wrong date.
	farAhead = int64(3 * 24 * time.Hour)
	// recordEvery is how often the newest time in the store is written at least.
	recordEvery = int64(time.Hour)
	// maxUnproven bounds the unproven clocks that are recorded. The oldest is forgotten
	// first, and then counts as proven.
	maxUnproven = 256
)

// Peers says how the node's time of day compares with that of the other nodes.
type Peers uint8

// The other nodes that were heard of lately: none, at least half of them show the same time,
// or most show another.
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
	// Young: the time of day has not been steady for long enough.
	Young
	// Apart: most other nodes show another time.
	Apart
	// Ahead: the time of day is days beyond the newest time in the store.
	Ahead
	// Behind: the time of day is before the newest time in the store.
	Behind
)

// String names a reason, as logs and metrics do.
func (d Doubt) String() string {
	return [...]string{"none", "not_steady", "other_nodes_differ", "ahead_of_store", "behind_store"}[d]
}

// Config says how the time of day is judged.
type Config struct {
	// Settle is for how long the time of day must have been steady.
	Settle time.Duration
	// Trusted: an operator has vouched for the time of day.
	Trusted bool
}

// Clock is a shard's clock.
type Clock struct {
	env *step.Env
	cfg Config

	// start is Now when the incarnation began.
	start int64
	// offsets are the clocks of this incarnation: the time of day less Now. The last counts.
	offsets []int64
	proven  bool
	// apart is the offset to which the time of day has kept since.
	apart, since int64
	peers        Peers
	// newest is the newest time in the store, recorded at Now newestAt; 0 if none is.
	newest, newestAt int64
	// unproven are clocks of earlier incarnations, and former ones of this, in order.
	unproven []uint64
	// dirty: Fill has something new.
	dirty bool
}

// New makes the clock of a new incarnation from its predecessor's state row.
func New(e *step.Env, cfg Config, last *entry.State) *Clock {
	offset := e.Wall - e.Now
	c := &Clock{env: e, cfg: cfg, start: e.Now, offsets: []int64{offset}, apart: offset, since: e.Now,
		newest: last.Wall, newestAt: e.Now, unproven: slices.Clone(last.UnprovenClocks)}
	c.prove()
	return c
}

// Observe takes the step's time of day, and reports whether another clock counts from now on,
// or the present one is proven.
func (c *Clock) Observe(peers Peers) bool {
	c.peers = peers
	d := c.env.Wall - c.env.Now
	if !c.near(d, c.apart) || c.Contradicted() != None {
		c.since, c.apart = c.env.Now, d
	}
	return c.prove()
}

// prove takes the time of day for the clock if it may be relied on.
func (c *Clock) prove() bool {
	if c.Doubt() != None {
		return false
	}
	same := c.near(c.apart, c.offset())
	if same && c.proven {
		c.record()
		return false
	}
	if !same {
		c.unproven = c.withUnproven()
		c.offsets = append(c.offsets, c.apart)
	}
	c.proven, c.newest, c.dirty = true, 0, true
	c.record()
	return true
}

// record notes the newest time in the store.
func (c *Clock) record() {
	now := c.At(c.env.Now)
	if c.newest != 0 && c.env.Now-c.newestAt < recordEvery {
		return
	}
	c.newest, c.newestAt, c.dirty = now, c.env.Now, true
}

// withUnproven are the unproven clocks with the shard's present one.
func (c *Clock) withUnproven() []uint64 {
	ids := append(slices.Clone(c.unproven), c.ID())
	return ids[max(len(ids)-maxUnproven, 0):]
}

// tolerance is by how much the time of day may be corrected without being doubted. Somewhat
// arbitrary: far less than the settle time, and more than clocks drift in it.
func (c *Clock) tolerance() int64 { return int64(c.cfg.Settle) / 8 }

func (c *Clock) near(a, b int64) bool { return a-b <= c.tolerance() && b-a <= c.tolerance() }

func (c *Clock) offset() int64 { return c.offsets[len(c.offsets)-1] }

// Contradicted is what contradicts the time of day now: None, or another reason than Young.
func (c *Clock) Contradicted() Doubt {
	if c.believed() || c.peers == PeersAgree {
		return None
	}
	if c.peers == PeersDiffer {
		return Apart
	}
	expected := c.newest + c.env.Now - c.newestAt
	switch {
	case c.newest == 0:
		return None
	case c.env.Wall > expected+farAhead:
		return Ahead
	case c.env.Wall < c.newest-c.tolerance():
		return Behind
	}
	return None
}

// believed: the time of day at the start is taken as it is.
func (c *Clock) believed() bool {
	return c.cfg.Trusted || c.env.Mutants.Has(mutant.StartClockBelieved)
}

// Doubt is why the time of day is not relied on now; None if it is.
func (c *Clock) Doubt() Doubt {
	d := c.Contradicted()
	if d == None && c.env.Now-c.since < int64(c.cfg.Settle) && !(c.believed() && c.since == c.start) {
		return Young
	}
	return d
}

// Next is when there is something to be done: to rely on the time of day, or to record it.
func (c *Clock) Next() int64 {
	switch c.Doubt() {
	case None:
		return c.newestAt + recordEvery
	case Young:
		return c.since + int64(c.cfg.Settle)
	}
	return c.env.Now + int64(c.cfg.Settle)/60
}

// Proven reports whether the shard's clock may be relied on for what earlier incarnations
// have recorded.
func (c *Clock) Proven() bool { return c.proven }

// Start is Now when the incarnation began.
func (c *Clock) Start() int64 { return c.start }

// At is the shard's time at now, in nanoseconds since 1970.
func (c *Clock) At(now int64) int64 { return now + c.offset() }

// ID names the shard's clock; no other one of the shard has the same.
func (c *Clock) ID() uint64 { return uint64(c.env.Inc)<<16 | uint64(len(c.offsets)-1)&math.MaxUint16 }

// Own reports whether a clock is one of this incarnation, and its offset.
func (c *Clock) Own(id uint64) (offset int64, own bool) {
	n := int(id & math.MaxUint16)
	if id>>16 != uint64(c.env.Inc) || n >= len(c.offsets) {
		return 0, false
	}
	return c.offsets[n], true
}

// Highest is the greatest offset of this incarnation's clocks.
func (c *Clock) Highest() int64 { return slices.Max(c.offsets) }

// Reliable reports whether a clock of an earlier incarnation has been proven.
func (c *Clock) Reliable(id uint64) bool {
	return !slices.Contains(c.unproven, id) || c.env.Mutants.Has(mutant.StartClockBelieved)
}

// Unproven reports whether there are clocks of earlier incarnations that may have been wrong.
func (c *Clock) Unproven() bool { return len(c.unproven) > 0 }

// Retain forgets the unproven clocks of earlier incarnations but for some: nothing is left of
// what they recorded.
func (c *Clock) Retain(some map[uint64]bool) {
	n := len(c.unproven)
	c.unproven = slices.DeleteFunc(c.unproven, func(id uint64) bool {
		_, own := c.Own(id)
		return !own && !some[id]
	})
	c.dirty = c.dirty || len(c.unproven) < n
}

// Flush reports whether the state row has to be written, once.
func (c *Clock) Flush() bool {
	dirty := c.dirty
	c.dirty = false
	return dirty
}

// Fill puts what the next incarnation has to know into the state row.
func (c *Clock) Fill(s *entry.State) {
	s.Wall = c.newest
	if c.proven && c.near(c.env.Wall-c.env.Now, c.offset()) {
		s.Wall = c.At(c.env.Now)
	}
	s.UnprovenClocks = c.unproven
	if !c.proven {
		s.UnprovenClocks = c.withUnproven()
	}
}
