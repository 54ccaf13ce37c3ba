// Package balance decides which shards a node returns to the nodes that should lead them (R7.7).
//
//	n3 restarts ─▶ n1 and n2 lead its shards ─▶ all replicas of s2 are whole for 10 s ─▶ n1 returns s2 to n3
//	                                                                    2 s later ─▶ n1 returns s5 to n3
//
// The node that should lead a shard, the preferred one, is the first of its placement (R7.5). So a node leads at most
// one shard more than another when all are where they should be, and every return brings a cluster closer to that: no
// shard leaves its preferred node. Nodes decide about the shards that they lead, each by itself; none undoes what
// another one does.
//
// It guarantees, for one node, that at most one return begins in Config.Every, that a shard is returned only while all
// of its replicas can serve it, and that a shard whose preferred node does not keep it is returned at longer and longer
// intervals.
//
// The package is pure: the caller passes what the leader of each shard knows, and the time.
package balance

import (
	"cmp"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Config are the times of a Balancer. 0 is the default of each.
type Config struct {
	// Settle is how long a node leads a shard of which all replicas are whole before it returns the shard: 10 s. The
	// preferred node may be about to stop again, and its caches are cold.
	Settle time.Duration
	// Every is the least time between two returns of a node: 2 s.
	Every time.Duration
}

// A return within forget of the one before has not lasted. Then the wait of the shard is doubled, up to maxWait.
const (
	forget  = 10 * time.Minute
	maxWait = 5 * time.Minute
)

// Led is a shard that the node leads.
type Led struct {
	Shard kv.ShardID
	// Preferred is the node that should lead it.
	Preferred kv.NodeID
	// Since is when the node began to lead it, in nanoseconds by its clock.
	Since int64
	// IsWhole: as many replicas vote as should, no change of them is in progress, and each of them responds, has the log
	// and does not decline leadership.
	IsWhole bool
}

// Balancer decides for one node. The zero value has the default times.
type Balancer struct {
	Config
	next   int64
	shards map[kv.ShardID]past
}

// past is when a shard was not whole last, when it was returned last, and for how long the node waits before it does so
// again.
type past struct {
	broken, returned int64
	wait             time.Duration
}

// Next returns a shard to be returned to its preferred node at a time, in nanoseconds by the clock of the node, which
// does not decrease. led are the shards that the node leads, in any order. self is the node.
func (b *Balancer) Next(now int64, self kv.NodeID, led []Led) (chosen Led, ok bool) {
	if b.shards == nil {
		b.shards = map[kv.ShardID]past{}
	}
	settle := cmp.Or(b.Settle, 10*time.Second)
	for _, l := range led {
		p := b.shards[l.Shard]
		wait := max(settle, p.wait)
		switch {
		case !l.IsWhole:
			p.broken = now
		case ok, now < b.next, l.Preferred == self, now < max(l.Since, p.broken, p.returned)+int64(wait):
			continue
		default:
			p.wait = settle
			if p.returned != 0 && now < p.returned+int64(forget) {
				p.wait = min(2*wait, max(maxWait, settle))
			}
			p.returned, chosen, ok = now, l, true
		}
		b.shards[l.Shard] = p
	}
	if ok {
		b.next = now + int64(cmp.Or(b.Every, 2*time.Second))
	}
	return chosen, ok
}
