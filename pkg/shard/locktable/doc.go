// Package lock is a shard's lock table: who holds what, who waits for it, who
// goes next, and who must give way. It is pure: every method takes the time,
// and what it wants done is returned or can be drained.
//
// # What is promised
//
// No two transactions hold incompatible modes on overlapping spans. Every
// request is granted, or its transaction is marked or ends: there is no
// deadlock and nobody starves.
//
// # What happens to a request
//
// A Request names all the spans and modes that a piece of a transaction needs
// on this shard, and is granted all of it or nothing: who waits in this table
// holds nothing by that request. A request that is Instant is run by the
// caller at the moment it is granted and holds nothing afterwards either;
// that is how a parked piece meets the locks of a hot shard.
//
//	Acquire ──▶ granted?──yes──▶ holders        Release ──▶ spans become dirty
//	               │no                                          │
//	               ├─ NoWait ──▶ dies                           ▼
//	               ▼                                  Next: waiters of dirty spans,
//	            waiters (by age) ◀──────────────────── oldest first, are tried again
//
// A request is grantable when, for each of its needs,
//
//   - no other transaction holds an incompatible mode there, and
//   - no older request waits for an incompatible mode there, unless the
//     running phase may be joined (below), the request is Instant, or its
//     transaction already holds a lock on that span: a change of mode does
//     not queue behind others.
//
// # Phases
//
// A phase is a run of compatible holders of one span. Somebody younger than an
// incompatible waiter may join it, so that reads go with reads and adds with
// adds, until the phase has had MaxPhaseCount members or has lasted
// MaxPhaseTime; then it drains and the oldest waiter opens the next. The cap
// only ever stops operations that are younger than the oldest waiter.
//
// # Wound-wait, lazily
//
// A waiting request marks the younger holders that are in its way, at once
// and again every Repeat. Whoever is granted something past an older waiter
// is marked too. Marks come out of Marks; the shard sends them, and a marked
// transaction dies when it next has to wait, or where it is not decided yet.
// A holder that has prepared here is marked only after Grace, since its
// decision is normally on its way. So every lasting wait goes from younger to
// older, or to a transaction that is about to die.
//
// # Shares
//
// While requests of other users wait for the locks of one user's transactions, the
// time counts against the user's share (shares.go). When that is used up, locks that
// others wait for are broken, and for a while the user is granted none that last.
package locktable
