package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Ended tells of the attempts of a transaction that other transactions ended.
type Ended struct {
	// Count is how many there were, Reason why the last of them ended.
	Count  uint32
	Reason msg.Reason
	// By is the transaction for which the last ended, and the key; nil if it is not known.
	By *msg.Receipt
}

// Note counts an attempt if another transaction ended it.
func (e *Ended) Add(f *msg.Failure) {
	if f != nil && f.Reason.Contention() {
		e.Count++
		e.Reason, e.By = f.Reason, f.Conflict
	}
}

// waits is what a shard has reported of a wait that was not over.
type waitState struct {
	shard   kv.ShardID
	receipt msg.Receipt
}

// Heard: a shard has answered, with a receipt if it is not nil. The wait there is over.
func (c *Call) OnResponse(s kv.ShardID, r *msg.Receipt) {
	if c.openWait != nil && c.openWait.shard == s {
		c.openWait = nil
	}
	if r != nil {
		c.AddReceipt(r)
	}
}

// Longest keeps a receipt if it is of the longest wait so far.
func (c *Call) AddReceipt(r *msg.Receipt) {
	if r.WaitedNanos > c.txnReceipt.WaitedNanos {
		c.txnReceipt = *r
	}
	if r.WaitedNanos > c.reqReceipt.WaitedNanos {
		c.reqReceipt = *r
	}
}

// waited is the receipt of a call that ends. One that fails reports what it waited for when it
// did, if a shard has reported that; a transaction that was too late and has no report of a
// wait reports at least that.
func (c *Call) finalReceipt(now int64, f *msg.Failure) msg.Receipt {
	r := c.txnReceipt
	switch {
	case f == nil:
		r.Open = false
	case c.openWait != nil:
		r = msg.Worst(r, c.openWait.receipt)
	case c.Kind.IsTransaction() && f.Kind == uint32(kv.KindDeadlineExceeded) && r.WaitedNanos == 0:
		r = msg.Receipt{WaitedNanos: now - c.started, Open: true}
	}
	return r
}

// Waiting takes what a shard reports of a wait that is not over.
func (c *Call) OnWaitReport(on kv.ShardID, r msg.Receipt) {
	if c.openWait == nil || c.openWait.shard == on || r.WaitedNanos > c.openWait.receipt.WaitedNanos {
		c.openWait = &waitState{on, r}
	}
}
