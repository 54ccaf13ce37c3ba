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
	// PlanOne reads on one shard in one step, registered nowhere: S1.
	PlanOne
	// PlanAtOnce registers on all shards and reads there, in parallel: P1.
	PlanAtOnce
	// PlanHotLast registers on all shards but the hot one, which hears from
	// them when it may read, last and unregistered: P2.
	PlanHotLast
	// PlanOpen registers as an interactive transaction goes.
	PlanOpen
	// PlanPin fixes the index of every shard, and reads at those; or it reads at
	// a pin that was fixed before.
	PlanPin
)

func (p Plan) String() string {
	return [...]string{"any", "one", "at-once", "hot-last", "open", "pin"}[p]
}

// ParsePlan reads what String wrote, of the plans that can be asked for.
func ParsePlan(s string) (Plan, error) {
	for _, p := range []Plan{PlanAny, PlanAtOnce, PlanHotLast, PlanPin} {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "read plan %q; use any, at-once, hot-last or pin", s)
}
