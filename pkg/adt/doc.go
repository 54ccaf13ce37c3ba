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
// transactional boosting; Holt 2016, chapter 4, builds Claret on it). The
// relation between modes is one small table, Compatible; the lock table and
// the executor know nothing else about types.
//
// A value is of one Type: a register holds bytes, a counter a signed number
// of 64 bits. The type belongs to the value, not to the key: the operation
// that makes a key decides it, an operation of another type fails with
// WrongType, and deleting the key frees it.
//
// What an operation returns must be true in the serial order. An operation
// that returns something of the state therefore needs a mode that conflicts
// with whatever changes it: an increment that returns the sum is a write.
package adt
