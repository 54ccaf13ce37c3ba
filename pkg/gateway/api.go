package gateway

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Request is a one-shot transaction: everything is known at once.
type Request struct {
	// ID names the transaction; the zero id has one made.
	ID kv.TxnID
	// Ops are executed in order, all or none. Their Seq is filled in.
	Ops []msg.Op
	// Arrived is when it came, by Gateway.Now; 0 for just now. To ask for the
	// time is a system call, so who brings many requests asks once.
	Arrived int64
	// Deadline ends the request; zero is kv.MaxTxnAge from now.
	Deadline time.Time
	// Alone says that nothing else came with the request, so that to wait for
	// company would only cost time. It changes no outcome.
	Alone bool
	// How says how to read. Without a MaxResponse it is kv.MaxAnswerBytes.
	How txn.How
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
	// Own is for what the node itself wants to know, such as who its users are: it
	// is not refused when the gateway refuses what is new.
	Own bool
}

// Response is the outcome of a transaction.
type Response struct {
	ID       kv.TxnID
	Attempts int
	// Results has one element per operation, in order, when Err is nil.
	Results []msg.Result
	// Receipt tells where the transaction waited longest, zero if nowhere; or,
	// if it failed while it waited, there. Ended tells of the attempts that
	// others ended.
	Receipt msg.Receipt
	Ended   txn.Ended
	// ResultsLost: it committed, but the results are no longer known.
	ResultsLost bool
	// Aborts are the reasons for which the attempts before the last one were
	// given up.
	Aborts []msg.Reason
	// Plan is how a read-only transaction read, txn.PlanAny if it locked.
	Plan txn.Plan
	// Index and At are the indexes of shards that it saw, or made.
	Index msg.ShardCSN
	At    []msg.ShardCSN
	// Pin is the one it read at, nil if it read the present.
	Pin *msg.Snapshot
	// Current is what the key of a failed condition holds, if Err is of
	// KindConditionFailed; nil if that is not known.
	Current *msg.Pair
	// Err is nil when the transaction committed.
	Err *kv.Error
}

// Token is the state that the transaction saw, or made, as bytes; nil if none is
// known.
func (r *Response) Token() []byte {
	switch {
	case r.Index.Index == 0 && len(r.At) == 0:
		return nil
	case len(r.At) == 0:
		return vclock.EncodeOne(vclock.Entry{Shard: r.Index.Shard, Index: r.Index.Index})
	}
	c := msg.Clock(r.At)
	c.Raise(r.Index.Shard, r.Index.Index)
	return c.Encode()
}

// Failed is the error of a call that did not do what it should, with what others
// had to do with that.
type Failed struct {
	Err     *kv.Error
	Receipt msg.Receipt
	Ended   txn.Ended
}

func (f *Failed) Error() string { return f.Err.Error() }

func (f *Failed) Unwrap() error { return f.Err }

// failed is the response's error; nil if it has none.
func (r *Response) failed() error {
	if r.Err == nil {
		return nil
	}
	return &Failed{Err: r.Err, Receipt: r.Receipt, Ended: r.Ended}
}

// Outcome is the result of an outcome query.
type Outcome struct {
	ID        kv.TxnID
	Committed bool
	// Results are those of the transaction, unless lost.
	Results     []msg.Result
	ResultsLost bool
}

// TxOptions are chosen when an interactive transaction begins.
type TxOptions struct {
	// ID keeps a transaction's age over its retries; zero for a new one.
	ID kv.TxnID
	// Attempt counts the attempts of ID, from 1. A retry passes the failed
	// attempt's number plus one.
	Attempt uint32
	// ReadOnly refuses writes and commits without logging anything.
	ReadOnly bool
	// How says how to read; a state of the past is for ReadOnly alone.
	How txn.How
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
}

// ScanOptions narrow a scan.
type ScanOptions struct {
	Span kv.Span
	// Limit bounds the pairs in total; 0 is no bound.
	Limit int
	// Reverse begins with the last key.
	Reverse bool
	// How says how to read.
	How txn.How
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
	// Opened is told of the state before the first page, unless it is nil.
	Opened func(Opened) error
}

// Opened is the state that a scan reads.
type Opened struct {
	At []msg.ShardCSN
	// Pin is nil if it is the present.
	Pin *msg.Snapshot
	// Receipt and Ended tell of the waiting until then.
	Receipt msg.Receipt
	Ended   txn.Ended
}
