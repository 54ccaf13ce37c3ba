package gateway

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Request is a one-shot transaction: all operations are known.
type Request struct {
	// ID names the transaction; if it is zero, one is made.
	ID kv.TxnID
	// Ops are executed in order, all or none. Their Seq is filled in.
	Ops []msg.Op
	// Arrived is the time of arrival, by Gateway.Now; 0 for the current time. Reading the clock is a system
	// call, so a caller with many requests passes one reading.
	Arrived int64
	// Deadline ends the request; zero means kv.MaxTxnAge from now.
	Deadline time.Time
	// Alone: no other request has arrived with this one, so waiting to batch it with others would only add
	// latency. It affects no outcome.
	Alone bool
	// How is the read mode. MaxResponse defaults to kv.MaxAnswerBytes.
	How txn.TxnOptions
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
	// Internal is for reads by the node itself, such as those of the user list: they are accepted while the gateway
	// rejects new transactions.
	Internal bool
}

// Response is the outcome of a transaction.
type Response struct {
	ID       kv.TxnID
	Attempts int
	// Results has one element per operation, in order, if Err is nil.
	Results []msg.Result
	// Receipt is the longest wait of the transaction, zero if there was none; if it failed while it waited,
	// that wait. Ended describes the attempts that other transactions aborted.
	txn.Contention
	// ResultsLost: it committed, but the results are no longer known.
	ResultsLost bool
	// Aborts are the reasons for which the earlier attempts were aborted.
	Aborts []msg.Reason
	// Plan is the read plan of a read-only transaction, txn.PlanAny if it used locks.
	Plan txn.Plan
	// CSN and At are the CSNs of the shards that it read or wrote.
	CSN msg.ShardCSN
	At  []msg.ShardCSN
	// Snapshot is the snapshot that it read, nil if it read the present.
	Snapshot *msg.Snapshot
	// Current is the value of the key of a failed condition, if Err is of KindConditionFailed; nil if it is
	// unknown.
	Current *msg.Pair
	// Err is nil if the transaction committed.
	Err *kv.Error
}

// Token returns the causality token: the encoded state that the transaction read or wrote; nil if it is
// unknown.
func (r *Response) Token() []byte {
	switch {
	case r.CSN.CSN == 0 && len(r.At) == 0:
		return nil
	case len(r.At) == 0:
		return vclock.EncodeOne(vclock.Entry{Shard: r.CSN.Shard, CSN: r.CSN.CSN})
	}
	c := msg.Clock(r.At)
	c.Raise(r.CSN.Shard, r.CSN.CSN)
	return c.Encode()
}

// CallError is the error of a call, with the waits and aborts that contributed to it.
type CallError struct {
	Err *kv.Error
	txn.Contention
}

func (f *CallError) Error() string { return f.Err.Error() }

func (f *CallError) Unwrap() error { return f.Err }

// callError returns the response's error, nil if it has none.
func (r *Response) callError() error {
	if r.Err == nil {
		return nil
	}
	return &CallError{Err: r.Err, Contention: r.Contention}
}

// Outcome is the result of an outcome query.
type Outcome struct {
	ID        kv.TxnID
	Committed bool
	// Results are those of the transaction, unless they are lost.
	Results     []msg.Result
	ResultsLost bool
}

// TxOptions are the parameters of an interactive transaction.
type TxOptions struct {
	// ID keeps the age of a transaction across retries; zero for a new one.
	ID kv.TxnID
	// Attempt counts the attempts of ID, from 1. A retry passes the number of the failed attempt plus one.
	Attempt uint32
	// ReadOnly rejects writes, and commits without a log entry.
	ReadOnly bool
	// How is the read mode. Snapshots are for ReadOnly transactions only.
	How txn.TxnOptions
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
}

// ScanOptions are the parameters of a scan.
type ScanOptions struct {
	Span kv.Span
	// Limit bounds the total number of pairs; 0 means unbounded.
	Limit int
	// Reverse starts at the last key.
	Reverse bool
	// How is the read mode.
	How txn.TxnOptions
	// Parent is the caller's trace, if it has one.
	Parent trace.Parent
	// Opened is called with the state that is read, before the first page, unless it is nil.
	Opened func(Opened) error
}

// Opened is the state that a scan reads.
type Opened struct {
	At []msg.ShardCSN
	// Snapshot is the snapshot, nil if the scan reads the present.
	Snapshot *msg.Snapshot
	// Contention describes the waits until the state was fixed.
	txn.Contention
}
