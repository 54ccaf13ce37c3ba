package snapshot

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// doubt returns for how long a time of day is not trusted. A clock that was set only just now may be wrong, and would
// let all snapshots expire.
func (o Options) doubt() int64 {
	if o.Mutants.Has(mutant.SnapshotClockTrusted) {
		return 0
	}
	return int64(o.Doubt)
}

// newRetained returns a snapshot at the safe point, which is at least as new as the request: versions that only an
// older one sees may be collected.
func (k *Registry) newRetained(number uint64, q Request) *retained {
	p := &retained{
		Snapshot: msg.Snapshot{Number: number, Name: q.Name, Clock: msg.CSNs(k.safePoint), Origin: q.Origin},
		fixed:    k.safePointFixed,
	}
	if k.mutants.Has(mutant.SnapshotBelowSafePoint) {
		p.Clock, p.fixed = q.Clock, q.Fixed
	}
	return p
}
