package node

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Leases stores the expiry of the leases of each shard's readers, by Options.Clock, in a place that
// survives the process. An incarnation that finds the expiry of its predecessor waits until then before it
// decides held updates; otherwise it waits for a whole lease. Calls for different shards may be concurrent.
type Leases interface {
	// Load returns the last stored value of a shard. ok is false if it is unknown: another incarnation has
	// stored it, or the clock has restarted.
	Load(shard kv.ShardID, inc kv.Incarnation) (until int64, ok bool)
	// Store returns when a process that starts after the end of this one would load the value.
	Store(shard kv.ShardID, inc kv.Incarnation, until int64) error
}

func (n startup) loadLeases(id kv.ShardID, rec *shard.Recovered) {
	if n.opt.Leases == nil {
		return
	}
	until, known := n.opt.Leases.Load(id, rec.State.Incarnation)
	rec.Leases = shard.Leases{Known: known, Until: until}
}

// leaseSlack is added to a stored expiry, so that not every step stores a new one.
const leaseSlack = int64(50 * time.Millisecond)

// leaseHorizon stores a shard's lease expiry. The stored value is never lower than what the shard's
// messages rely on.
type leaseHorizon struct {
	to Leases
	// stored is the last stored value, at the time of that.
	stored, at int64
}

func (h *leaseHorizon) open(to Leases, m *shard.Machine) error {
	if to == nil {
		return nil
	}
	h.to = to
	return h.store(m, m.LeaseHorizon())
}

// advance is called after a step, before its output leaves the node.
func (h *leaseHorizon) advance(m *shard.Machine, now int64) error {
	if h.to == nil {
		return nil
	}
	until := m.LeaseHorizon()
	switch {
	case until > h.stored:
		h.at = now
		return h.store(m, until+leaseSlack)
	case until < h.stored-2*leaseSlack && h.stored > now && now-h.at >= leaseSlack: // readers have deregistered
		h.at = now
		return h.store(m, until)
	}
	return nil
}

func (h *leaseHorizon) store(m *shard.Machine, until int64) error {
	h.stored = until
	return h.to.Store(m.ID(), m.Incarnation(), until)
}
