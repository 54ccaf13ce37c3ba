// Package kv defines the keys, identifiers, limits and error kinds that all other packages use. It
// imports only the standard library.
//
//   - A key is on exactly one shard, named by a [ShardID]. A shard counts the transactions that
//     became visible on it; the count is the commit sequence number, CSN ([CSN]).
//   - Each restart of a shard raises its [Incarnation]. All of its memory except the log is lost
//     with the previous one.
//   - A [TxnID] names a transaction with all its attempts, a [TxnRef] one attempt. An attempt
//     starts only when the previous one is known to be aborted, so at most one attempt of an id
//     commits.
//   - A [Version] names one write of one key, permanently: the shard of the write and its number
//     among the writes of that shard.
//   - An [Epoch] numbers the sealings of prepared updates on a shard. It begins with the shard's
//     incarnation, so none is used twice.
//
// Identifiers are encoded as fixed-size big-endian bytes on the wire and in stores. Encodings never
// change: see TestEncodingsAreStable.
package kv
