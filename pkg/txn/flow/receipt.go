package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Contention is the longest wait of a transaction for others, and its attempts that others aborted.
type Contention struct {
	Receipt msg.Receipt
	Ended   Ended
}

// Ended describes the attempts of a transaction that other transactions ended.
type Ended struct {
	// Count is their number, Reason why the last of them ended.
	Count  uint32
	Reason msg.Reason
	// By is the transaction and the key of the last one's conflict, nil if it is not known.
	By *msg.Receipt
}

// Add counts an attempt if another transaction ended it.
func (e *Ended) Add(f *msg.Failure) {
	if f != nil && f.Reason.IsContention() {
		e.Count++
		e.Reason, e.By = f.Reason, f.Conflict
	}
}

// waitState is a wait on a shard that has not ended, by its last report.
type waitState struct {
	shard   kv.ShardID
	receipt msg.Receipt
}

// OnResponse: a shard has responded, with a receipt if r is not nil. A wait there is over.
func (c *Call) OnResponse(s kv.ShardID, r *msg.Receipt) {
	if c.openWait != nil && c.openWait.shard == s {
		c.openWait = nil
	}
	if r != nil {
		c.AddReceipt(r)
	}
}

// AddReceipt keeps the receipt of the longest wait.
//
// The longest wait is the one that the client can do something about; several waits are not added up.
func (c *Call) AddReceipt(r *msg.Receipt) {
	if r.WaitedNanos > c.txnReceipt.WaitedNanos {
		c.txnReceipt = *r
	}
	if r.WaitedNanos > c.reqReceipt.WaitedNanos {
		c.reqReceipt = *r
	}
}

// finalReceipt is the receipt of a call that ends with failure f, nil if it has succeeded. If the
// call fails while it waits, the receipt is of that wait, if a shard has reported it. If the
// deadline passed without any report, the receipt states at least the time.
func (c *Call) finalReceipt(now int64, f *msg.Failure) msg.Receipt {
	r := c.txnReceipt
	switch {
	// The wait that was reported last has ended, since the call has succeeded.
	case f == nil:
		r.Open = false
	// The call has failed while it waited: the client gets that wait, even if an earlier one was
	// longer and has ended.
	case c.openWait != nil:
		r = msg.Worst(r, c.openWait.receipt)
	case c.Kind.IsTransaction() && f.Kind == uint32(kv.KindDeadlineExceeded) && r.WaitedNanos == 0:
		r = msg.Receipt{WaitedNanos: now - c.started, Open: true}
	}
	return r
}

// OnWaitReport records a wait that has not ended. Of several shards the longest wait counts.
//
// A report arrives because the gateway has retried a request: the shard answers a copy of a waiting
// request with the time, the key and the transaction that blocks it.
func (c *Call) OnWaitReport(on kv.ShardID, r msg.Receipt) {
	if c.openWait == nil || c.openWait.shard == on || r.WaitedNanos > c.openWait.receipt.WaitedNanos {
		c.openWait = &waitState{on, r}
	}
}
