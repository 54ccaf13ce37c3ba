// Package contention measures the contention on the keys of a shard and, on the hot shard, acts on it (package
// hotshard): it has keys moved to the hot shard and back, stores the moved keys, and stores the operator's
// rules.
//
// Guarantee: a key is on exactly one shard. If its home shard has no move tombstone for it, it is there;
// otherwise it is on the shard that the tombstone names, which lists it among its moved keys. Tombstone and
// list entry are rows of the log, written in the same batches as the effects of the move.
//
//	shard s1                     hot shard                       gateways
//	  meter ──load report──────▶ planner ──heat map────────────▶ order of locks
//	                                │  ──MoveKey──▶ its gateway
//	                             moved keys ◀──MoveIn, MoveOut── decision of a move
//
// Example. Transaction A waits for key k, which B has locked: the meter counts the wait, and the next load
// report contains k. The planner, which receives the reports of all shards, requests a move of k from the
// gateway of its node. From the decision of the move on, gateways find k on the hot shard; requests at its
// home shard are redirected.
//
// Package exec asks Redirect for each key that it executes, and records uses and waits. Package agent calls Settle with
// the decision of a move. The shard calls Tick, and passes messages to Receive.
// Hazards: reports, heat maps and requests are lost, delayed and repeated. They affect speed only; the rows
// of moved keys are authoritative.
package contention
