// Package timeofday determines the time of day by which a shard deletes keys and snapshots
// (docs/decisions/0029).
//
// Guarantee: a time of day that is wrong when a shard starts is not used, unless it stays wrong for as long
// as outcomes are retained, agrees with the other nodes, and is not days away from the newest time in the
// store.
//
// A clock is an offset: the time of day minus the monotonic time. An incarnation begins with the clock that
// its node shows. The clock is proven when the node's time of day has been steady at it for the settle time,
// and is not contradicted by
//
//   - the other nodes that sent their time recently: at least half of them show the same time;
//   - if there are none, the newest time in the store.
//
// If the time of day is steady at another offset for that long, without a contradiction, that becomes the
// clock of the shard. Deadlines that were set by the former clock remain attributed to it.
//
// Example. A node boots with its clock 40 years behind, and NTP corrects it after a minute. The shard starts
// with the wrong clock, which is never proven. 10 minutes after the correction the right clock is proven and
// replaces it. Keys whose deadline was set in that minute expire by the wrong clock in this incarnation, and
// by their time to live in a later one.
//
//	unproven ─ steady, no contradiction ▶ proven ─ steady at another offset ▶ next clock, proven
//
// # Hazards
//
// The offset of a clock is not known to be right before it is proven. What must not happen early, such as the deletion
// of a key of an earlier incarnation, waits until then; what only needs some clock uses the current one.
//
// Packages expiry, past and outcome rely on it: for deadlines, for the times of snapshots, and for the age of ids.
package timeofday
