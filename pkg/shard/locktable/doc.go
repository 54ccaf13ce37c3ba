// Package locktable is the lock table of one shard: its holders, its waiting requests, the order in which
// locks are granted, and the wounds that keep waits from becoming deadlocks. It is pure: every method takes
// the time as an argument and returns its effects, or collects them until they are drained.
//
// # Guarantees
//
//  1. No two transactions hold incompatible modes on overlapping spans.
//  2. Every request is granted, or its transaction is wounded or ends. There is no deadlock, and no request
//     starves.
//
// Which packages rely on them: package exec on the first, for results that stay true until the decision;
// package agent on both, since a vote promises that the locks last. The second needs package agent in return:
// a prepared transaction must be decided although nothing here can end it.
//
// # Requests
//
// A Request names all spans and modes that a piece of a transaction needs on this shard. It is granted as a
// whole: while it waits, its transaction holds nothing by it. An Instant request is executed by the caller
// in the step of the grant and holds nothing afterwards either: the piece of a last agent takes the locks of
// a hot key in this way.
//
//	Acquire ──▶ granted? ─yes─▶ holders          Release ──▶ the spans become dirty
//	               │no                                         │
//	               ├─ NoWait ──▶ aborted                       ▼
//	               ▼                               Next: retries the waiters of dirty
//	            waiters (by age) ◀──────────────── spans, oldest first
//
// A request is grantable if, for each of its needs,
//
//   - no other transaction holds an incompatible mode there, and
//   - no older request waits for an incompatible mode there. This condition does not apply if the request
//     can join the running phase, is Instant, or belongs to a transaction that holds a lock on that span
//     (an upgrade does not queue).
//
// # Phases
//
// A phase is a set of compatible holders of one key. A request that is younger than an incompatible waiter
// can join it, so that reads are granted together with reads and adds with adds, until the phase has had
// MaxPhaseCount members or has lasted for MaxPhaseTime. Then the phase drains, and the oldest waiter opens
// the next one. The bound only stops requests that are younger than the oldest waiter.
//
// # Lazy wound-wait
//
// A waiting request wounds the younger holders of conflicting locks, immediately and then at a fixed
// interval, since the messages may be lost. A transaction that is granted a lock ahead of an older waiter is
// wounded too. The shard sends the wounds; a wounded transaction aborts when it next has to wait, or at its
// last agent if that has not decided. A holder that has prepared here is wounded only after the wound delay:
// its decision is usually in flight. So every lasting wait is of a younger transaction for an older one, or
// for one that is about to abort.
//
// Example. T1 is older than T2. T2 holds a, T1 holds b.
//
//	T1: acquire a      waits, and wounds T2
//	T2: acquire b      would wait for T1: T2 is wounded, so it aborts and releases a
//	T1:                is granted a
//
// If T2 does not request b, it completes in spite of the wound: hence "lazy".
//
// # User shares
//
// The time for which locks of a user's transactions block requests of other users is charged to that user
// (shares.go). When the share is used up, blocking locks are broken, and requests for lasting locks are
// rejected until the share has recovered.
//
// # Hazards
//
//   - A grant is identified by its number, not by its span and mode: a transaction may lose a lock and
//     acquire it again, with a write of another transaction in between. See Holds.
//   - After each call that can release or cancel something, the caller drains Next until it returns nil.
//
// Package exec acquires locks here for all pieces of the shard; package agent restores the locks of prepared
// transactions after a restart; the shard sends wounds and pushes.
package locktable
