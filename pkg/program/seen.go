package program

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// seen is what the shards of all nodes have counted.
type seen struct {
	waits, marks uint64
	waited       time.Duration
	syncs        uint64
	// reads waited for updates, holds are updates that waited for readers.
	reads, holds      uint64
	readsWaited, held time.Duration
}

func (d *demo) seen(c *embed.Cluster) *seen {
	n := &seen{syncs: c.Syncs()}
	for i := range d.cluster.Nodes {
		for _, s := range c.Node(kv.NodeID(i + 1)).Snapshots(0) {
			n.waits += s.Locks.Waits
			n.waited += time.Duration(s.Locks.WaitNanos)
			n.marks += s.Locks.Marks + s.Locks.Died
			n.reads += s.Stats.ReadWaits
			n.readsWaited += time.Duration(s.Stats.ReadWaitNanos)
			n.holds += s.Queues.Holds
			n.held += time.Duration(s.Queues.HeldNanos)
		}
	}
	return n
}

// less takes away what had been counted before.
func (n *seen) less(o *seen) {
	n.waits -= o.waits
	n.marks -= o.marks
	n.waited -= o.waited
	n.syncs -= o.syncs
	n.reads -= o.reads
	n.holds -= o.holds
	n.readsWaited -= o.readsWaited
	n.held -= o.held
}
