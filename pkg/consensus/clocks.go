package consensus

import "github.com/linchpindb/linchpin/pkg/kv"

// Clocks measures the rates of the clocks of other nodes, by heartbeats and their responses (R10.8). One of a node
// serves all of its groups. The zero value has measured nothing. It is not for concurrent use.
//
//	own clock      s ─────────────────────── r       10 s later     s' ───────────────────── r'
//	other clock              b                                                 b'
//
// The other node has sent a message at b, by its clock, after it had received one that was sent at s, and the message
// has arrived at r. So between b and b' at least s' - r has passed here, and at most r' - s, however long the messages
// were in flight, and whatever was suspended. A rate counts as off only if both bounds say so: no delay can do that.
//
// A node whose clock differs from those of most of its peers leads nothing (Leadership.SetClockOff): its clock is the
// wrong one, or no majority has clocks that a lease could rely on.
type Clocks struct{ peers map[kv.NodeID]*peerClock }

// MaxRateDifference is the difference of the rates of two clocks that is not tolerated: 2 %. Leases bear 5 %.
const MaxRateDifference = 0.02

const (
	// rateSpan is the time in which a rate is measured, in nanoseconds, rateSlot that from which the shortest round trip
	// counts.
	rateSpan, rateSlot = int64(10e9), int64(1e9)
	// rateGap is a time without messages after which a measurement begins anew, in nanoseconds: the other node may have
	// been started again, and a machine's clock begins anew with it.
	rateGap = int64(2e9)
)

// exchange is a round trip: the other node's clock was at theirs when the own one was between sent and received.
type exchange struct{ sent, theirs, received int64 }

// peerClock is what is known of another node's clock.
type peerClock struct {
	// slots are the shortest exchanges of the last slots of time, oldest first.
	slots []exchange
	last  exchange
	// rate is the last one that was measured, less 1; isOff: it is surely off by more than MaxRateDifference.
	rate  float64
	isOff bool
}

// Observe takes a message of another node: it was sent at theirs, by that node's clock, after that node had received a
// message that was sent at own; it has arrived at now. It reports whether the answer of Rate has changed.
func (c *Clocks) Observe(from kv.NodeID, own, theirs, now int64) (changed bool) {
	if own <= 0 || theirs <= 0 || own > now {
		return false
	}
	if c.peers == nil {
		c.peers = map[kv.NodeID]*peerClock{}
	}
	p := c.peers[from]
	if p == nil {
		p = &peerClock{}
		c.peers[from] = p
	}
	was := p.isOff
	p.observe(exchange{sent: own, theirs: theirs, received: now})
	return p.isOff != was
}

// observe keeps the shortest exchange of each slot, and compares the newest with that of rateSpan ago.
func (p *peerClock) observe(x exchange) {
	if x.received-p.last.received > rateGap || x.theirs < p.last.theirs && x.sent > p.last.sent {
		p.slots = p.slots[:0]
	}
	p.last = x
	n := len(p.slots)
	switch {
	case n == 0 || x.received/rateSlot != p.slots[n-1].received/rateSlot:
		p.slots = append(p.slots, x)
	case x.received-x.sent < p.slots[n-1].received-p.slots[n-1].sent:
		p.slots[n-1] = x
	}
	for len(p.slots) > 1 && p.slots[1].received <= x.received-rateSpan {
		p.slots = p.slots[1:]
	}
	p.compare(&p.slots[0], &p.slots[len(p.slots)-1])
}

// compare measures the rate between two exchanges.
func (p *peerClock) compare(a, b *exchange) {
	if b.sent-a.received < rateSpan*9/10 {
		return
	}
	passed := float64(b.theirs - a.theirs)
	least, most := passed/float64(b.received-a.sent)-1, passed/float64(b.sent-a.received)-1
	p.rate = (least + most) / 2
	p.isOff = least > MaxRateDifference || most < -MaxRateDifference
}

// IsOwnOff reports whether the own clock differs from those of more than half of the peers in a group.
func (c *Clocks) IsOwnOff(peers []kv.NodeID) bool {
	off := 0
	for _, n := range peers {
		if _, isOff := c.Rate(n); isOff {
			off++
		}
	}
	return 2*off > len(peers)
}

// Rate returns by how much the clock of a node runs faster than the own one, as a share; negative if slower. isOff
// reports whether that is surely more than MaxRateDifference. Both are as of the last 10 s with messages of the node.
func (c *Clocks) Rate(of kv.NodeID) (faster float64, isOff bool) {
	p := c.peers[of]
	if p == nil {
		return 0, false
	}
	return p.rate, p.isOff
}
