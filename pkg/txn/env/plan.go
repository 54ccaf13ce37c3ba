package env

import "github.com/linchpindb/linchpin/pkg/kv"

// Reads says how read-only transactions read.
type Reads uint8

const (
	// SnapshotReads register in the snapshot-queues: no locks, no aborts.
	SnapshotReads Reads = iota
	// LockingReads lock like updates. They are a baseline.
	LockingReads
)

func (r Reads) String() string { return [...]string{"snapshot", "locking"}[r] }

// ParseReads reads what String wrote.
func ParseReads(s string) (Reads, error) {
	for _, r := range []Reads{SnapshotReads, LockingReads} {
		if s == r.String() {
			return r, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "read mode %q; use snapshot or locking", s)
}

// Plan is the way in which a read-only transaction reads without locks
// (docs/protocol.md, section 7).
type Plan uint8

const (
	// PlanAny leaves the choice to the gateway.
	PlanAny Plan = iota
	// PlanOneShard reads on one shard in one step, registered nowhere: S1.
	PlanOneShard
	// PlanParallel registers on all shards and reads there, in parallel: P1.
	PlanParallel
	// PlanHotLast registers on all shards but the hot one, which hears from
	// them when it may read, last and unregistered: P2.
	PlanHotLast
	// PlanInteractive registers as an interactive transaction goes.
	PlanInteractive
	// PlanSnapshot fixes the index of every shard, and reads at those; or it reads at
	// a pin that was fixed before.
	PlanSnapshot
)

func (p Plan) String() string {
	return [...]string{"any", "one-shard", "parallel", "hot-last", "interactive", "snapshot"}[p]
}

// ParsePlan reads what String wrote, of the plans that can be asked for.
func ParsePlan(s string) (Plan, error) {
	for _, p := range []Plan{PlanAny, PlanParallel, PlanHotLast, PlanSnapshot} {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "read plan %q; use any, parallel, hot-last or snapshot", s)
}
