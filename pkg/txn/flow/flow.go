// Package flow has one state machine, a flow, for each kind of call of a client:
//
//	OneShot    Execute: all operations at once
//	Update     Begin, Do, Commit: reads lock
//	View       Begin, Do, Commit: reads register in the snapshot-queues
//	Scan       Scan, Next, Close
//	Snapshot   RetainSnapshot, Snapshots, DropSnapshot
//	HotPolicy  HotStatus, SetHotPolicy
//	Move       Move, and the moves that the planner of hot keys requests
//	Round      a snapshot round, which fixes the snapshot that other flows wait for
//	Loan       LendSnapshot: a snapshot for another state machine of the node
//
// # Guarantees
//
// A flow decides the order of the protocol's steps. It is made of phases: packages lockreq,
// readreq, commitreq and page own the requests of a phase, retry them, and accept only responses to
// open requests. After each event the flow returns an [Outcome]: it continues, it is finished, its
// attempt has aborted, or it waits for a snapshot. A flow never calls package txn, which finds the
// flow that a message is for, starts the next attempt, and enforces the deadline.
//
//	txn ── Start, OnLocks, OnRead, OnCommitResponse, Retry … ──▶ flow ── requests ──▶ Gateway.Env
//	    ◀────────────────────── Outcome ────────────────────────┘
//
// The phases of the flows of transactions:
//
//	OneShot  ┬─▶ Committing ──────────────────────────▶ finished     writes, or one shard
//	         ├─▶ Reading ─────────────────────────────▶ finished     reads on several shards
//	         ├─▶ AwaitingSnapshot ─▶ Reading ─────────▶ finished     registration was refused; Backoff without a round
//	         ├─▶ Locking ─▶ Checking ─────────────────▶ finished     reads, baseline
//	         └─▶ Sharing ─────────────────────────────▶ finished     the read of another client
//	Update   Idle ⇄ Locking, then Committing, or Checking if nothing was written
//	View     Idle ⇄ Reading, AwaitingSnapshot ⇄ Idle; its end sends no commit
//	Scan     AwaitingSnapshot, or Querying for a retained snapshot; then Paging
//
// Backoff precedes an attempt after the fourth. Querying precedes each read of a retained snapshot.
//
// # Example
//
// Update A holds a lock on x and commits. CommitWrites sends the pieces, and the phase is
// Committing. The last agent responds that an older transaction, B, waits for x: OnCommitResponse
// releases the locks that A holds on other shards and returns AbortConfirmed. Package txn reports
// the failure to the client, which begins the next attempt with the same age, so B is older than A
// again; but once B has ended, A is older than every transaction that began after it.
//
// # Hazards
//
// An outcome must be handled before the next message is delivered: a flow that is finished must not
// be found again. The operations of a one-shot are shared with its messages; they must not change
// after the first attempt has begun.
//
// Package txn relies on the flows. They rely on the packages of the phases, which know nothing of flows.
package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Flow is one call, from its start to its end.
type Flow interface {
	round.Waiter
	Base() *Call
	// Start begins an attempt. It also continues one whose retained snapshot has been found.
	Start(gw *Gateway) Outcome
	// PendingShards lists the shards that have not responded to an attempt which can be aborted.
	PendingShards() []kv.ShardID
	// Shards lists all shards that the call has contacted.
	Shards() []kv.ShardID
	// Retry sends the requests again whose responses are late.
	Retry(gw *Gateway) Outcome
	// Release drops the locks and registrations that the attempt may hold on any shard.
	Release(gw *Gateway)
	// Reset forgets the attempt, so that Start begins a new one.
	Reset()
	// End frees the resources of a call that has ended for good; f is nil if it has succeeded.
	End(gw *Gateway, f *msg.Failure)
	// ReadCSNs is the snapshot that the call has read: the commit sequence number of each shard.
	ReadCSNs() []msg.ShardCSN
	// Claim lists the keys for which the call's admission ticket counts.
	Claim() admission.Claim
}

// SnapshotWaiter can wait for a snapshot of the whole store that a round fixes.
type SnapshotWaiter interface {
	Flow
	// OnSnapshot: the round has fixed the snapshot; OnNoSnapshot: it has failed, or cannot begin.
	OnSnapshot(gw *Gateway, p *round.Round) Outcome
	OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome
}

// Committer sends a commit request to a last agent.
type Committer interface {
	Flow
	Commit() *commitreq.Commit
	// OnCommitResponse: the last agent has decided.
	OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome
	// IsReadOnly reports whether the commit changes nothing, as one that only validates reads.
	IsReadOnly() bool
}

// Locker requests locks.
type Locker interface {
	Flow
	Requests() *lockreq.Requests
	// OnLocks: a shard has granted l; OnFailure: it has refused or failed a request.
	OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome
	OnFailure(gw *Gateway, f *msg.Failure) Outcome
}

// Checker checks at its end that it has held all of its read locks.
type Checker interface {
	Flow
	Checks() *lockreq.Checks
	// OnChecked: each shard has confirmed its locks, and has released them.
	OnChecked(gw *Gateway) Outcome
}

// Reader reads without locks.
type Reader interface {
	Flow
	Reading() *readreq.Reading
	// OnRead: one shard has responded to ops, which were sent at the time sent.
	OnRead(gw *Gateway, p *msg.ReadResponse, ops []msg.Op, sent int64)
	// OnAllRead: no response is outstanding.
	OnAllRead(gw *Gateway) Outcome
	// OnRedirect: a key of ops has moved from shard at.
	OnRedirect(gw *Gateway, at kv.ShardID, ops []msg.Op) Outcome
	// OnClosed: the queue of a key is closed (docs/protocol.md, section 5, Starvation). The flow has
	// to read at a snapshot.
	OnClosed(gw *Gateway) Outcome
	// OnFailure: a shard has failed a read.
	OnFailure(gw *Gateway, f *msg.Failure) Outcome
}

// Querier queries the hot shard.
type Querier interface {
	Flow
	// OnQueryResponse: the hot shard has responded to the query.
	OnQueryResponse(gw *Gateway, sent, response *msg.Envelope) Outcome
}

// InteractiveTxn is an Update or a View.
type InteractiveTxn interface {
	Flow
	// Txn is the part that both have in common.
	Txn() *Interactive
	// Fetch requests the values that the current call needs, or executes the call if all are known.
	Fetch(gw *Gateway) Outcome
	// FinishReads ends a transaction without writes, after validating what it has read.
	FinishReads(gw *Gateway) Outcome
	// CommitWrites commits the buffered writes.
	CommitWrites(gw *Gateway) Outcome
}

// The roles of each flow.
var (
	_ = []Committer{(*OneShot)(nil), (*Update)(nil), (*Move)(nil)}
	_ = []Locker{(*OneShot)(nil), (*Update)(nil), (*Move)(nil)}
	_ = []Checker{(*OneShot)(nil), (*Update)(nil)}
	_ = []Reader{(*OneShot)(nil), (*View)(nil), (*Round)(nil), (*Snapshot)(nil)}
	_ = []Querier{(*OneShot)(nil), (*View)(nil), (*Scan)(nil), (*Snapshot)(nil), (*HotPolicy)(nil)}
	_ = []SnapshotWaiter{(*OneShot)(nil), (*View)(nil), (*Scan)(nil), (*Snapshot)(nil), (*Loan)(nil)}
	_ = []InteractiveTxn{(*Update)(nil), (*View)(nil)}
)
