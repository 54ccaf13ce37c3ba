// Package adt is linchpin's data types: what a value is, which operations it
// has, and which of them commute.
//
// Begin with one mutex around the whole store: nothing goes wrong and nothing
// goes together. Give each key a lock of its own, and transactions on
// different keys go together. Split the lock into reading and writing, and
// readers of one key go together. That is where most stores stop, and where a
// counter that everyone increments stays a queue of one.
//
// Two increments do not mind each other's order: the state afterwards is the
// same, and neither saw it. So there is a third mode, add, which goes with
// itself and not with reading or writing (Herlihy and Koskinen call this
// transactional boosting; Holt 2016, chapter 4, builds Claret on it). For
// values and counters, and for what goes for any key, the relation between
// modes is one small table (Compatible).
//
// Other data types bring their own. A type is a declaration (Spec): values, which
// are never changed but replaced; methods; kinds of lock; and which kinds go
// together, always or for different parts of the value, as two members of a set.
// From that follows a Mode: type, kind, and a hash of the part. What a call needs
// may depend on what the key holds, so a method can plan it (MethodSpec.Plan): by
// the value, and by what others have prepared and may yet give up. A plan is made
// before locks are asked for, and again under them; only the second one counts.
//
//	Declare, Install    make a type, and known to the program
//	Request.Plan        what a call needs, changes and answers
//	Apply               changes, when they become visible
//	check.Type          tries to refute what a declaration says of its methods
//
// The lock table, the snapshot-queues, the executor and the log know types by
// number, and ask here.
//
// A value is of one type, which belongs to it, not to the key: the operation that
// makes a key decides it, an operation of another type fails with WrongType, and
// deleting the key frees it.
//
// What an operation returns must be true in the serial order. An operation
// that returns something of the state therefore needs a mode that conflicts
// with whatever changes it: an increment that returns the sum is a write.
package adt
