// Package engine keeps the rows of a node's shards: one store per node and
// one write-ahead log, so that all shards share a group commit.
//
// Two implementations keep one contract, which the suite in
// engine/enginetest holds them to: pebblestore on disk for real use, and
// memstore for simulations, which can crash and forget what was not durable.
//
// # What is promised
//
// Append applies its groups as one atomic batch, entry by entry in order.
// When it returns, Read sees them; they become durable later and in the order
// of the positions that Append returned: if a position is durable, so is
// every earlier one, and after a crash the store holds exactly a prefix of
// the appended batches that contains every durable one.
//
// Errors of Append and WaitDurable are final: the store is not to be used any
// more, since what the disk holds is unknown. The process must end
// (docs/decisions/0003-engine.md). Errors of reads are not: a row that cannot
// be read is KindCorrupt and says nothing about the others.
//
// # How limits cut a read
//
// ReadRange returns whole rows until it has Limit of them or until the row
// that brings keys and values together to LimitBytes; that row is returned.
// Resume is then kv.Next of the last key returned if another live row of the
// span follows, and nil if none does; with Reverse it is the last key returned.
// ReadGarbage finishes the key it is at:
// a key costs as many versions as it looked at (those of the visible chain and
// one more, or all if indexes are kept), and Resume is kv.Next of the last key
// looked at if any key follows. ReadPages does so with user keys, each of which
// costs as many rows as it has pages. ReadRows returns Limit rows, and Resume is
// kv.Next of the last one's key if another follows. A limit of zero is no bound. Calling again with
// Span.Start = Resume, or Span.End with Reverse, therefore visits everything once
// and always ends.
//
// A ReadRange with a Turn returns earlier, when it has looked at so many rows, or
// for 2 ms: Yielded. Resume is then behind the last row looked at, and no row need
// have been found. What an index sees does not change, so that turns one after the
// other (Turns) read what one read without turns reads.
//
// ReadKey has no limit: who writes deltas sees to it that a chain is not much
// larger than the value (docs/decisions/0016-deltas.md). One that begins with a
// delta is KindCorrupt.
package engine

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Position numbers the batches of a store's life, from 1. Zero is durable
// from the start. Positions mean nothing to a store that is opened anew.
type Position uint64

// Engine is a store. Append is called by one goroutine at a time; the other
// methods by any.
type Engine interface {
	// Append applies groups atomically and returns the batch's position.
	// The entries' bytes may be used again when it returns. A batch without
	// entries has a position too.
	Append(groups []entry.Group) (Position, error)
	// WaitDurable returns when the batch at p and all before it are durable.
	// Any number of goroutines may wait. A position that was never returned
	// by Append is an error.
	WaitDurable(p Position) error
	// Read answers one question from the state as it is now; versions above
	// r.Index are not seen. It may be slow: it can wait for the disk.
	Read(shard kv.ShardID, r entry.Read) entry.ReadResult
	// Recover visits every row of a shard's RecoverTables, in the order of
	// tables and keys. The bytes belong to visit. An error of visit ends it
	// and is returned as it is.
	Recover(shard kv.ShardID, visit func(entry.Table, entry.Row) error) error
	// Stats tells what the store did since it was opened.
	Stats() Stats
	// Close makes everything appended durable and gives the store up.
	Close() error
}

// Stats counts what a store did. All counts rise only, except DiskBytes.
type Stats struct {
	// Appends counts batches, Entries what they contained.
	Appends, Entries uint64
	// Syncs counts completed fsyncs of the log.
	Syncs uint64
	// DiskBytes is the store's size now.
	DiskBytes uint64
}

// RecoverTables are the tables that Recover visits, in order.
func RecoverTables() []entry.Table {
	return []entry.Table{entry.TablePrepared, entry.TableRecord, entry.TableState, entry.TableFence, entry.TablePin, entry.TableMoved,
		entry.TableHotRule}
}
