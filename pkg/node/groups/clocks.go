package groups

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// clocks measures the rates of the clocks of other nodes, for all groups of the node (R10.8). With leases off nothing
// is measured: no rate matters.
type clocks struct {
	opt *Options
	// hasOff: the clock of some other node differs.
	hasOff atomic.Bool
	mu     sync.Mutex
	rates  consensus.Clocks
	// known are the nodes of which messages were received.
	known map[kv.NodeID]bool
}

func newClocks(o *Options) *clocks { return &clocks{opt: o, known: map[kv.NodeID]bool{}} }

// observe takes a message of another node.
func (c *clocks) observe(now int64, x *received) {
	m := x.message
	if !m.IsExchange() || c.opt.NoLeases {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[x.from] = true
	if !c.rates.Observe(x.from, m.Echo, m.Sent, now) {
		return
	}
	faster, isOff := c.rates.Rate(x.from)
	if isOff {
		c.opt.Log.Error("the clock of another node runs at another rate than this node's: repair the clock that is wrong; a "+
			"node whose clock differs from those of most others leads no shard", "peer", x.from, "faster_percent",
			fmt.Sprintf("%.2f", 100*faster))
	} else {
		c.opt.Log.Info("the clock of another node runs at the rate of this node's again", "peer", x.from)
	}
	c.hasOff.Store(slices.ContainsFunc(slices.Collect(maps.Keys(c.known)), func(n kv.NodeID) bool {
		_, isOff := c.rates.Rate(n)
		return isOff
	}))
}

// isOwnOff reports whether the node's own clock differs from those of most nodes of a group.
func (c *clocks) isOwnOff(peers func() []kv.NodeID) bool {
	if !c.hasOff.Load() {
		return false
	}
	others := peers()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rates.IsOwnOff(others)
}

// ClockRate is by how much the clock of another node runs faster than this node's, as a share; negative if slower.
// IsOff: that is surely more than consensus.MaxRateDifference.
type ClockRate struct {
	Node   kv.NodeID
	Faster float64
	IsOff  bool
}

// ClockRates returns the rates of the clocks of other nodes, in the order of their numbers.
func (s *Set) ClockRates() (all []ClockRate) {
	c := s.clocks
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(c.known)) {
		faster, isOff := c.rates.Rate(n)
		all = append(all, ClockRate{n, faster, isOff})
	}
	return all
}
