// Package read is a shard's side of read-only transactions, which take no locks and never abort: the
// reads of transactions on several shards, and snapshots of this shard alone.
//
// Guarantee: a reader sees, of every shard, the newest state that no update which waits for the
// reader has changed; all its reads together are the state of one instant (docs/protocol.md,
// section 5).
//
//	Read ─▶ keys in memory ─▶ notices of the shards before ─▶ enters the snapshot-queues
//	                                                              │ sealed updates in the way
//	                                                              ▼
//	ReadResponse ◀── Run, at the newest visible values ◀── ready ◀── waits, has them unsealed
//
// Example. Reader R reads key k, which update U is about to change on two shards. If U is not sealed
// here, R enters the queue of k before it: U may not be decided until R has left, and R has the old
// value on both shards. If U is sealed it is about to be decided: R waits for it, and has the new
// value on both.
//
// A snapshot round has the shard fix its index (docs/protocol.md, section 7). That is answered before
// the log is durable, since it holds for this incarnation alone.
//
// Hazards. A request may be repeated, overtaken by a newer one, or come after its reader has left. A
// reader enters the queues only when nothing is being shown (Settle): a transaction becomes visible
// key by key, and a reader has no lock to keep it from seeing a half. A registration lapses when
// nothing is heard of its reader for a lease.
//
// It relies on the snapshot-queues, on package exec for the execution, and asks the roles of package
// commit who decides an update.
package readers
