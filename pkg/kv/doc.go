// Package kv defines the keys, identifiers, limits and error kinds that all other packages use. It
// imports only the standard library.
//
//   - A Key lives on exactly one shard, named by a ShardID. A shard counts the
//     transactions that have become visible on it; the count is an Index.
//   - Every restart of a shard raises its Incarnation. All of a shard's memory
//     but its log is lost with the old incarnation.
//   - A TxnID names a transaction over all its attempts; a TxnRef names one
//     attempt. An attempt starts only when the one before is known to be
//     aborted, so at most one attempt of an id ever commits.
//   - A Version names one write of one key, for ever: the shard on which it
//     was first written and its number among the writes of that shard.
//   - An Epoch numbers the times a prepared participant sealed itself against
//     readers. It begins with the shard's incarnation, so none is used twice.
package kv
