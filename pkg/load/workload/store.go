package workload

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Store is what load is made on. Its methods are called by many goroutines at
// once. They may keep neither ops nor the bytes in it after they return.
//
// The error of a failed transaction is or wraps a *kv.Error, whose kind says
// whether the transaction may have been applied (OutcomeOf). The reply is of
// use also with an error, as far as it is filled in.
type Store interface {
	// Execute runs ops as a one-shot transaction.
	Execute(ctx context.Context, ops []Op) (Reply, error)
	// Transact runs ops as one interactive transaction: one after the other,
	// each sent when the one before was answered and its Pause is over. Each
	// attempt pauses anew.
	Transact(ctx context.Context, ops []Op) (Reply, error)
	// Scan calls each with the pairs of a range in the order of their keys,
	// all as they were at one moment after the call. It ends without an error
	// when there are no more or each returns false, and with one when ctx
	// ends. Pairs are the caller's to keep.
	Scan(ctx context.Context, r Range, each func(Pair) bool) error
}

// Range is what a scan looks at: the keys from Start up to but without End,
// Page pairs at a time, or as many as the store likes if that is 0.
type Range struct {
	Start, End []byte
	Page       int
}

// Pair is a key that a scan found, with what it holds.
type Pair struct {
	Key []byte
	Seen
}

// OpKind says what an operation does.
type OpKind uint8

const (
	// Read gives the value or number of Key.
	Read OpKind = iota
	// ReadForUpdate is Read of a key that the transaction will also write.
	ReadForUpdate
	// Write puts Value.
	Write
	// Add adds Delta to a counter; one that is absent starts at 0.
	Add
	// ScanRange looks at the pairs from Key up to but without End. Only the
	// transactions that a Recorder gets for scans have it.
	ScanRange
)

// Op is one operation.
type Op struct {
	Kind  OpKind
	Key   []byte
	Value []byte
	Delta int64
	End   []byte
	// Pause is how long Transact waits before it sends the operation: the
	// client thinks. Execute knows no pauses.
	Pause time.Duration
}

// IsRead reports whether o only looks.
func (o Op) IsRead() bool { return o.Kind == Read || o.Kind == ReadForUpdate }

// ReadOnlyOps reports whether ops change nothing.
func ReadOnlyOps(ops []Op) bool {
	for _, o := range ops {
		if !o.IsRead() {
			return false
		}
	}
	return true
}

// Seen is what a read saw. For other operations it is zero.
type Seen struct {
	// Found: the key exists.
	Found bool
	// IsNumber: it is a counter at Number. Else it is a register with Value.
	IsNumber bool
	Number   int64
	Value    []byte
}

// Reply is the response to a transaction.
type Reply struct {
	// ID is the transaction's name in the store; zero if it has none.
	ID kv.TxnID
	// Results has one element per operation, in order. It is empty when the
	// transaction committed and its results were lost.
	Results []Seen
	// Attempts counts the attempts, from 1; 0 means that it is not known.
	Attempts int
	// Aborts has the reason for which each attempt but the last was given up,
	// as far as it is known. The reasons are words of a small fixed set.
	Aborts []string
	// Pairs are those of a scan; with More there were others behind them, at
	// which was not looked, or which were not kept.
	Pairs []Pair
	More  bool
}

// Outcome is what is known of a transaction when its call has returned.
type Outcome uint8

const (
	// Committed: it was acknowledged.
	Committed Outcome = iota
	// Failed: it was certainly not applied.
	Failed
	// Unknown: it may have been applied, or may still be.
	Unknown
)

func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// OutcomeOf is the outcome of a transaction with this error. Only
// the kinds that promise "nothing was applied" are taken for a failure; an
// foreign error promises nothing.
func OutcomeOf(err error) Outcome {
	switch kv.KindOf(err) {
	case kv.KindOK, kv.KindResultsLost:
		return Committed
	case kv.KindInvalid, kv.KindWrongType, kv.KindConditionFailed, kv.KindOutOfRange, kv.KindAborted,
		kv.KindUnavailable, kv.KindResourceExhausted, kv.KindDeadlineExceeded, kv.KindCancelled, kv.KindNotFound,
		kv.KindUnauthenticated, kv.KindPermissionDenied,
		kv.KindClosed:
		return Failed
	}
	// Unknown itself; TooOld, which is also the response to a query that came too
	// late; Internal and Corrupt, after which no promise holds.
	return Unknown
}

// Recorder records what clients did, for a checker. Begin is called just
// before a transaction is sent, and the function it returned just after its
// answer came or was given up. Both are called by the client's goroutine.
type Recorder interface {
	Begin(txn Txn) func(Reply, Outcome)
}
