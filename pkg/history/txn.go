package history

import (
	"crypto/sha256"
	"math"
)

// Never is the end of a transaction that may still take effect at any time
// after its start: its outcome is unknown.
const Never = math.MaxInt64

// Outcome is what the client knows about the outcome of a transaction.
type Outcome uint8

const (
	// Committed: acknowledged. Every operation took effect, atomically, at
	// some instant between start and end.
	Committed Outcome = iota + 1
	// Failed: certainly not applied.
	Failed
	// Unknown: the response was lost. The transaction took effect at some instant after its start, or never. Its
	// operations are those that it has if it took effect. An operation whose result was lost is left out (a read) or
	// recorded without a result (an increment).
	Unknown
)

func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case Failed:
		return "failed"
	case Unknown:
		return "unknown"
	}
	return "invalid outcome"
}

// OpKind is the kind of an operation.
type OpKind uint8

const (
	// Read observes one key: Saw is SawAbsent, SawValue, SawNumber or
	// SawExists. A condition that held is a Read; a compare-and-set is a Read
	// and a Write.
	Read OpKind = iota + 1
	// Write puts Value, which is unique among the values written to the key.
	Write
	// Delete removes the key; Saw may be SawAbsent or SawExists, for the state before.
	Delete
	// Add adds Delta to a counter, an absent one counting as zero. With
	// SawNumber it returned the new sum, Number.
	Add
	// Scan observes the range [Key, End): Pairs sorted by key. Limit, if not zero, bounds the number of pairs; a scan that
	// returned that many observed the range only up to its last pair.
	Scan
	// DeleteRange removes the keys of [Key, End). With SawNumber it returned the number of removed keys, Number.
	DeleteRange
	opKindEnd
)

func (k OpKind) String() string {
	names := [opKindEnd]string{"invalid", "read", "write", "delete", "add", "scan", "delete-range"}
	if k < opKindEnd {
		return names[k]
	}
	return "invalid"
}

// Saw is what an operation observed.
type Saw uint8

const (
	// SawNothing: no observation was made, or its result was lost.
	SawNothing Saw = iota
	// SawAbsent: the key did not exist.
	SawAbsent
	// SawValue: a register with the operation's (or pair's) Value.
	SawValue
	// SawNumber: a counter with Number.
	SawNumber
	// SawExists: the key existed, with an unknown value.
	SawExists
	sawEnd
)

// Pair is one key that a scan returned, with SawValue or SawNumber.
type Pair struct {
	Key    string
	Saw    Saw
	Value  string
	Number int64
}

// Op is one operation of a transaction with its result. Keys are raw bytes; values are identities as made by Identity.
type Op struct {
	Kind OpKind
	Saw  Saw
	// Key is the key, or the beginning of a range.
	Key string
	// End is the end of a range, exclusive; empty stands for the last key, inclusive.
	End string
	// Value is the value that was written or read.
	Value string
	// Delta is what was added.
	Delta int64
	// Number is the counter, sum or count that was returned.
	Number int64
	// Limit bounds a scan; 0 is no bound.
	Limit int
	Pairs []Pair
}

// Txn is one transaction as its client observed it, over all its attempts.
type Txn struct {
	// Client is the number of its client. A client may have several transactions in flight.
	Client int
	// ID is opaque; it is used to name the transaction in explanations.
	ID string
	// Start and End are nanoseconds of one monotonic clock of the recording process: Start before the request was sent,
	// End after its response was received. End is Never if the outcome is Unknown.
	Start, End int64
	Outcome    Outcome
	Ops        []Op
}

// Meta is the metadata of a history.
type Meta struct {
	// Note is free text, such as the workload and the seed.
	Note string
	// InitialUnknown: keys may have had values before the first transaction. Otherwise every key is absent initially.
	InitialUnknown bool
}

// History is a set of transactions, in no particular order.
type History struct {
	Meta
	Txns []Txn
	// Incomplete: transactions may be missing, because the file was truncated. Then nothing is concluded from values
	// without a known writer.
	Incomplete bool
}

// verbatimBytes is the longest value that is its own identity: enough for a client, a count and a key in plain text.
const verbatimBytes = 48

// Identity returns the identity of a value: a short value itself, otherwise its beginning and a digest. Equal
// identities mean equal values, with the certainty of SHA-256.
func Identity(value []byte) string {
	if len(value) <= verbatimBytes {
		return string(value)
	}
	var b [digestBytes]byte
	putDigest(&b, value)
	return string(b[:])
}

// digestBytes is more than verbatimBytes, so that no digest equals a value.
const digestBytes = 17 + sha256.Size

func putDigest(b *[digestBytes]byte, value []byte) {
	copy(b[:], value[:digestBytes-sha256.Size])
	sum := sha256.Sum256(value)
	copy(b[digestBytes-sha256.Size:], sum[:])
}
