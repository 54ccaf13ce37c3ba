// Package entry is the content of a shard's log.
//
// The log contains effects, not commands: an Entry sets or deletes one row, and replay applies entries in order. The
// entries of one step of a shard become durable together or not at all. Rows are in tables:
//
//	version   user key, CSN    -> Value      visible from this CSN on, or from a later one if none between is needed;
//	                                         or a Delta, the calls that made it from the preceding one;
//	                                         or a directory of pages, or a patch of it (pages.go)
//	page      user key, number -> (elements) a part of a large value, immutable
//	prepared  attempt          -> Prepared   a participant's intents and locks
//	record    attempt          -> Record     a commit that not all participants have acknowledged
//	outcome   id               -> Outcome    committed or applied; deleted below the low watermark
//	fence     id               -> (empty)    this shard never commits the id; deleted below the low watermark
//	state     (none)           -> State      the shard's counters
//	snapshot  number           -> Snapshot   a retained snapshot; on the hot shard only
//	moved     user key         -> Moved      a key on the hot shard with another home shard
//	deadline  time, user key   -> Deadline   a key to be deleted at that time (deadline.go)
//	retention (none)           -> Retention  by which CSNs versions were collected; with several replicas only
//	replica   (none)           -> Replica    how far the rows of a replica are, set in the same batch as they
//
// The store of a node's replica logs (package raftlog) has two tables of its own:
//
//	log       position         -> (entry)    an entry of the group's log
//	log-state (none)           -> (state)    term, vote, commit index, and the ends of the log
//
// For example, transaction T adds 1 to k on a participant. The prepare step sets prepared/T with the effect, and the
// step that applies the decision deletes it and sets version/k at the new CSN and outcome/T:
//
//	step 1: Set prepared/T
//	step 2: Delete prepared/T, Set version/k at 18, Set outcome/T, Set state
//
// A shard has its working set in memory. For anything else it returns a Read, which is executed at the CSN
// of that step.
package entry

import "github.com/linchpindb/linchpin/pkg/kv"

// Table is a kind of rows. The numbers are part of stored keys.
type Table byte

const (
	TableVersion   Table = 1
	TablePrepared  Table = 2
	TableRecord    Table = 3
	TableOutcome   Table = 4
	TableState     Table = 5
	TableFence     Table = 6
	TableSnapshot  Table = 7
	TableMoved     Table = 8
	TableHotRule   Table = 9
	TablePage      Table = 10
	TableDeadline  Table = 11
	TableReplica   Table = 12
	TableLog       Table = 13
	TableLogState  Table = 14
	TableRetention Table = 15
	// LastTable is the largest number.
	LastTable = TableRetention
)

func (t Table) String() string {
	switch t {
	case TableVersion:
		return "version"
	case TablePrepared:
		return "prepared"
	case TableRecord:
		return "record"
	case TableOutcome:
		return "outcome"
	case TableState:
		return "state"
	case TableFence:
		return "fence"
	case TableSnapshot:
		return "snapshot"
	case TableMoved:
		return "moved"
	case TableHotRule:
		return "hot-rule"
	case TablePage:
		return "page"
	case TableDeadline:
		return "deadline"
	case TableReplica:
		return "replica"
	case TableLog:
		return "log"
	case TableLogState:
		return "log-state"
	case TableRetention:
		return "retention"
	}
	return "unknown"
}

// Action is the kind of an Entry.
type Action byte

const (
	// Set sets a row.
	Set Action = iota
	// Delete deletes a row (of versions: the one at exactly CSN).
	Delete
	// DeleteBelow deletes, in the version table, all versions of Key below CSN; in the other tables, all rows with
	// keys below Key.
	DeleteBelow
)

func (a Action) String() string { return [...]string{"set", "delete", "delete-below"}[a] }

// Entry sets or deletes rows of one table of one shard.
type Entry struct {
	Action Action
	Table  Table
	// Key is the user key, or the name of the row: an encoded kv.TxnRef or kv.TxnID, a PageKey, a DeadlineKey,
	// or empty.
	Key []byte
	// CSN is for the version table only.
	CSN kv.CSN
	// Value is the row; nil unless Action is Set.
	Value []byte
}

// Group is the entries of one step of a shard.
type Group struct {
	Shard   kv.ShardID
	Entries []Entry
}

// ReadKind is the kind of a Read.
type ReadKind byte

const (
	// ReadKey returns the newest version of Key at or below CSN: a whole value, or the deltas that made it, the newest
	// first, followed by the whole value before them.
	ReadKey ReadKind = iota
	// ReadRange returns the newest versions at or below CSN of at most Limit keys in Span, in order (with Reverse:
	// from the end), without tombstones. Of a value stored as deltas it returns the newest delta only.
	ReadRange
	// ReadRow returns a row of a table other than version.
	ReadRow
	// ReadGarbage examines at most Limit versions of the keys in Span, in order, and returns the invisible ones: those
	// below the newest whole one at or below CSN, and that one if it is a tombstone, but not what is visible at one of
	// Retained. A version is visible up to the next whole one.
	ReadGarbage
	// ReadPages examines at most Limit rows of the page table with keys in Span, in order, and returns the pages that no
	// version of their user key names, visible or not. It completes the last user key.
	ReadPages
	// ReadRows returns at most Limit rows of a table other than version with keys in Span, in order.
	ReadRows
)

// Read is a read of the store that a shard needs because something is not in memory.
type Read struct {
	// ID is returned in the result.
	ID    uint64
	Kind  ReadKind
	Table Table
	Key   []byte
	Span  kv.Span
	CSN   kv.CSN
	// Retained, for ReadGarbage, are retained CSNs below CSN, in order.
	Retained []kv.CSN
	Limit    int
	// Reverse is for ReadRange.
	Reverse bool
	// User is the user of the request that reads the row, 0 for the shard itself. Commit: a commit waits for the result.
	User   kv.Account
	Commit bool
	// Short, of a ReadRange: if it takes long, it may end before its limits.
	Short bool
	// Turn, of a ReadRange, bounds the rows examined, deleted and invisible ones included, before it returns what it has
	// (ReadResult.Yielded). 0 is no bound.
	Turn int
	// LimitBytes bounds the total size of the keys and values returned: the row that exceeds it is the last one. 0 is no
	// bound.
	LimitBytes int
}

// Row is a version, or a row of another table (CSN is 0).
type Row struct {
	Key   []byte
	CSN   kv.CSN
	Value []byte
}

// Garbage is what ReadGarbage or ReadPages has found for one key.
type Garbage struct {
	Key []byte
	// Below: the versions below this CSN can be deleted; 0 for none.
	Below kv.CSN
	// Versions can be deleted in addition; the newest first.
	Versions []kv.CSN
	// Pages can be deleted, in order; for ReadPages.
	Pages []uint64
}

// ReadResult is the result of a Read. Rows belong to the receiver.
type ReadResult struct {
	ID   uint64
	Kind ReadKind
	// Rows has at most one element for ReadRow. ReadKey returns a tombstone as a row.
	Rows    []Row
	Garbage []Garbage
	// Resume is the start of the next span (with Reverse: its end) if a limit was reached; else nil.
	Resume []byte
	// Yielded: the turn is over (Read.Turn). Resume follows the last row examined.
	Yielded bool
	// Err is set if the store could not be read. It is a *kv.Error.
	Err error
	// Folded is what the reader has made of Rows already (shard.Fold); nil if the shard has to do that.
	Folded any
}

// IsMove reports whether an effect is part of a move of a key.
func (m *Effect) IsMove() bool { return m.Kind == EffectMoveOut || m.Kind == EffectMoveIn }
