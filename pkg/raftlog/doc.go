// Package raftlog stores the logs of a node's replicas: all groups in one store, which is written and synced by one
// loop (R6.1, R6.2).
//
//	consensus ── Write ─▶ record ┐                              ┌▶ Written: messages leave
//	consensus ── Write ─▶ record ┼▶ Store.Write ─▶ WaitDurable ─┼▶ Written
//	truncation ─────────▶ record ┘   one batch       one fsync  └▶
//
// It guarantees:
//
//   - The records of one Write are stored together or not at all. What a crash loses is a suffix of the writes, and
//     nothing for which WaitDurable has returned.
//   - An entry that is returned is the one that was written: its checksum covers group, position, term and content
//     (R6.13). All entries are verified when a log is opened, and again when they are read from the store.
//   - Term, vote and commit index are never lost by a truncation (R6.6), and the commit index is in the record of
//     the entries that it came with (R6.7).
//   - A group never has a replica under a number that the node has had, or under a lower one (R7.17).
//
// An example. A follower has the entries 5 to 7 of term 2. The leader of term 3 sends another entry 6. The record
// with the new entry 6 deletes 7 and sets the term in one batch. If the process is stopped before the batch is
// durable, the log has 5 to 7 and term 2, and the follower has acknowledged nothing of term 3.
//
// The rows are in an engine.Engine of their own, because the batches of the shards' rows are applied without a log
// (R6.4): pebblestore on the disk, memstore in simulations. Each entry is a row of entry.TableLog, and each group has
// one row of entry.TableLogState. Both are in the write-ahead log once; the table files get only what is not truncated
// before a memtable is full (docs/decisions/0037-log-of-the-replicas.md).
//
// Three hazards. An error of Write or WaitDurable is final: what is on the disk is unknown, and the process must end
// (R6.3). A log that lacks acknowledged entries or a vote breaks consensus silently, so damage is an error that names
// the group and the position, and a damaged replica is replaced, never repaired. And a log must not be truncated
// beyond what the shard's store has flushed (R6.5): after a crash these rows would be in neither of the two.
package raftlog
