// Package entry is what a shard writes to its log and reads back from it.
//
// The log is a list of effects, not of commands: each Entry sets or removes
// one row, and replaying it is applying it. One Step of a shard yields some
// entries, which become durable together or not at all. Rows live in tables:
//
//	version   user key, index  -> Value      what was visible from that index on, or
//	                                         from a later one if nobody asks for those between;
//	                                         or Delta, the calls that made it of the one before;
//	                                         or a directory of pages, and patches of that (pages.go)
//	page      user key, number -> (elements) a part of a large value, which never changes
//	prepared  attempt          -> Prepared   a participant's intents and locks
//	record    attempt          -> Record     a commit that is not acknowledged by all
//	outcome   id               -> Outcome    committed or applied; dropped below the floor
//	fence     id               -> (empty)    no attempt will ever commit here; dropped below the floor
//	state     (none)           -> State      the shard's counters
//	pin       number           -> msg.Pin    a state of the whole store that is kept; the hot shard's only
//	moved     user key         -> Moved      a key that lives on the hot shard, away from its home
//	deadline  time, user key   -> (empty)    a key that is to be deleted then (deadline.go)
//
// A shard keeps in memory what it works on. What it misses it asks for with a
// Read, which is answered as of the index of the step that asked.
package entry

import "github.com/linchpindb/linchpin/pkg/kv"

// Table names a kind of rows. The numbers are part of stored keys.
type Table byte

const (
	TableVersion  Table = 1
	TablePrepared Table = 2
	TableRecord   Table = 3
	TableOutcome  Table = 4
	TableState    Table = 5
	TableFence    Table = 6
	TablePin      Table = 7
	TableMoved    Table = 8
	TableHotRule  Table = 9
	TablePage     Table = 10
	TableDeadline Table = 11
	// LastTable is the greatest number.
	LastTable = TableDeadline
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
	case TablePin:
		return "pin"
	case TableMoved:
		return "moved"
	case TableHotRule:
		return "hot-rule"
	case TablePage:
		return "page"
	case TableDeadline:
		return "deadline"
	}
	return "unknown"
}

// Action says what an Entry does.
type Action byte

const (
	// Set writes a row.
	Set Action = iota
	// Delete removes a row (for versions: the one at exactly Index).
	Delete
	// DeleteBelow removes, in the version table, all versions of Key with an
	// index below Index; in the other tables, all rows with keys below Key.
	DeleteBelow
)

func (a Action) String() string { return [...]string{"set", "delete", "delete-below"}[a] }

// Entry sets or removes rows of one table of one shard.
type Entry struct {
	Action Action
	Table  Table
	// Key is the user key, or the row's name: an encoded kv.TxnRef, an
	// encoded kv.TxnID, a PageKey, a DeadlineKey, or nothing.
	Key []byte
	// Index is used by the version table only.
	Index kv.Index
	// Value is the row, nil unless Action is Set.
	Value []byte
}

// Group is what one shard appends in one step.
type Group struct {
	Shard   kv.ShardID
	Entries []Entry
}

// ReadKind says what a Read looks for.
type ReadKind byte

const (
	// ReadKey is the newest version of Key at or below Index: a whole value, or
	// the deltas that made it, newest first, with the whole value that they begin
	// with at the end.
	ReadKey ReadKind = iota
	// ReadRange is the newest versions at or below Index of the keys in Span,
	// in order, or from the last on with Reverse, without tombstones, at most Limit
	// of them. Of a value that is stored as deltas it is only the newest of these.
	ReadRange
	// ReadRow is a row of a table other than version.
	ReadRow
	// ReadGarbage walks at most Limit versions of the keys in Span, in
	// order, and tells which keys have versions that nothing can see any
	// more: those below the newest whole one at or below Index, and that one too
	// when it is a tombstone; but not what is seen at one of Kept. A version is
	// seen up to the next whole one.
	ReadGarbage
	// ReadPages walks at most Limit rows of the page table whose keys are in Span,
	// in order, and tells which no version of their user key names, whether that
	// can be seen or not. It finishes the user key that it is at.
	ReadPages
	// ReadRows is the rows of a table other than version whose keys are in Span, in
	// order, at most Limit of them.
	ReadRows
)

// Read is a question that a shard cannot answer from memory.
type Read struct {
	// ID comes back in the result.
	ID    uint64
	Kind  ReadKind
	Table Table
	Key   []byte
	Span  kv.Span
	Index kv.Index
	// Kept are indexes below Index, in order, at which somebody reads; for
	// ReadGarbage.
	Kept  []kv.Index
	Limit int
	// Reverse is for ReadRange.
	Reverse bool
	// User is on whose behalf the row is read, 0 for the shard itself. Commit: a commit waits for it.
	User   kv.Account
	Commit bool
	// Short, of a ReadRange: if it takes long, the result may end before its limits.
	Short bool
	// Turn, of a ReadRange, bounds the rows looked at, deleted and invisible ones included, before the
	// read returns what it has (ReadResult.Yielded). 0 is no bound.
	Turn int
	// LimitBytes bounds the keys and values returned together, roughly: the
	// row that passes it is the last. 0 is no bound.
	LimitBytes int
}

// Row is one version, or one other row (then Index is 0).
type Row struct {
	Key   []byte
	Index kv.Index
	Value []byte
}

// Garbage is what ReadGarbage found for one key.
type Garbage struct {
	Key []byte
	// Below: the versions with an index below it can go; 0 for none.
	Below kv.Index
	// Versions can go as well, besides; newest first.
	Versions []kv.Index
	// Pages can go, in order; for ReadPages.
	Pages []uint64
}

// ReadResult answers a Read. Rows belong to the receiver.
type ReadResult struct {
	ID   uint64
	Kind ReadKind
	// Rows has at most one element for ReadRow. A tombstone is returned as a row
	// for ReadKey.
	Rows    []Row
	Garbage []Garbage
	// Resume is where to go on when a limit was met, nil when all was seen: the start
	// of the next span, or its end with Reverse.
	Resume []byte
	// Yielded: the turn is over (Read.Turn). Resume is behind the last row looked at.
	Yielded bool
	// Err is set when the store could not be read; it is a *kv.Error.
	Err error
	// Folded is what the reader has made of Rows already (shard.Fold), nil if that is left
	// to the shard.
	Folded any
}

// IsMove reports whether an effect is that of a move of a key.
func (m *Effect) IsMove() bool { return m.Kind == EffectMoveOut || m.Kind == EffectMoveIn }
