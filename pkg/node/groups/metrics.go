package groups

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// Stats count the work of a node's replicas since it started.
type Stats struct {
	// SnapshotsSent and SnapshotsReceived count whole Raft snapshots.
	SnapshotsSent, SnapshotsReceived uint64
	// LogBytes is the size of the entries written to the logs of the replicas.
	LogBytes uint64
	// Transfers counts the leaderships that the node has transferred, in the order of Causes.
	Transfers [len(Causes)]uint64
}

// counters are the counters of Stats.
type counters struct {
	snapshotsSent, snapshotsReceived, logBytes atomic.Uint64
	transfers                                  [numCauses]atomic.Uint64
}

// Stats returns the counters of the node.
func (s *Set) Stats() Stats {
	c := &s.counters
	st := Stats{SnapshotsSent: c.snapshotsSent.Load(), SnapshotsReceived: c.snapshotsReceived.Load(),
		LogBytes: c.logBytes.Load()}
	for i := range c.transfers {
		st.Transfers[i] = c.transfers[i].Load()
	}
	return st
}

// countLog counts what is to be written to the logs.
func (c *counters) countLog(batch []logRecord) {
	bytes := 0
	for i := range batch {
		if w := batch[i].Write; w != nil {
			for k := range w.Entries {
				bytes += len(w.Entries[k].Data)
			}
		}
	}
	c.logBytes.Add(uint64(bytes))
}

// past is what has happened to the replicas of a shard on this node.
type past struct {
	// led is the leader and the term that were logged last.
	led  consensus.ReplicaID
	term consensus.Term
	// elections counts those that they have begun, leaderships those that this node has won. campaigns is the number of
	// elections of the present replica.
	elections, leaderships, campaigns uint64
	// ledSince is when this node began to lead last.
	ledSince int64
}

func (p *past) onBegin(now int64) { p.leaderships, p.ledSince = p.leaderships+1, now }

func (p *past) observe(g *consensus.Replica) {
	n := g.Causes.Campaigns
	p.elections += n - min(n, p.campaigns) // a new replica counts from 0
	p.campaigns = n
}

// electionCause says why this node leads the shard.
func electionCause(g *consensus.Replica) string {
	e := g.Causes.Elected
	switch {
	case e.Transferred:
		return "the previous leader has transferred leadership"
	case e.Silent == 0:
		return "no leader was known since the start of the node"
	}
	return fmt.Sprintf("the previous leader was silent for %v", e.Silent.Round(time.Millisecond))
}

// lossCause says why the leadership of this node has ended.
func (r *replica) lossCause(now int64) string {
	g, hold := r.rep.Group(), r.set.opt.Hold
	if since := r.set.diskBusy(now); since != 0 && now-since > int64(hold) {
		return fmt.Sprintf("its disk has ended no write for %v", time.Duration(now-since).Round(time.Millisecond))
	}
	switch g.Causes.Lost {
	case consensus.LostLease:
		return fmt.Sprintf("its lease has ended: no majority of the replicas has responded for %v", hold)
	case consensus.FailedTransfer:
		return "no other replica has taken over after a transfer of leadership"
	case consensus.ClockOff:
		return "the rate of this node's clock differs from those of most others"
	case consensus.IsUnfit:
		return "its log or its rows are damaged"
	}
	_, term := g.Leader()
	return fmt.Sprintf("it was deposed by term %d", term)
}
