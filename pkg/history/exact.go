package history

import (
	"github.com/linchpindb/linchpin/pkg/kv"
)

// ExactHistory is what a simulator knows of a run: who saw which version, and
// in which order the versions of each key followed each other.
type ExactHistory struct {
	Txns []ExactTxn
	// Stored, unless nil, is what the store holds at the end: every version
	// of every key, oldest first, tombstones included. Then the Order of
	// writes is taken from it, and every write is accounted for: those of
	// committed transactions stand in it once, no others do.
	Stored map[string][]kv.Version
	// Final, unless nil, is the newest version of every key that has one.
	// It must be the last by Order.
	Final map[string]kv.Version
}

// ExactTxn is one transaction. One of unknown outcome counts as committed as
// soon as one of its writes has an Order, or was seen by a committed one.
type ExactTxn struct {
	// Label names it in explanations; empty is its place in Txns.
	Label  string
	Client int
	// Start and End are instants of one clock; End is Never when the client
	// got no answer. Of two transactions the one that ended before the
	// other started must come first; at equal instants they are concurrent.
	Start, End int64
	Outcome    Outcome
	// Reads and Scans are what it saw. Where it saw its own write, that says
	// nothing about the others; nor does the absence of a key that it deletes.
	Reads   []SeenVersion
	Scans   []SeenRange
	Answers []SeenAnswer
	Writes  []MadeVersion
}

// SeenVersion is what a read saw.
type SeenVersion struct {
	Key string
	// Version is the write that was seen. Zero means that the key did not
	// exist: it was never written, or deleted by whichever write fits. A
	// tombstone whose version is known may be named as well.
	Version kv.Version
}

// SeenRange is what a scan of [Start, End) saw; an empty End is to the last
// key. Keys in the range that Seen does not name did not exist. A scan that
// met its limit ends behind its last key: put that key and a zero byte in End.
type SeenRange struct {
	Start, End string
	Seen       []SeenVersion
}

// SeenAnswer is what a question about a part of a value saw. It does not say at
// which version that was, but that it was at one of some places.
type SeenAnswer struct {
	Key    string
	Places []Place
}

// Place is a run of versions of a key that give one answer.
type Place struct {
	// After are the versions up to the first of the run with each of which the
	// answer became another. Who was answered comes after all of them.
	After []kv.Version
	// Before is the one behind the run; zero if the run goes on to the end.
	Before kv.Version
}

// MadeVersion is one write. Of several writes by one transaction to one key,
// only the last gets an Order.
type MadeVersion struct {
	Key     string
	Version kv.Version
	// Order places the version among those of its key: any positive number,
	// larger for later ones. Zero is a write that never became visible.
	Order int64
	// Deleted marks a tombstone.
	Deleted bool
	// Commutes marks an increment that returned nothing: its order among
	// neighbouring increments is no dependency. An increment that returned
	// its sum is a read of the version before and a plain write.
	Commutes bool
	// Behind are some earlier versions of the key with which this one does not
	// commute, although it Commutes with others of its run.
	Behind []kv.Version
}

// ExactJudge decides strict serializability where nothing has to be guessed.
// It builds the full dependency graph: for every key the writes in their
// order (ww), the readers after the version they saw (wr) and before the next
// (rw), with absence from a range being a read like any other; and looks for
// cycles and for paths against real time. A run of commuting increments is
// unordered within, but for those of which it is said that they do not commute,
// after the write before it and before the write behind it. An answer is a read of
// the versions that it depends on.
//
// What may be left open is which of several tombstones an absent key was seen
// at, and at which of several places an answer was given; that is inferred, or searched within a budget.
// Without that, Exact is always true of an accepted history.
func ExactJudge(h ExactHistory) Verdict {
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

// exactWrite is a MadeVersion in the judge's numbers.
type exactWrite struct {
	MadeVersion
	txn  int32
	key  int32
	rank int // its place in its key's chain from 1; 0 is not visible
}

// exactRead is a read that counts.
type exactRead struct {
	txn, key int32
	rank     int // of the version seen; 0 is before the first
	ranged   bool
	// gaps, for an absence, are the ranks that fit, when not yet one; for an
	// answer the numbers of the places that do.
	gaps   []int
	places []Place // for an answer
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
