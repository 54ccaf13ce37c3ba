package node

import (
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Thresholds of the clock. Smaller deviations are not worth a log entry.
const (
	// clockSlack is how far the time of day may be behind the time by which shards collect garbage before new
	// ids follow the latter.
	clockSlack = kv.DefaultRetention / 4
	// clockJump is the least step of the time of day that counts as a jump.
	clockJump = time.Second
	// clockDifference is the difference from the other nodes' clocks above which the node logs a warning.
	clockDifference = 10 * time.Second
	// clockTolerance is the difference up to which another node's clock counts as agreeing.
	clockTolerance = time.Minute
	// idsAhead is how far ids may be ahead of the time of day without a log entry.
	idsAhead = time.Second
)

// clockWatch detects jumps and differences of the time of day, and logs them. check is called with
// Node.downMu held; the other methods are safe for concurrent use.
type clockWatch struct {
	*clock.Hybrid
	// offset is the time of day minus Now, at the last check.
	offset int64
	jumps  atomic.Uint64
	// steadySince is when the node started, or noticed the last jump, by Now.
	steadySince atomic.Int64
	// ahead and differs are the states that were logged last.
	ahead, differs bool
	// peers is a shard.Peers: how the other nodes' clocks compare with this one.
	peers atomic.Uint32
	// doubt is why the shards do not delete keys by the time of day, as logged last.
	doubt shard.Doubt
}

// ClockStats describe a node's clock.
type ClockStats struct {
	// Jumps counts how often the time of day was set by a second or more while the node ran.
	Jumps uint64
	// IDsAhead is by how much the times of new ids are ahead of the time of day.
	IDsAhead time.Duration
	// Apart is by how much the clock is ahead of the median of the others, negative if it is behind; 0 if no
	// other clock is known.
	Apart time.Duration
}

func (n *Node) watchClock(c clock.Clock) {
	n.clock.Hybrid = clock.NewHybrid(c, clockSlack)
	n.clock.offset = c.Wall() - c.Now()
	n.clock.steadySince.Store(c.Now())
}

// steadyNanos is for how long the time of day has been steady, 0 if the clocks of most other nodes differ (R14.4).
func (c *clockWatch) steadyNanos(now int64) int64 {
	if shard.Peers(c.peers.Load()) == shard.PeersDiffer {
		return 0
	}
	return max(now-c.steadySince.Load(), 0)
}

// ClockStats returns the state of the node's clock.
func (n *Node) ClockStats() ClockStats {
	now := n.clock.Now()
	apart, _ := n.clock.Difference(now)
	return ClockStats{Jumps: n.clock.jumps.Load(), IDsAhead: time.Duration(max(n.clock.WallAt(now)-n.clock.TimeOfDay(),
		0)), Apart: apart}
}

// check applies the time by which the node's shards collect garbage, and logs changes of the clock's state.
func (c *clockWatch) check(n *Node) {
	for _, id := range n.ids {
		if offset := n.shards[id].idOffset.Load(); offset != noOffset {
			c.RaiseMinIDTime(offset)
		}
	}
	now, wall := c.Now(), c.TimeOfDay()
	if by := time.Duration(wall - now - c.offset); by >= clockJump || by <= -clockJump {
		c.jumps.Add(1)
		c.steadySince.Store(now)
		n.opt.Log.Warn("wall clock jumped: garbage collection by time pauses for some minutes", "by", by, "time",
			time.Unix(0, wall).UTC())
	}
	c.offset = wall - now
	ids := time.Duration(c.WallAt(now) - wall)
	if ahead := ids > idsAhead; ahead != c.ahead {
		c.ahead = ahead
		if ahead {
			n.opt.Log.Warn("transaction ids run ahead of the wall clock, because a shard collected garbage "+
				"by a faster clock; this is harmless", "ahead_by", ids)
		} else {
			n.opt.Log.Info("transaction ids follow the wall clock again")
		}
	}
	c.peers.Store(uint32(c.comparePeers(now)))
	c.checkExpiry(n)
	by, known := c.Difference(now)
	if apart := known && (by > clockDifference || by < -clockDifference); apart != c.differs {
		c.differs = apart
		if apart {
			n.opt.Log.Warn("this node's clock differs from the clocks of most nodes: check its time synchronization", "ahead_by",
				by)
		} else {
			n.opt.Log.Info("this node's clock agrees with the other nodes again")
		}
	}
}

// comparePeers compares the clock with those of the other nodes.
func (c *clockWatch) comparePeers(now int64) shard.Peers {
	agree, known := c.Agreement(now, clockTolerance)
	switch {
	case known == 0:
		return shard.PeersUnknown
	case 2*agree >= known:
		return shard.PeersAgree
	}
	return shard.PeersDiffer
}

// checkExpiry logs when shards suspend the deletion of expired keys, and why. In the first minutes after a
// start all shards do, which is not logged.
func (c *clockWatch) checkExpiry(n *Node) {
	doubt := shard.NoDoubt
	for _, id := range n.ids {
		doubt = max(doubt, shard.Doubt(n.shards[id].expiry.Load()))
	}
	if doubt == c.doubt {
		return
	}
	switch {
	case doubt > shard.ClockYoung:
		n.opt.Log.Warn("expired keys from before the start are kept, because the wall clock is in doubt: "+
			"correct the clock, or start the node with --trust-clock if it is right", "reason", doubt.String(), "time",
			time.Unix(0, c.TimeOfDay()).UTC())
	case c.doubt > shard.ClockYoung:
		n.opt.Log.Info("wall clock no longer in doubt: expired keys are deleted once it has been steady for some minutes")
	}
	c.doubt = doubt
}

// fillAnnouncement adds the clock's state to an Announcement of a shard.
func (c *clockWatch) fillAnnouncement(l *shardLoop, a *msg.Announcement) {
	now := c.Now()
	a.Clock = c.TimeOfDay()
	if offset := l.idOffset.Load(); offset != noOffset {
		a.IdTime = now + offset
	}
}
