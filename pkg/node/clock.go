package node

import (
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// How a node's clock is judged. Somewhat arbitrary: what is less than these nobody
// needs to be told.
const (
	// clockSlack is how far the time of day may be behind what shards forget by,
	// before new ids are made by that instead.
	clockSlack = kv.DefaultRetention / 4
	// clockJump is by how much a time of day that is set has jumped.
	clockJump = time.Second
	// clockApart is how far a node's clock may be from the others' unmentioned.
	clockApart = 10 * time.Second
	// clockTolerance is how far other nodes' clocks may be from this node's and still
	// agree with it.
	clockTolerance = time.Minute
	// idsAhead is how far ids may be ahead of the time of day unmentioned.
	idsAhead = time.Second
)

// clockWatch notices what becomes of the time of day, and tells. look is called with
// Node.downMu held; the rest may be read by any goroutine.
type clockWatch struct {
	*clock.Hybrid
	// offset is the time of day less Now, as it was last seen.
	offset int64
	jumps  atomic.Uint64
	// ahead and apart are what was told last.
	ahead, apart bool
	// peers is how the other nodes' clocks compare with this node's (shard.Peers).
	peers atomic.Uint32
	// doubt is why the shards do not delete keys by the time of day, as it was told last.
	doubt shard.Doubt
}

// ClockStats tell about a node's clock.
type ClockStats struct {
	// Jumps counts how often the time of day was set by a second or more while the
	// node ran.
	Jumps uint64
	// IDsAhead is how far the times of new ids are ahead of the time of day.
	IDsAhead time.Duration
	// Apart is how far the clock is ahead of the others' median, negative if it is
	// behind; 0 if no other is known.
	Apart time.Duration
}

func (n *Node) watchClock(c clock.Clock) {
	n.clock.Hybrid = clock.NewHybrid(c, clockSlack)
	n.clock.offset = c.Wall() - c.Now()
}

// Clock tells about the node's clock.
func (n *Node) Clock() ClockStats {
	now := n.clock.Now()
	apart, _ := n.clock.Apart(now)
	return ClockStats{Jumps: n.clock.jumps.Load(), IDsAhead: time.Duration(max(n.clock.WallAt(now)-n.clock.TimeOfDay(), 0)), Apart: apart}
}

// look takes what the node's own shards forget by, and tells the log of what is wrong
// with the clock.
func (c *clockWatch) look(n *Node) {
	for _, id := range n.ids {
		if offset := n.shards[id].idOffset.Load(); offset != noOffset {
			c.Push(offset)
		}
	}
	now, wall := c.Now(), c.TimeOfDay()
	if by := time.Duration(wall - now - c.offset); by >= clockJump || by <= -clockJump {
		c.jumps.Add(1)
		n.opt.Log.Warn("wall clock jumped: garbage collection by time pauses for some minutes", "by", by, "time", time.Unix(0, wall).UTC())
	}
	c.offset = wall - now
	ids := time.Duration(c.WallAt(now) - wall)
	if ahead := ids > idsAhead; ahead != c.ahead {
		c.ahead = ahead
		if ahead {
			n.opt.Log.Warn("transaction ids run ahead of the wall clock, because a shard collected garbage by a faster clock; this is harmless", "ahead_by", ids)
		} else {
			n.opt.Log.Info("transaction ids follow the wall clock again")
		}
	}
	c.peers.Store(uint32(c.compare(now)))
	c.lookAtExpiry(n)
	by, known := c.Apart(now)
	if apart := known && (by > clockApart || by < -clockApart); apart != c.apart {
		c.apart = apart
		if apart {
			n.opt.Log.Warn("this node's clock differs from the clocks of most nodes: check its time synchronization", "ahead_by", by)
		} else {
			n.opt.Log.Info("this node's clock agrees with the other nodes again")
		}
	}
}

// compare is how most other nodes' clocks compare with this node's.
func (c *clockWatch) compare(now int64) shard.Peers {
	agree, known := c.Agreement(now, clockTolerance)
	switch {
	case known == 0:
		return shard.PeersUnknown
	case 2*agree >= known:
		return shard.PeersAgree
	}
	return shard.PeersDiffer
}

// lookAtExpiry reports in the log when shards suspend the deletion of keys, and why; not in
// the first minutes after a start, when all do.
func (c *clockWatch) lookAtExpiry(n *Node) {
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
			"correct the clock, or start the node with --trust-clock if it is right", "reason", doubt.String(), "time", time.Unix(0, c.TimeOfDay()).UTC())
	case c.doubt > shard.ClockYoung:
		n.opt.Log.Info("wall clock no longer in doubt: expired keys are deleted once it has been steady for some minutes")
	}
	c.doubt = doubt
}

// tell adds what other nodes should know to an Announcement of a shard.
func (c *clockWatch) tell(l *shardLoop, a *msg.Announcement) {
	now := c.Now()
	a.Clock = c.TimeOfDay()
	if offset := l.idOffset.Load(); offset != noOffset {
		a.IdTime = now + offset
	}
}
