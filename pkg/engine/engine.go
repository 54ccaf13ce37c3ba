// Package engine stores the rows of a node's shards: one store per node with one write-ahead log, so that
// all shards share group commits.
//
// Two implementations fulfill one contract, which the suite in engine/enginetest tests: pebblestore on disk
// for production, and memstore for simulations, which can simulate a crash that loses everything that was
// not durable.
//
// # Guarantees
//
//  1. Append applies its groups as one atomic batch, entry by entry in order. When it returns, Read sees
//     them.
//  2. Batches become durable in the order of the positions that Append returned: if a position is durable,
//     so is every earlier one.
//  3. After a crash the store contains exactly a prefix of the appended batches, with every durable one.
//  4. Errors of Append and WaitDurable are final, since the content of the disk is unknown: the store must
//     not be used any more, and the process must end (docs/decisions/0003-engine.md).
//  5. Errors of reads concern one row: a row that cannot be read is KindCorrupt, and other rows remain
//     readable.
//
// # Limits of a read
//
//  1. ReadRange returns whole rows until it has Limit of them, or until the sum of keys and values reaches
//     LimitBytes; the row that reaches it is returned. Resume is kv.Next of the last returned key if
//     another live row of the span follows, else nil; with Reverse it is the last returned key.
//  2. ReadGarbage completes the current key. A key costs as many versions as were looked at: those of the
//     visible chain and one more, or all if older snapshots are kept. Resume is kv.Next of the last key
//     that was looked at if another key follows.
//  3. ReadPages does the same with user keys, each of which costs as many rows as it has pages.
//  4. ReadRows returns Limit rows, and Resume is kv.Next of the last key if another row follows.
//
// A limit of zero means unbounded. Repeating the read with Span.Start = Resume, or with Reverse Span.End =
// Resume, visits every row once and always ends.
//
// A ReadRange with a Turn may return earlier, with Yielded set, when it has looked at that many rows or for
// 2 ms. Resume is then after the last row that was looked at, and there may be no rows. What is visible at
// a CSN does not change, so consecutive turns (Turns) return the same rows as one read without turns.
//
// ReadKey has no limit: the writers of deltas ensure that a chain is not much larger than the value
// (docs/decisions/0016-deltas.md). A chain that starts with a delta is KindCorrupt.
package engine

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Position numbers the batches of an open store, from 1. Zero is always durable. Positions are not valid
// after a restart.
type Position uint64

// Engine is a store. Append is called by one goroutine at a time; the other methods are safe for concurrent
// use.
type Engine interface {
	// Append applies groups atomically and returns the batch's position. The entries' bytes may be reused when
	// it returns. A batch without entries has a position too.
	Append(groups []entry.Group) (Position, error)
	// WaitDurable returns when the batch at p and all earlier ones are durable. It may be called concurrently.
	// A position that Append has not returned is an error.
	WaitDurable(p Position) error
	// Read executes one read on the current state; versions above r.CSN are not visible. It may wait for the
	// disk.
	Read(shard kv.ShardID, r entry.Read) entry.ReadResult
	// Recover visits every row of a shard's RecoverTables, in the order of tables and keys. visit owns the
	// bytes. An error of visit ends it and is returned unchanged.
	Recover(shard kv.ShardID, visit func(entry.Table, entry.Row) error) error
	// ReadShard returns a reader of all rows of a shard as of now (R6.8).
	ReadShard(shard kv.ShardID) (ShardReader, error)
	// ReplaceShard begins to replace all rows of a shard. If blocks are damaged that have rows of this shard and of
	// others, it is KindCorrupt: these would be lost too.
	ReplaceShard(shard kv.ShardID) (ShardWriter, error)
	// Stats returns statistics since the store was opened.
	Stats() Stats
	// Close makes everything durable and closes the store.
	Close() error
}

// Stats are statistics of a store. All are monotonic except DiskBytes.
type Stats struct {
	// Appends counts batches, Entries their entries.
	Appends, Entries uint64
	// Syncs counts completed fsyncs of the log.
	Syncs uint64
	// DiskBytes is the current size of the store.
	DiskBytes uint64
}

// RecoverTables are the tables that Recover visits, in order.
func RecoverTables() []entry.Table {
	return []entry.Table{entry.TablePrepared, entry.TableRecord, entry.TableState, entry.TableFence, entry.TableSnapshot,
		entry.TableMoved,
		entry.TableHotRule, entry.TableRetention}
}
