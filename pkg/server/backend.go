package server

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Backend runs what clients ask for. Its methods are called by any number of
// goroutines. What they are given has been checked: limits, ranges and
// conditions are in order, ids and deadlines are set.
//
// Errors are *kv.Error, perhaps wrapped, in a *gateway.Failed for instance; any other is taken for KindInternal.
type Backend interface {
	// Now is the backend's time, for Request.Arrived.
	Now() int64
	// NewID makes a transaction's id, by the clock that clients are to make them by.
	NewID() kv.TxnID
	// Submit runs a one-shot transaction. It must not block: what cannot be
	// taken is answered KindResourceExhausted. done is called exactly once, on any
	// goroutine, also before Submit returns; it does not block. The backend
	// owns req.Ops from now on, the edge resp.Results.
	Submit(req gateway.Request, done func(resp gateway.Response))
	// Begin begins an interactive transaction. It is over when ctx ends.
	Begin(ctx context.Context, o gateway.TxOptions) (Tx, error)
	// Scan passes the pairs of a span to page, in order and as they all were
	// at one moment, until there are none left or page returns an error,
	// which Scan then returns. page may keep what it is given.
	Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error
	// Outcome determines the outcome of a transaction, which is final from then on.
	Outcome(ctx context.Context, id kv.TxnID, user kv.Account) (gateway.Outcome, error)

	// CreateSnapshot keeps the state of the store at one moment of the call.
	// The name has been checked.
	CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error)
	// Snapshots lists those that have a name, oldest first.
	Snapshots(ctx context.Context) ([]msg.Snapshot, error)
	// DropSnapshot drops one, by name or number, and returns it.
	DropSnapshot(ctx context.Context, at txn.SnapshotRef) (*msg.Snapshot, error)

	// Leader returns the node that leads a shard, as far as the node knows, 0 for the hot shard.
	Leader(s kv.ShardID) kv.NodeID
	// Identity returns what never changes of Status: cluster, node, version and shards. It does not wait.
	Identity() *pb.StatusResponse
	// Status returns the state of the node, without what can be reclaimed and the refused addresses.
	Status() *pb.StatusResponse
	// Shards lists the cluster's shards, in the order of their numbers. Counters are known only for the node's own.
	Shards() []pb.ShardStatus
	// Hot returns what the hot shard knows of hot keys. SetHot sets a rule, which has been checked, unless it
	// is nil, and the mode, unless that is 0, and returns what is known after that.
	Hot(ctx context.Context) (*msg.HotStatusResponse, error)
	SetHot(ctx context.Context, rule *msg.HotRule, mode uint32) (*msg.HotStatusResponse, error)
	// HotKeys gives at most n keys of the node's own shards, those that caused
	// most waiting first.
	HotKeys(n int) []hotshard.KeyHeat
	// Activity returns the recent activity of the node itself: the seconds after since, in seconds since 1970,
	// the last receipts, and the current waits.
	Activity(since int64, receipts, waits int) Activity
	// CancelTransaction ends a transaction in flight at the node's gateway, and reports whether
	// there is one.
	CancelTransaction(id kv.TxnID) bool
	// Reclaimable estimates how many bytes of the node's store deleted or overwritten data
	// still occupies.
	Reclaimable() uint64
	// Reclaim frees them, beside other work, and calls progress with the number of key
	// ranges done and of all. It stops after the compaction in flight when ctx ends. The error is of
	// kind Invalid if another reclaim is in flight, or the store is not on a disk.
	Reclaim(ctx context.Context, progress func(done, total int)) (Reclaimed, error)
	// AskNode has another node answer a question, there with AnswerNode.
	AskNode(ctx context.Context, node kv.NodeID, question []byte) ([]byte, error)
}

// Tx is an interactive transaction, used by one goroutine at a time. After an
// error, Commit or Rollback it is over.
type Tx interface {
	// ID is the transaction's id, which does not change.
	ID() kv.TxnID
	// Do runs operations and gives a result for each. The transaction owns
	// ops from now on.
	Do(ctx context.Context, ops []msg.Op) ([]msg.Result, error)
	// Waited is where the last Do waited longest; zero if nowhere.
	Waited() msg.Receipt
	// Savepoint marks a place, RollbackTo forgets what was written since the
	// newest of a name, and Release forgets that.
	Savepoint(ctx context.Context, name string) error
	RollbackTo(ctx context.Context, name string) error
	Release(ctx context.Context, name string) error
	// Open reports whether the transaction has not ended: not every failure
	// ends it.
	Open() bool
	// Commit ends the transaction; Err is nil if it committed.
	Commit(ctx context.Context) gateway.Response
	// Rollback gives the transaction up. After the end it does nothing.
	Rollback()
	// RollbackChecked gives the transaction up, too, but first makes sure that
	// all it has read was current. An error of KindAborted says that it was
	// not: then what the client concluded from it may be wrong.
	RollbackChecked(ctx context.Context) error
}

// Activity is the recent activity of a node.
type Activity struct {
	// DiskBytes is the size of the store.
	DiskBytes uint64
	// InFlight counts the transactions in flight at the gateway, Open those of
	// them that are interactive.
	InFlight, Open int
	Seconds        []pb.ActivitySecond
	Receipts       []activity.Ended
	Conflicts      []activity.Conflict
	Waits          []Wait
}

// Reclaimed is the result of a reclaim.
type Reclaimed struct {
	// Before and After are the size of the store, in bytes.
	Before, After uint64
	// History is how far back the past can be read; 0 if it cannot.
	History time.Duration
}

// Wait is a transaction that waits on a shard now.
type Wait struct {
	Shard   kv.ShardID
	Txn     kv.TxnID
	Receipt msg.Receipt
	// User is whose transaction it is, and HolderUser whose it waits for; empty if that is not known.
	User, HolderUser string
}
