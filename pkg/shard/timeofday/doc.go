// Package timeofday decides which time of day a shard may delete keys and snapshots by
// (docs/decisions/0029).
//
// Guarantee: a time of day that is wrong when a shard starts is not relied on, unless it stays
// wrong for as long as outcomes are kept, agrees with the other nodes, and is not days away
// from the newest time in the store.
//
// A clock is an offset: the time of day less the monotonic time. An incarnation begins with the
// clock that its node shows. The clock is proven when the node's time of day has kept to it
// for the settle time, and nothing contradicts it:
//
//   - the other nodes that were heard of lately: at least half of them show the same time;
//   - if no other node is heard of, the newest time in the store.
//
// If the time of day keeps to another offset for that long, without a contradiction, this one
// becomes the shard's clock, and what was recorded by the former one stays marked as such.
//
//	unproven ─ steady, no contradiction ▶ proven ─ steady at another offset ▶ next clock, proven
package timeofday
