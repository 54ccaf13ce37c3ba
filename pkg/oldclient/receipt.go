package client

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Receipt is a contention receipt: where a transaction waited longest, and what
// ended those of its attempts that had to be given up. It is zero if it went
// through at once.
type Receipt struct {
	// Waited is how long the longest wait was, 0 if there was none.
	Waited time.Duration
	Key    []byte
	// Holder is the transaction that had the key, or for which a reader waited.
	// It is zero if readers of the key had to finish first, or, without a key,
	// those that a restarted shard has forgotten.
	Holder kv.TxnID
	// Wait is what the wait was for, nil if there was none.
	Wait *Conflict
	// Waiting: the wait had not ended when the transaction did.
	Waiting bool
	// Aborted counts the attempts that others ended. Reason is why the last of
	// them ended, in one word, and Abort what it had to give way to, nil if that
	// is not known.
	Aborted int
	Reason  string
	Abort   *Conflict
}

// Conflict is a key, what this transaction did with it, and what another one
// did that does not go together with that.
type Conflict struct {
	Cause pb.Cause
	// Key is empty if it is not known.
	Key []byte
	// Operations are this transaction's, as "put" or "set.add", and Lock is the lock that they
	// need. HolderOperations and HolderLock are those of Holder, which is zero if it is not
	// known or there is not one. Operations are empty where only the lock is known.
	Operations       []string
	Lock             string
	Holder           kv.TxnID
	HolderOperations []string
	HolderLock       string
	// Interactive and HolderInteractive: the transaction was not sent as one request, and
	// kept what it had locked while messages travelled and its client thought.
	Interactive, HolderInteractive bool
	// Others counts the transactions that were in the way besides.
	Others int
	// Advice is a change after which the two sides commute; nil if there is none.
	Advice *pb.Advice
}

// String says it in words: how long, for what, and what would have commuted. It
// is empty if there is nothing to tell.
func (r Receipt) String() string {
	return detail.Sentence(&pb.Receipt{WaitedUs: uint64(r.Waited.Microseconds()), Waiting: r.Waiting, Wait: r.Wait.wire(),
		Aborted: uint32(r.Aborted), Reason: r.Reason, Abort: r.Abort.wire()})
}

func (c *Conflict) wire() *pb.Conflict {
	if c == nil {
		return nil
	}
	return &pb.Conflict{Cause: c.Cause, Key: c.Key, Operations: c.Operations, Lock: c.Lock, Interactive: c.Interactive, Holder: c.Holder,
		HolderOperations: c.HolderOperations, HolderLock: c.HolderLock, HolderInteractive: c.HolderInteractive, Others: uint32(c.Others), Advice: c.Advice}
}

func conflictOf(c *pb.Conflict) *Conflict {
	if c == nil {
		return nil
	}
	return &Conflict{Cause: c.Cause, Key: c.Key, Operations: c.Operations, Lock: c.Lock, Interactive: c.Interactive, Holder: c.Holder,
		HolderOperations: c.HolderOperations, HolderLock: c.HolderLock, HolderInteractive: c.HolderInteractive, Others: int(c.Others), Advice: c.Advice}
}

// ReceiptOf is a receipt of another transaction, as Activity tells of them; zero for
// nil.
func ReceiptOf(r *pb.Receipt) Receipt { return receiptOf(r) }

func receiptOf(r *pb.Receipt) Receipt {
	if r == nil {
		return Receipt{}
	}
	out := Receipt{Waited: time.Duration(r.WaitedUs) * time.Microsecond, Wait: conflictOf(r.Wait), Waiting: r.Waiting,
		Aborted: int(r.Aborted), Reason: r.Reason, Abort: conflictOf(r.Abort)}
	if out.Wait != nil {
		out.Key, out.Holder = out.Wait.Key, out.Wait.Holder
	}
	return out
}

// after adds what an attempt before this one told: a longer wait, unless this
// one ended while it waited, and what was given up.
func (r *Receipt) after(before Receipt) {
	if !r.Waiting && before.Waited > r.Waited {
		r.Waited, r.Key, r.Holder, r.Wait = before.Waited, before.Key, before.Holder, before.Wait
	}
	if r.Aborted == 0 {
		r.Reason, r.Abort = before.Reason, before.Abort
	}
	r.Aborted += before.Aborted
}
