// Package expiry has keys deleted that are due (docs/decisions/0020).
//
// Guarantee: a key is deleted only if it still expires when it did, in a transaction like any
// other, so that a reader sees nothing else than other readers do.
//
// Of each key that expires there is a row in the deadline table, which comes and goes with the
// value that says so. The shard looks there for what is due, some of it at a time, and has the
// gateway of its node delete each key. That is all that happens at a deadline. The clock says
// when a deletion begins, and nothing about the order of anything, so that one that jumps makes
// keys live longer, or shorter.
//
//	Settle ─▶ deadline rows ◀─ Tick reads those that are due ─▶ Due ─▶ gateway: delete if it
//	   ▲                                                               expires then
//	   └──────────────── the deletion is shown ◀───────────────────────────┘
//
// The row says which of the shard's clocks set the deadline (package timeofday), and the time to
// live. In the incarnation that set it, the key expires by that clock. In a later one it expires by
// the time of day if both clocks can be relied on, and in any case when the incarnation has lasted
// for the whole time to live. So a clock that is wrong deletes nothing early. Rows of keys that are
// not due yet, although their deadline has passed by some clock, are passed over.
package expiry
