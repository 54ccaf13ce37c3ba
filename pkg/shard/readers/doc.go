// Package readers executes the read-only transactions of a shard, which take no locks and never abort because
// of updates: the reads of transactions on several shards, and snapshots of this shard alone.
//
// Guarantee: on each shard a reader sees the newest state that no update has changed which waits for the
// reader. All its reads together are the state of one instant (docs/protocol.md, section 5).
//
//	Read ─▶ keys in memory ─▶ notices of other shards ─▶ registers in the snapshot-queues
//	                                                         │ sealed conflicting updates
//	                                                         ▼
//	ReadResponse ◀── Run, at the newest visible values ◀── ready ◀── waits, and requests unsealing
//
// Example. Reader R reads key k on two shards, which update U is about to change on both.
//
//	U is not sealed here:   R registers before U. U is decided after R has left,
//	                        and R returns the old value on both shards.
//	U is sealed here:       U is about to be decided. R waits for the decision,
//	                        and returns the new value on both shards.
//
// In a snapshot round the shard fixes its CSN (docs/protocol.md, section 7). The response does not wait for
// the log to be durable, since it is valid in this incarnation only.
//
// # Hazards
//
//   - A request may be repeated, superseded by a newer one, or arrive after its reader has ended.
//   - A reader registers only between transactions (Settle). A transaction becomes visible key by key, and a
//     reader has no lock that would keep it from seeing half of the changes.
//   - A registration expires if the reader sends nothing for a lease. With several replicas it ends with the lease
//     of the leader at the latest; the response states its duration (R14.1).
//
// The package relies on the snapshot-queues, on package exec for the execution, and on package agent for the
// last agents of updates.
package readers
