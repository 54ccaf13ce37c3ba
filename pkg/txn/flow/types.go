package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// TxnOptions is how a transaction reads and the account that it is charged to. The zero value is the default.
type TxnOptions struct {
	// At is the snapshot to read.
	At SnapshotRef
	// After is a causality token: no older state is read. It may be nil.
	After *vclock.Clock
	// Plan is the read plan; PlanAny leaves the choice to the gateway.
	Plan env.Plan
	// User is the account of the caller.
	User kv.Account
	// Arrived is the time of day at which the request reached the gateway, in nanoseconds since
	// 1970: the begin time of the transaction (Call.Begun). 0 is for transactions of the store, whose
	// begin time is the one in their id.
	Arrived int64
	// MaxResponse bounds the response to the client, in bytes: a one-shot with larger results fails,
	// and applies nothing. 0 is no bound.
	MaxResponse uint32
}

// isDefault reports whether the present is read, by any plan and without a token.
func (how TxnOptions) isDefault() bool {
	how.User, how.MaxResponse, how.Arrived = 0, 0, 0
	return how == TxnOptions{}
}

// SnapshotRef names a retained snapshot by its name or number, or the newest snapshot of the history that is
// not younger than a time. The zero value is the present.
type SnapshotRef struct {
	Name   string
	Number uint64
	// AsOf is in nanoseconds since 1970, by the clock of the hot shard's node.
	AsOf int64
}

// IsZero reports whether a is the present.
func (a SnapshotRef) IsZero() bool { return a == SnapshotRef{} }

// CallHandle identifies a client's request to its caller; the Done has it.
type CallHandle any

// Done is the response to a client's request.
type Done struct {
	Handle CallHandle
	// Txn is the attempt that ended.
	Txn kv.TxnRef
	// Attempts counts the attempts, this one included, without those that were only redirected.
	Attempts uint32
	// Committed: the transaction of Execute or Commit has committed; of Outcome, it had.
	Committed bool
	// Results are in the order of the operations. ResultsLost: the transaction has committed, but its
	// results are no longer stored.
	Results     []msg.Result
	ResultsLost bool
	// Receipt reports the longest wait: of an interactive request that succeeded, in that request;
	// else of the transaction. If it failed while it waited, Receipt is of that wait. Ended describes
	// the attempts that other transactions ended, this one included.
	Contention
	// Failure is nil if the request succeeded.
	Failure *msg.Failure
	// Pairs are a page of a scan. More: further pages may follow.
	Pairs []msg.Pair
	More  bool
	// AbortReasons are the reasons for which earlier attempts ended.
	AbortReasons []msg.Reason
	// Plan is the read plan of a read-only transaction, PlanAny if it acquired locks.
	Plan env.Plan
	// LastAgentCSN is the CSN of the last agent at the commit point, 0 if nothing was committed. ReadCSNs are the
	// CSNs of the shards that were read. Clock combines both.
	LastAgentCSN msg.ShardCSN
	ReadCSNs     []msg.ShardCSN
	// Snapshots are the snapshots of the registry's response, or the one that the transaction read.
	Snapshots []msg.Snapshot
	// Snapshot is the snapshot that LendSnapshot returns.
	Snapshot *round.Snapshot
	// Hot is the response to HotStatus and SetHotPolicy.
	Hot *msg.HotStatusResponse
	// Closed: the interactive transaction or the scan is no longer open.
	Closed bool
}

// Clock is the causality token of the response: a transaction with this token reads no older state.
// For an update it is the CSN of its last agent at the commit point. Every snapshot with that CSN
// was fixed after the commit point, and contains the transaction.
func (d *Done) Clock() *vclock.Clock {
	c := msg.Clock(d.ReadCSNs)
	c.Raise(d.LastAgentCSN.Shard, d.LastAgentCSN.CSN)
	return c
}
