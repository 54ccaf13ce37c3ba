// Package attempt has the attempts of transactions that hold locks, wait or are prepared on a shard. It is
// bookkeeping only, as package record is for the last agent: package interactive executes lock requests,
// and package agent prepares.
//
//	Table ─▶ Attempt ─┬─ LockTasks, LockResponse   the transaction reads under locks (package interactive)
//	                  ├─ Preparing                 its prepare request waits for keys and locks
//	                  └─ Prepared                  it has voted yes and waits for the decision
//
// Hazard: of an attempt that is Prepared everything must stay until the decision of its last agent.
package attempt

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
)

// Attempt is the state of one attempt on this shard as a participant: the locks under which it
// reads, and the prepared row.
type Attempt struct {
	Txn     kv.TxnRef
	Gateway kv.NodeID
	// LockTasks are its lock requests that wait, by number. LockResponse is the newest response, for
	// retries: the gateway sends a request after it has received the response to the previous one, so
	// it never repeats an older one, and a response may have several MiB.
	LockTasks    map[uint32]*exec.Task
	LockResponse *msg.LockResponse
	// Preparing is the task of its prepare request until that is executed; then Prepared is set.
	Preparing *exec.Task
	Prepared  *Prepared
	// LastContact is when the last message of its gateway about it arrived. PushedAt is when the
	// gateway was sent a push that it has not answered, 0 for none.
	LastContact, PushedAt int64
}

// IsCommitting reports whether the attempt, which may be nil, is preparing or prepared.
func (a *Attempt) IsCommitting() bool { return a != nil && (a.Preparing != nil || a.Prepared != nil) }

// IsPrepared reports whether the attempt, which may be nil, is prepared.
func (a *Attempt) IsPrepared() bool { return a != nil && a.Prepared != nil }

// HasLockRequests reports whether a lock request waits or was answered.
func (a *Attempt) HasLockRequests() bool { return len(a.LockTasks) > 0 || a.LockResponse != nil }

// IsOtherCommit reports whether the attempt, which may be nil, is prepared or preparing for another
// commit than this one.
func (a *Attempt) IsOtherCommit(commit kv.CommitID) bool {
	switch {
	case a.IsPrepared():
		return a.Prepared.Row.CommitID != commit
	case a.IsCommitting():
		return a.Preparing.Owner.(*msg.Prepare).CommitID != commit
	}
	return false
}

// Prepared is an attempt that has voted yes, or is about to, as the log contains it. It can be
// neither aborted nor applied here without a decision of its last agent.
type Prepared struct {
	Row entry.Prepared
	// Items[i] is the key of Row.Effects[i]. Each is referenced, so that its intent stays in memory.
	Items []*mvcc.Item
	// Decided is a commit that waits until the items, or pages of them, are in memory. That happens
	// only after a restart. Recovered: it is not known yet whether pages are needed.
	Decided   *msg.Decision
	Recovered bool
	// Receipt is the longest wait of the piece, for the votes. At is the time of the step that
	// prepared it.
	Receipt msg.Receipt
	At      int64
	// Epoch is that of the newest sealing, which was at SealedAt.
	Epoch    kv.Epoch
	SealedAt int64
	// NextVote is when the vote is repeated; Wait is the current backoff, in nanoseconds.
	NextVote, Wait int64
}

// AreItemsLoaded reports whether all items are in memory.
func (pr *Prepared) AreItemsLoaded() bool {
	return !slices.ContainsFunc(pr.Items, func(it *mvcc.Item) bool { return !it.Loaded })
}
