// Package mvcc holds the in-memory part of a shard's versions and executes operations on them. It
// sends nothing and writes nothing: it returns effects and log entries, which package shard
// appends.
//
// Guarantee: the result of a piece depends on the values in its [View] and on its operations only. An
// effect that was executed under its locks can be made visible later: it does not fail, and gives the
// value that the results have promised, whichever transactions with compatible locks are visible by then.
//
// # Items
//
// A [Store] holds one [Item] per key in memory: the newest visible value, the CSN at which it
// became visible, and the write intents of prepared transactions. An item with a reference stays in
// memory. Items without references form a cache with a limit in bytes and clock (second-chance)
// eviction. Absence is a value: a key that is known to be absent is an item as well. A key that is
// not in memory is read from the store; until the response arrives the item is Loading and
// referenced.
//
//	Acquire ─▶ Loading ─────Install─────▶ Loaded ─Release─▶ cached ─eviction─▶ not in memory
//	              │                         ▲                  │
//	              └─ MakeVisible (a write) ─┘◀──── Acquire ────┘
//
// If a write becomes visible while the read is in flight, the response is stale and Install
// discards it.
//
// # Execution
//
// [Exec] runs the operations of a piece on a [View] of the newest visible values. It changes no
// item: it returns effects, results or a failure. A participant stores the effects as intents; the
// last agent makes them visible. Later operations of a piece see the effects of earlier ones.
// Example, with n = 5 visible:
//
//	T1: add n 1           effect: add 1; needs no value to return, holds mode add
//	T2: add n 2           effect: add 2; commutes with T1, both intents exist side by side
//	T1, T2 commit         MakeVisible applies the deltas in the order of the decisions: 8
//
// # Garbage
//
// A version is garbage when no read can see it: a newer version exists at or below the GC safe
// point, and no retained CSN lies between the two. [Garbage] lists replaced versions in the order
// of replacement and returns the entries that remove those which no snapshot retains.
//
// # Deltas and pages
//
// A large value is not written again for each change. The newest row may be a delta, which folds with the rows below it
// ([Chain]); and a value above 64 KiB is a directory of pages, of which only changed ones are written ([Paging]).
//
//	set s with 10,000 members         add(x)                      add(y), 100 changes later
//	CSN 4: the whole value            CSN 5: delta "add x"        CSN 105: the whole value again, when the
//	                                                              deltas together are as large as it
//
// # Hazards
//
//   - Effects, values and chains share memory with their source. Only the documented owner may change them.
//   - [Calls.Held] decides whether the result of a call is valid. If Execution.Missing is not empty, nothing else
//     of the Execution counts: the piece is executed again under these locks. The same holds for Execution.Absent.
//   - A value that a piece has written and not committed has no version that a condition can name
//     ([UnassignedVersion], [ProvisionalVersion]); [ClientVersion] hides these.
//
// Packages shard/store and shard/exec rely on this package for all values, and package txn/session for
// executing buffered transactions. It relies on package adt for what a call does.
package mvcc
