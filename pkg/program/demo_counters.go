package program

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// counters are the sums of counters over the shards of all nodes.
type counters struct {
	// lockWaits counts requests that waited for a lock, lockWait their time.
	lockWaits uint64
	lockWait  time.Duration
	// wounds counts transactions that an older one wounded or that aborted in its stead.
	wounds uint64
	syncs  uint64
	// readWaits counts reads that waited for updates, holds updates that waited for reads.
	readWaits, holds   uint64
	readWait, holdTime time.Duration
	// keys is the time that transactions waited for each key, on whichever shard it was.
	keys map[string]time.Duration
}

// waitedKeys is how many keys of a node are counted, far more than transactions wait for.
const waitedKeys = 1000

// count reads the counters of a cluster.
func (d *demo) count(c *embed.Cluster) *counters {
	n := &counters{syncs: c.Syncs(), keys: map[string]time.Duration{}}
	for i := range d.cluster.Nodes {
		for _, s := range c.Node(kv.NodeID(i + 1)).ShardStats(waitedKeys) {
			n.lockWaits += s.Locks.Waits
			n.lockWait += time.Duration(s.Locks.WaitNanos)
			n.wounds += s.Locks.Wounds + s.Locks.Aborted
			n.readWaits += s.Stats.ReadWaits
			n.readWait += time.Duration(s.Stats.ReadWaitNanos)
			n.holds += s.Queues.Holds
			n.holdTime += time.Duration(s.Queues.HeldNanos)
			for _, w := range s.Waits {
				n.keys[string(w.Key)] += time.Duration(w.Nanos)
			}
		}
	}
	return n
}

// subtract subtracts what had been counted before.
func (n *counters) subtract(o *counters) {
	n.lockWaits -= o.lockWaits
	n.lockWait -= o.lockWait
	n.wounds -= o.wounds
	n.syncs -= o.syncs
	n.readWaits -= o.readWaits
	n.readWait -= o.readWait
	n.holds -= o.holds
	n.holdTime -= o.holdTime
	for k, waited := range n.keys {
		// A shard forgets a key that no transaction waits for, and then counts from 0.
		n.keys[k] = waited - min(o.keys[k], waited)
	}
}
