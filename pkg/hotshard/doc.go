// Package hotshard places keys on shards and measures contention: slots for most keys, the hot shard for
// the few contended ones (linchpin keys; Lam and Helt 2019), and the heat order that makes the hottest
// shard the last agent of a transaction.
//
// Placement. A key belongs to one of kv.Slots slots, by a hash of its tag. The tag is the part between the
// first '{' and the next '}' if that is not empty, else the whole key; keys with one tag share a shard.
// Slots are assigned to the ordinary shards in equal runs. The keys of the hot map are on the hot shard,
// which has the highest number and no other keys.
//
//		shard ── Meter ── load report ──┐
//		                                ├──▶ hot shard: Survey, Planner ── heat map ──▶ all gateways
//		gateway ── Pairs ─ pair report ─┘                            └── moves ──▶ gateway of the node
//
//	 1. A Meter on each shard ranks its keys by the waiting that they cause, and counts conflicting writes.
//	 2. A Survey on the hot shard merges the load reports into the heat map.
//	 3. A gateway orders the shards of a transaction by the heat of its keys there. If no heat is known, the
//	    higher number counts as hotter, so the hot shard is the last agent.
//	 4. A Planner on the hot shard decides which keys are moved there and back. The Pairs of the gateways
//	    report which keys are written together.
//
// The heat order affects speed only. The protocol is correct for any order, and for gateways that disagree
// (docs/decisions/0011-heat.md).
//
// Guarantee: each key is placed by the same rule on all nodes, which depends on the configuration of the cluster
// only. A move changes where a key is, but not its home.
//
// Example. Transactions write k1 and k2, which are hot and have homes on different shards. In each transaction the
// hotter one is decided without a lock across the network, and the other one is locked for a message delay. The
// planner moves both: from then on the hot shard decides both in one step. When they are quiet, they move home.
//
// Hazard: reports may be lost, and a planner begins anew after a restart. So a decision must be harmless if it is
// wrong, and must not be taken back too soon.
//
// Packages shard/contention and txn/heat rely on this package, on the two sides of the reports.
package hotshard
