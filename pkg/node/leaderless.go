package node

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// leaderTimes is when each shard with several replicas had a leader last, as far as this node knows: its own machine
// runs, or another node has announced that it leads. It is nil if shards have one replica.
type leaderTimes []leaderTime

type leaderTime struct {
	// at is by the node's clock.
	at atomic.Int64
	// leaderless: that is too long ago.
	leaderless atomic.Bool
}

// leaderlessAfter is for how long no leader is known before requests for its shard fail. An election takes about a
// second, and leaders announce themselves every leaderInterval.
const leaderlessAfter = 5 * time.Second

func newLeaderTimes(shards int, now int64) leaderTimes {
	t := make(leaderTimes, shards)
	for i := range t {
		t[i].at.Store(now)
	}
	return t
}

// onLeader records that a shard has a leader.
func (t leaderTimes) onLeader(s kv.ShardID, now int64) {
	if int(s) < len(t) {
		t[s].at.Store(now)
	}
}

// isLeaderless reports whether a shard is known to have no leader.
func (t leaderTimes) isLeaderless(s kv.ShardID) bool {
	return int(s) < len(t) && t[s].leaderless.Load()
}

// leaderless returns the shards without a leader.
func (t leaderTimes) leaderless() (shards []kv.ShardID) {
	for i := range t {
		if t[i].leaderless.Load() {
			shards = append(shards, kv.ShardID(i))
		}
	}
	return shards
}

// check has the gateway fail the requests for shards without a leader, with the reason: they would wait until their
// deadlines, or for ever (R10.2). A node that was stalled waits for announcements first.
//
// It relies on announcements and not on which nodes are down: most replicas of a shard may be cut off from this node,
// and not from the leader that this node can reach.
func (t leaderTimes) check(n *Node, now int64) {
	var changed []kv.ShardID
	for i := range t {
		s := kv.ShardID(i)
		if l := n.shards[s]; l != nil && l.runs() != 0 {
			t.onLeader(s, now)
		}
		is := now-t[i].at.Load() > int64(leaderlessAfter)
		if is != t[i].leaderless.Load() && (!is || now >= n.peers.unsureUntil) {
			t[i].leaderless.Store(is)
			changed = append(changed, s)
		}
	}
	for _, s := range changed { // later than all flags, which errors name
		n.gateway.SetDown(kv.NoLeader, t[s].leaderless.Load(), s)
	}
	if len(changed) > 0 {
		n.opt.Log.Warn("shards have lost their leaders, or have leaders again", "changed", fmt.Sprint(changed),
			"leaderless", fmt.Sprint(t.leaderless()))
	}
}

// describeDown describes what is unavailable while a node is down, or without leaders.
func (t leaderTimes) describeDown(opt *Options, id kv.NodeID) *kv.Down {
	if id == kv.NoLeader {
		return opt.Router.Describe(0, "", t.leaderless())
	}
	address := ""
	if opt.Addresses != nil {
		address = opt.Addresses()[id]
	}
	return opt.Router.Unavailable(id, address)
}
