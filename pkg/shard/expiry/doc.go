// Package expiry has keys deleted whose deadline has passed (docs/decisions/0020).
//
// Guarantee: a key is deleted only if it still has the deadline that passed, by an ordinary transaction; so
// all readers see the deletion at one point of the serial order.
//
// The deadline table has a row for each key with a deadline. The row is written and deleted in the batch of
// the value that it belongs to. The shard reads a limited number of due rows at a time, and requests the
// deletion of each key from the gateway of its node. The clock determines when a deletion starts, and nothing
// about the order of transactions: a clock that jumps makes keys expire later or earlier.
//
//	Settle ─▶ deadline rows ◀─ Tick reads the due ones ─▶ Due ─▶ gateway: delete if the
//	   ▲                                                         deadline is unchanged
//	   └──────────────── the deletion becomes visible ◀──────────────────┘
//
// # Clocks
//
// A row names the clock of the shard that set the deadline (package timeofday), and the time to live. In the
// incarnation that set it, the deadline passes by that clock. In a later incarnation it passes by the time of
// day if both clocks are reliable, and in any case when the incarnation has lasted for the whole time to live.
// So a wrong clock deletes nothing early. Rows that are not due, although their deadline has passed by some
// clock, are skipped and read again later.
//
//	incarnation 1, clock wrong by +1 h     put k, time to live 10 min: deadline 13:10
//	incarnation 2, clock right, 12:05      clock 1 is not reliable: k expires after 10 min of this
//	                                       incarnation, at 12:15, not at 13:10
//
// # Hazards
//
//   - A row may be read just before its key gets another deadline: the deletion checks the deadline again.
//   - A deletion may be requested twice, and executed once: the second one finds another deadline, or none.
//
// The shard calls Settle for each effect, and Tick. The package relies on package timeofday for clocks.
package expiry
