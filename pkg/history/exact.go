package history

import (
	"github.com/linchpindb/linchpin/pkg/kv"
)

// ExactHistory is a run as a simulator knows it: which transaction read and wrote which version, and the order of the
// versions of each key.
type ExactHistory struct {
	Txns []ExactTxn
	// Stored, unless nil, is the final content of the store: every version of every key, oldest first, tombstones
	// included. Then the Order of writes is taken from it, and the writes are compared with it: those of committed
	// transactions are in it once, and no others are.
	Stored map[string][]kv.Version
	// Final, unless nil, is the newest version of every key that has one. It must be the last by Order.
	Final map[string]kv.Version
}

// ExactTxn is one transaction. One of unknown outcome counts as committed as soon as one of its writes has an Order, or
// was read by a committed transaction.
type ExactTxn struct {
	// Label names it in explanations; empty for its position in Txns.
	Label  string
	Client int
	// Start and End are instants of one clock; End is Never if the client received no response. If one transaction ends
	// before another starts, it precedes it; at equal instants they are concurrent.
	Start, End int64
	Outcome    Outcome
	// Reads and Scans are what it read. A read of its own write implies nothing about other transactions; nor does the
	// absence of a key that it deletes.
	Reads   []SeenVersion
	Scans   []SeenRange
	Results []SeenResult
	Writes  []MadeVersion
}

// SeenVersion is the version that a read returned.
type SeenVersion struct {
	Key string
	// Version is the write that was read. Zero means that the key was absent: it was never written, or deleted by any
	// write that fits. A tombstone of known version may be given as well.
	Version kv.Version
}

// SeenRange is what a scan of [Start, End) returned; an empty End stands for the last key. Keys of the range that are
// not in Seen were absent. A scan that reached its limit ends after its last key: End is that key and a zero byte.
type SeenRange struct {
	Start, End string
	Seen       []SeenVersion
}

// SeenResult is the result of a query of a part of a value. The version at which it was executed is not known, only a
// list of possible positions.
type SeenResult struct {
	Key       string
	Positions []Position
}

// Position is a run of versions of a key with the same result.
type Position struct {
	// After lists the versions up to the first of the run that each changed the result. The transaction follows all of
	// them.
	After []kv.Version
	// Before is the version after the run; zero if the run extends to the end.
	Before kv.Version
}

// MadeVersion is one write. If a transaction writes a key several times, only the last write gets an Order.
type MadeVersion struct {
	Key     string
	Version kv.Version
	// Order is the position of the version among those of its key: any positive number, larger for later versions. Zero is
	// a write that never became visible.
	Order int64
	// Deleted marks a tombstone.
	Deleted bool
	// Commutes marks an increment without a result: its order among neighbouring increments is no dependency. An increment
	// that returned its sum is a read of the version before, and a plain write.
	Commutes bool
	// Behind lists earlier versions of the key with which this one does not commute, although it Commutes with others of
	// its run.
	Behind []kv.Version
}

// CheckExact decides strict serializability when the order of versions is known. It builds the complete dependency
// graph: for every key the writes in their order (ww), and each reader after the version that it read (wr) and before
// the next one (rw). Absence from a range is a read like any other. Then it searches for cycles, and for paths against
// real time. A run of commuting increments has no internal order, except between those that do not commute with each
// other; it follows the write before it and precedes the write after it. A result is a read of the versions that it
// depends on.
//
// Two things may be open: which of several tombstones an absence refers to, and at which of several positions a result
// was returned. These are inferred, or searched within a budget. If nothing is open, Exact is always true for an
// accepted history.
func CheckExact(h ExactHistory) Verdict {
	x := &exact{h: h, keys: map[string]int32{}, versions: map[versionKey]int32{}}
	x.intern()
	x.orderWrites()
	x.checkStored()
	x.bindReads()
	if x.verdict.OK() {
		x.decide()
	}
	x.verdict.Txns, x.verdict.Keys = len(x.g.start), len(x.names)
	x.verdict.Edges = len(x.g.edges)
	return x.verdict
}

type versionKey struct {
	key     int32
	version kv.Version
}

// exactWrite is a MadeVersion in the checker's numbers.
type exactWrite struct {
	MadeVersion
	txn  int32
	key  int32
	rank int // position in its key's chain, from 1; 0 is not visible
}

// exactRead is a read that implies dependencies.
type exactRead struct {
	txn, key int32
	rank     int // of the version that was read; 0 is before the first
	ranged   bool
	// gaps lists, for an absence, the possible ranks, while there are several; for a result the numbers of the possible
	// positions.
	gaps      []int
	positions []Position // for a result
}

type exact struct {
	h        ExactHistory
	keys     map[string]int32
	names    []string
	sorted   []string // names in order, for scans
	writes   []exactWrite
	versions map[versionKey]int32 // to writes
	chains   [][]int32            // per key, visible writes in order
	live     []bool               // committed, or unknown and visible
	reads    []exactRead
	g        *graph
	verdict  Verdict
}

func (x *exact) key(name string) int32 {
	k, ok := x.keys[name]
	if !ok {
		k = int32(len(x.names))
		x.keys[name] = k
		x.names = append(x.names, name)
		x.chains = append(x.chains, nil)
	}
	return k
}
