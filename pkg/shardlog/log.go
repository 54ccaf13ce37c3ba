// Package shardlog is the log of one shard as its node sees it, and what waits for it.
//
//	step ──▶ Append: position p ──▶ Durable ≥ p: messages of the step leave
//	                            └─▶ Applied ≥ p: store reads of the step start
//
// It guarantees that the messages of a shard leave in the order of its steps, each when everything that
// the shard had appended by then is durable. A shard never waits for the entries of another one, even if
// both logs are in one file: a slow replica group must not hold back the others.
//
// Today one implementation exists, groupcommit.Log: the logs of a node's shards share the write-ahead log of
// its store. Every implementation has to pass the suite in shardlog/logtest (docs/decisions/0036-shard-logs.md).
//
// The package is pure. node and the cluster simulation (test/world) rely on it.
package shardlog

import "github.com/linchpindb/linchpin/pkg/entry"

// Position numbers the appends to the log of one shard incarnation, from 1. Zero is before all of them, and
// always durable and applied. Positions of different shards have no common order.
type Position uint64

// Log is the log of one incarnation of a shard. Append and Last are called by one goroutine at a time, and so
// are Durable and Applied; the two pairs may be called concurrently.
type Log interface {
	// Append adds entries behind all earlier ones and returns their position, Last+1. It does not wait. The
	// entries must not be changed until they are applied. They are applied in the order of positions, all
	// entries of a position at once.
	Append(entries []entry.Entry) Position
	// Last is the position of the last append.
	Last() Position
	// Durable is the position up to which no failure that the log tolerates can lose an entry. It never
	// decreases. What is lost in a failure is a suffix of the log.
	Durable() Position
	// Applied is the position up to which the store returns the rows. It never decreases. It may be ahead of
	// Durable, as in a store that applies what it has not synced, or behind it.
	Applied() Position
}
