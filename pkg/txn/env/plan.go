package env

import "github.com/linchpindb/linchpin/pkg/kv"

// Reads is the way in which read-only transactions read.
type Reads uint8

const (
	// SnapshotReads register in snapshot-queues: no locks, no aborts.
	SnapshotReads Reads = iota
	// LockingReads take locks like updates. They are a baseline.
	LockingReads
)

func (r Reads) String() string { return [...]string{"snapshot", "locking"}[r] }

// ParseReads parses the output of String.
func ParseReads(s string) (Reads, error) {
	for _, r := range []Reads{SnapshotReads, LockingReads} {
		if s == r.String() {
			return r, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "read mode %q; use snapshot or locking", s)
}

// Plan is the read plan of a read-only transaction without locks (docs/protocol.md, section 7).
type Plan uint8

const (
	// PlanAny: the gateway chooses.
	PlanAny Plan = iota
	// PlanOneShard reads on one shard in one step, unregistered.
	PlanOneShard
	// PlanParallel registers on all shards and reads there in parallel: "at once" in docs/protocol.md.
	PlanParallel
	// PlanHotLast registers on all shards but the hottest, which reads last, unregistered, after their notices.
	PlanHotLast
	// PlanInteractive registers on shards as an interactive transaction proceeds.
	PlanInteractive
	// PlanSnapshot reads at the CSNs of a snapshot round, or of a retained snapshot.
	PlanSnapshot
)

func (p Plan) String() string {
	return [...]string{"any", "one-shard", "parallel", "hot-last", "interactive", "snapshot"}[p]
}

// ParsePlan parses the name of a plan that can be configured.
func ParsePlan(s string) (Plan, error) {
	for _, p := range []Plan{PlanAny, PlanParallel, PlanHotLast, PlanSnapshot} {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "read plan %q; use any, parallel, hot-last or snapshot", s)
}
