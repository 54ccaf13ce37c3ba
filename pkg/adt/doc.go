// Package adt defines linchpin's data types: what a value is, which methods it has, and which of
// them commute.
//
// # Lock modes
//
// With exclusive locks, transactions on different keys run concurrently. With shared and exclusive
// locks, readers of one key do, too. A counter that every transaction increments would still be a
// queue of one, so there is a third mode, *add*. Two increments commute: the final value is the
// same in either order, and neither returns the value. Add is therefore compatible with itself, and
// with neither read nor write (transactional boosting, Herlihy and Koskinen; Holt 2016, chapter 4,
// builds Claret on it). [Compatible] is the relation for values, counters and operations on keys of
// any type.
//
// Other data types declare their own relation. A declaration ([Spec]) has immutable values,
// methods, kinds of lock, and which kinds commute: always, or for different parts of the value,
// such as two members of a set. A [Mode] is the type, the kind and a hash of the part.
//
// # Lock plans
//
// The lock that a call needs may depend on the value, so a method can plan it ([MethodSpec].Plan)
// from the value and from the undecided calls of other transactions. Example, for the set s = {a}:
//
//	T1: add s b        plan: b is new, lock add(b)
//	T2: contains s a   plan: a is present, lock present(a): compatible, T2 does not wait
//	T3: add-count s b  plan: lock insert(b), incompatible with add(b): waits for T1, then
//	                   plans again on {a, b}: nothing is new, lock present(b), answer 0
//
// A plan is made before locks are requested and again under the locks. Only the second plan counts.
//
//	Declare, Install    make a type; make it known to the program
//	Request.Plan        lock, changes and answer of a call
//	Apply               execute the changes when they become visible
//	check.Type          search for a counterexample to a declaration
//
// # Example
//
// The set "online" is {a}. T1 executes "add b", T2 "contains a", T3 "len":
//
//	T1: plan {add(b)}; granted, and prepared: {a} is visible, "add b" is undecided
//	T2: plan {present(a)}: compatible with add(b). T2 answers true, and commits before or after T1.
//	T3: plan {all}: not compatible with add(b). T3 waits, then plans again on {a, b}, and answers 2.
//	T1: commits: "add b" is applied to the set that is visible then
//
// # Registers and counters
//
// Values and counters ([Value], [Counter]) have operations, lock modes and effects of their own in messages and in
// the log (OpPut, OpAdd, ModeAdd, EffectAdd), which are older than declared types. They are declared here only for
// calls by name (named.go). A declaration in their place would change stored rows and peers' messages, and cost each
// put and add the decoding and the plan that they do without.
//
// # Guarantees
//
//  1. What an operation returns is true in the serial order. An operation that returns part of the state
//     needs a mode that conflicts with every change of that part: an increment that returns the sum is a write.
//  2. A change that was planned under its lock does not fail when it becomes visible, whichever of the other
//     transactions with compatible locks commit before it.
//  3. A value has one type, set by the operation that creates the key. Operations of other types fail with
//     WrongType. Deleting the key removes the type.
//
// # Hazards
//
//   - Numbers of types, methods, kinds and modes, the hash of a part, and stored forms are in logs and
//     messages. They never change and are never reused.
//   - Values are shared between versions and goroutines: a method returns a new value and changes none.
//
// # Units and limits
//
//	value            bytes, at most kv.MaxValueBytes (1 MiB)
//	counter          -2^63 to 2^63-1; an increment beyond fails with OutOfRange
//	bounded counter  the same, between a floor and a ceiling; increments from 1
//	set, map,        members and fields at most MaxMemberBytes (64 KiB), values of fields at most kv.MaxValueBytes,
//	sorted set       all together, as stored, at most kv.MaxStateBytes (8 MiB)
//	scores, summary  decimals in millionths, -9.2e12 to 9.2e12; returned as the nearest double
//	top-k            TopKeeps members (100), each at most TopMemberBytes; scores are doubles
//	list             values at most kv.MaxValueBytes, all together at most kv.MaxStateBytes
//	ids              16 bytes each, at most MaxIDs (1000) in one call
//	locks            at most MaxLockedParts parts (16) of a call; above, it locks the whole value
//
// Concurrent calls may exceed the limit of a whole value slightly: each is checked against the value that is visible.
//
// # Sources
//
// Most ideas are those of Claret (B. Holt's dissertation, 2016, chapters 3 to 5; the types are those of its table 4.1,
// the relation of sets that of table 4.2). There, each type has code that compares a call with the holders of locks.
// Here a type declares a relation, which can be checked for all pairs, printed, stored as a number in the log, and
// used by readers and receipts as well (decision 0015). That a lock conflicts only with operations that do not commute
// is transactional boosting (Herlihy and Koskinen 2008); bounded counters are escrow (O'Neil 1986). docs/divergence.md
// lists the differences.
//
// # Who relies on it
//
// Packages shard/locktable and snapshotqueue rely on [Compatible]; shard/exec and mvcc on plans that stay true under
// their locks; shard/store on stored forms; the receipts of waits on [Methods] and the advice derived from it.
// Package check searches for counterexamples to all declarations, users' types included. The lock table, the
// snapshot-queues, the executor and the log know types by number and call this package.
package adt
