// Package users says who may do what: users, their tokens, and what they are
// granted.
//
// # Authentication
//
// A user has a name. It shows who it is by a certificate with that name, or by a
// token: 32 random bytes, of which the table keeps a hash only. A hash that is
// made in no time is enough: 2^256 tokens cannot be tried, while passwords
// would have to be stretched. Two names are reserved: Root is the
// administrator who needs no entry in the table, by certificate alone, so that
// there is a first user and always a last one; Node is what the nodes' own
// certificates say.
//
// # What a user may do
//
//	Admin    everything
//	Monitor  look at the cluster: shards, hot keys, metrics, which names keys
//	Grants   read, or write, the keys with a prefix
//
// To write includes to read. Responses to writes show what is there: a condition
// that does not hold, a counter of another type, how many keys a range had. A
// permission to write and not to read would promise what it cannot keep. To read
// "for update" takes the lock of a writer, and so needs to write.
//
// A range needs to be granted as a whole. Several grants may cover it together.
// Permissions are checked before the key is read, so that a refusal is the
// same whether the key exists or not.
//
// # The table
//
// All users are one value under one key (TableKey), which is among the keys that
// clients cannot name. A change is a compare-and-set of the whole: two
// administrators cannot undo each other, and a node that has read it once knows
// all. A Table does not change; With and Without make others.
//
// The package is a value and functions: time and random bytes are arguments.
package users
