package client

import (
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Receipt is a contention receipt: what a transaction has waited for, and what ended those of its
// attempts that were aborted. It is zero if the transaction neither waited nor was aborted.
type Receipt struct {
	// Waited is the longest wait, 0 if there was none. Waiting: it had not ended when the
	// transaction did.
	Waited  time.Duration
	Waiting bool
	// Wait is what it was for, nil if there was none.
	Wait *Conflict
	// Aborted counts the attempts that were aborted. Reason is why the last of them was, in one
	// word, and Abort the conflict that did it, nil if that is not known.
	Aborted int
	Reason  string
	Abort   *Conflict

	// wire is the receipt as the node sent it.
	wire *pb.Receipt
}

// IsZero reports whether the transaction neither waited nor was aborted.
func (r Receipt) IsZero() bool { return r.Waited == 0 && !r.Waiting && r.Aborted == 0 }

// String returns the receipt in words: how long the transaction waited, for what, and what would
// have commuted. It is empty for waits below 1 ms.
func (r Receipt) String() string { return detail.Sentence(r.wire) }

// Conflict is a key, what this transaction did with it, and what another one did that excludes that.
type Conflict struct {
	// Cause is the kind of conflict: lock, range, queue, readers, intent, recovery, wound, changed or
	// snapshot; empty if it is not known.
	Cause string
	// Key is the key, empty if it is not known.
	Key string
	// Operations are those of this transaction on the key and HolderOperations those of the other
	// one, as "put" and "set.add". They are empty if they are not known.
	Operations, HolderOperations []string
	// Lock and HolderLock are the locks that the two take: read, add, write, or that of a data type,
	// as "set.add". Empty is none.
	Lock, HolderLock string
	// Holder is the other transaction, zero if it is not known or there is not one.
	Holder TxID
	// Interactive and HolderInteractive: the transaction is an Update, which holds its locks across
	// round trips.
	Interactive, HolderInteractive bool
	// Others counts further transactions that were in the way.
	Others int
	// Advice is what would have commuted, nil if nothing does that is known.
	Advice *Advice
	// Shortage is set if the operations commute, but too little was left of a bounded counter.
	Shortage *Shortage
	// HolderOwn: the other transaction is an Update of this DB, begun on the same connection.
	HolderOwn bool
}

// Shortage is a conflict near a bound of a [BoundedCounter].
type Shortage struct {
	// Left is the amount that was certain to be left: transactions in flight that take from it are
	// counted, and those that add to it are not.
	Left uint64
	// Requested is what this transaction requested. It is 0 if enough was left for this transaction,
	// and the holder requested more.
	Requested uint64
}

// Advice is what would have commuted.
type Advice struct {
	// Instead is the operation to use in place of this transaction's, HolderInstead that in place of
	// the other one's. Empty is no change.
	Instead       string `json:"instead,omitempty"`
	HolderInstead string `json:"holder_instead,omitempty"`
	// Apart: the two commute only if they are about different parts of the value, as two members.
	Apart bool `json:"apart,omitempty"`
}

func receiptOf(r *pb.Receipt) Receipt {
	if r == nil {
		return Receipt{}
	}
	return Receipt{Waited: time.Duration(r.WaitedUs) * time.Microsecond, Waiting: r.Waiting, Wait: conflictOf(r.Wait),
		Aborted: int(r.Aborted),
		Reason:  r.Reason, Abort: conflictOf(r.Abort), wire: r}
}

func conflictOf(c *pb.Conflict) *Conflict {
	if c == nil {
		return nil
	}
	out := &Conflict{Cause: word(c.Cause.String(), "CAUSE_"), Key: string(c.Key), Operations: c.Operations,
		HolderOperations: c.HolderOperations,
		Lock:             c.Lock, HolderLock: c.HolderLock, Holder: holderID(c.Holder), Interactive: c.Interactive,
		HolderInteractive: c.HolderInteractive,
		Others:            int(c.Others), HolderOwn: c.HolderOwn}
	if a := c.Advice; a != nil {
		out.Advice = &Advice{Instead: a.Instead, HolderInstead: a.HolderInstead, Apart: a.Apart}
	}
	if s := c.Shortage; s != nil {
		out.Shortage = &Shortage{Left: s.Left, Requested: s.Requested}
	}
	return out
}

func holderID(id kv.TxnID) TxID {
	if id.IsZero() {
		return TxID{}
	}
	return txID(id)
}

// word is the name of a constant on the wire as a word: "hot-last" of PLAN_HOT_LAST. The first constant
// has none.
func word(name, prefix string) string {
	word := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", "-")
	if word == "none" || word == "any" {
		return ""
	}
	return word
}

// after adds the receipt of the attempts before this one: a longer wait, unless this one ended while
// it waited, and the attempts that were aborted.
func after(now, before *pb.Receipt) *pb.Receipt {
	switch {
	case before == nil:
		return now
	case now == nil:
		now = &pb.Receipt{}
	}
	sum := *now
	if !now.Waiting && before.WaitedUs > now.WaitedUs {
		sum.WaitedUs, sum.Wait = before.WaitedUs, before.Wait
	}
	if now.Aborted == 0 {
		sum.Reason, sum.Abort = before.Reason, before.Abort
	}
	sum.Aborted += before.Aborted
	return &sum
}
