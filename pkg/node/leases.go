package node

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Leases store until when the leases of the shards' readers last, by Options.Clock, where that
// outlives the process. An incarnation that finds the time of the one before waits no longer
// than until then; one that does not, waits for the whole lease. Its methods are called by
// several goroutines, for a shard by one at a time.
type Leases interface {
	// Load returns what was stored last for a shard. It reports false if that is not known:
	// another incarnation has stored it, or the clock has begun anew.
	Load(shard kv.ShardID, inc kv.Incarnation) (until int64, ok bool)
	// Store returns when a process that starts after this one has ended would load it.
	Store(shard kv.ShardID, inc kv.Incarnation, until int64) error
}

func (n *Node) loadLeases(id kv.ShardID, rec *shard.Recovered) {
	if n.opt.Leases == nil {
		return
	}
	until, known := n.opt.Leases.Load(id, rec.State.Incarnation)
	rec.Leases = shard.Leases{Known: known, Until: until}
}

// leaseGrain is how far what is stored is ahead of the leases at most, so that it is not stored
// with every step.
const leaseGrain = int64(50 * time.Millisecond)

// leaseHorizon is what is stored of a shard's leases: never less than what its messages rely
// on.
type leaseHorizon struct {
	to Leases
	// stored is what was stored last, at a time.
	stored, at int64
}

func (h *leaseHorizon) open(to Leases, m *shard.Machine) error {
	if to == nil {
		return nil
	}
	h.to = to
	return h.store(m, m.LeasesUntil())
}

// advance is called after a step, before its output leaves the node.
func (h *leaseHorizon) advance(m *shard.Machine, now int64) error {
	if h.to == nil {
		return nil
	}
	until := m.LeasesUntil()
	switch {
	case until > h.stored:
		h.at = now
		return h.store(m, until+leaseGrain)
	case until < h.stored-2*leaseGrain && h.stored > now && now-h.at >= leaseGrain: // readers have left
		h.at = now
		return h.store(m, until)
	}
	return nil
}

func (h *leaseHorizon) store(m *shard.Machine, until int64) error {
	h.stored = until
	return h.to.Store(m.ID(), m.Incarnation(), until)
}
