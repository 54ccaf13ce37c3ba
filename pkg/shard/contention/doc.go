// Package heat is what a shard notices of its hot keys, and what the hot shard makes of
// that (package hotshard): it knows which keys live there though their home is elsewhere,
// has keys moved, and keeps the operator's rules.
//
// Guarantee: a key lives on exactly one shard. It is at home if no forwarding tombstone is
// there, and otherwise where that says; and there it is among the moved keys. Each of these
// has a row in the log, which comes and goes with the effects of the move that it is about.
//
//	shard s1                     hot shard                       gateways
//	  meter ──load report──────▶ planner ──heat map────────────▶ order of locks
//	                                │  ──MoveKey──▶ its gateway
//	                             moved keys ◀──MoveIn, MoveOut── a move's decision
//
// Transaction A waits for key k, which B holds: the meter counts the wait. The planner has
// heard of it from all shards, and asks the gateway of its node to move k. From the decision
// of that on, gateways find k on the hot shard; whoever comes to its home is redirected.
package contention
