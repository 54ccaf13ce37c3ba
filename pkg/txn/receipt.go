package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Ended tells of the attempts of a transaction that others ended.
type Ended struct {
	// Count is how many there were, Reason why the last of them ended.
	Count  uint32
	Reason msg.Reason
	// By is what that had to give way to, nil if it is not known.
	By *msg.Receipt
}

// note counts an attempt if others ended it.
func (e *Ended) note(f *msg.Failure) {
	if f != nil && f.Reason.Contention() {
		e.Count++
		e.Reason, e.By = f.Reason, f.Conflict
	}
}

// note counts the attempt if others ended it. The shard that found a read changed does not
// know what kind of transaction it was of.
func (c *call) note(f *msg.Failure) {
	c.ended.note(f)
	if by := c.ended.By; by != nil && by.Cause == msg.CauseChanged && c.kind == interactive {
		marked := *by
		marked.Methods |= uint64(adt.Interactive)
		c.ended.By = &marked
	}
}

// waits is what a shard has told of a wait that was not over.
type waits struct {
	shard   kv.ShardID
	receipt msg.Receipt
}

// onWaits: a request that was repeated waits.
func (g *Gateway) onWaits(w *msg.Waits) {
	c := g.find(w.Txn)
	if c == nil {
		c = g.readers[w.Txn]
	}
	if c == nil || c.phase != phaseCommitting && !slices.Contains(g.awaits(c), w.Shard) {
		return
	}
	if w.Prepared && len(g.down) > 0 && g.waitsForDown(c, w) {
		return
	}
	if c.open == nil || c.open.shard == w.Shard || w.Receipt.WaitedNanos > c.open.receipt.WaitedNanos {
		c.open = &waits{w.Shard, w.Receipt}
	}
}

// heard: a shard has answered, with a receipt if it is not nil. What it waited for is over.
func (c *call) heard(s kv.ShardID, r *msg.Receipt) {
	if c.open != nil && c.open.shard == s {
		c.open = nil
	}
	if r != nil {
		c.longest(r)
	}
}

// longest keeps a receipt if it is of the longest wait so far. What was open
// when an attempt ended is over with it.
func (c *call) longest(r *msg.Receipt) {
	if r.WaitedNanos > c.receipt.WaitedNanos {
		c.receipt = *r
	}
	if c.session != nil && r.WaitedNanos > c.session.waited.WaitedNanos {
		c.session.waited = *r
	}
}

// told is the receipt of a call that ends. One that fails tells what it waited
// for when it did, if a shard has said so; one that was too late and has heard
// of no wait tells at least that.
func (g *Gateway) told(c *call, f *msg.Failure) msg.Receipt {
	r := c.receipt
	switch {
	case f == nil && c.kind == interactive && c.phase == phaseIdle:
		r = c.session.waited // of this step
	case f != nil && c.open != nil:
		r = msg.Worst(r, c.open.receipt)
	case f != nil && f.Kind == uint32(kv.KindDeadline) && r.WaitedNanos == 0 && (c.kind == oneShot || c.kind == interactive || c.kind == scanning):
		r = msg.Receipt{WaitedNanos: g.now - c.started, Open: true}
	}
	if f == nil {
		r.Open = false
	}
	return r
}

// giveUpAt is when what began at a time is given up, so that the answer comes
// by the deadline.
func giveUpAt(began, deadline int64) int64 {
	return deadline - min((deadline-began)/5, 200_000_000)
}

// lastRepeat is when whatever has no answer is repeated for the last time
// before it is given up: so that it is known what it waits for.
func lastRepeat(began, deadline int64) int64 {
	return giveUpAt(began, deadline) - min((deadline-began)/10, 50_000_000)
}

// nextRepeat is the time of a repeat after now, no later than lastRepeat if
// that is still to come.
func nextRepeat(now, wait, last int64) int64 {
	if now < last {
		return min(now+wait, last)
	}
	return now + wait
}
