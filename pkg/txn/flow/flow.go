// Package flow has one small type for each kind of call of a client:
//
//	OneShot   Execute: all operations at once
//	Update    Begin, Do, Commit: reads lock
//	View      Begin, Do, Commit: reads register in the snapshot-queues
//	Scan      Scan, Next, Close
//	Snapshot  KeepSnapshot, Snapshots, DropSnapshot
//	Rule      Hot, SetHot
//	Move      Move, and what the planner asks for
//	Fixing    a round, which fixes the state that others wait for
//	Lending   Lend
//
// # Guarantees
//
// A flow decides what comes after what. It puts legs together (packages lock, commit, read, page,
// question), which own the requests, and it returns what has become of it (Outcome): it goes on,
// it is over, the attempt is lost, or it waits for a state. It never calls the machine, which
// finds the flow that a message is for, starts the next attempt, and ends it by its deadline.
//
//	machine ── Start, Locked, Answered, Took, Repeat … ──▶ flow ── requests ──▶ Host.Env
//	        ◀───────────────── Outcome ───────────────────┘
//
// # Example
//
// Update A has locked x and asks to commit. Commit sends the pieces, and the phase is Committing.
// The answer says that an older transaction needed x: Answered releases what A holds elsewhere
// and returns Lost. The machine reports to the client, which begins again with the same age.
//
// # Hazards
//
// Outcomes have to be handled at once, before anything else is delivered: a flow that is over
// must not be found again.
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

// Flow is one call on its way from its start to its end.
type Flow interface {
	round.Waiter
	Base() *Call
	// Start begins an attempt, or goes on with one whose state of the past has been found.
	Start(gw *Gateway) Outcome
	// Awaits lists the shards that have not answered an attempt which can be given up, and
	// Shards all that it has to do with.
	PendingShards() []kv.ShardID
	Shards() []kv.ShardID
	// Repeat sends again what has no answer.
	Retry(gw *Gateway) Outcome
	// Release gives up what the attempt may hold on any shard, and Reset forgets it.
	Release(gw *Gateway)
	Reset()
	// End ends what is left when the call is over for good, perhaps by a failure. Seen is the
	// state that it has read: the commit sequence number of each shard.
	End(gw *Gateway, f *msg.Failure)
	ReadCSNs() []msg.ShardCSN
	// Claim is what the call's ticket counts.
	Claim() admission.Claim
}

// Pinner can wait for a state of the whole store. It is told that it is fixed, or why it is not.
type SnapshotWaiter interface {
	Flow
	OnSnapshot(gw *Gateway, p *round.Round) Outcome
	OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome
}

// Committer commits. It is told what the last agent has decided.
type Committer interface {
	Flow
	Commit() *commitreq.Commit
	OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome
	// OnlyReads reports whether nothing is applied by the commit.
	IsReadOnly() bool
}

// Locker locks. It is told of grants, and of refusals.
type Locker interface {
	Flow
	Requests() *lockreq.Requests
	OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome
	OnFailure(gw *Gateway, f *msg.Failure) Outcome
}

// Checker checks its locks in the end. It is told that they were held all along.
type Checker interface {
	Flow
	Checks() *lockreq.Checks
	OnChecked(gw *Gateway) Outcome
}

// Reader reads without locks. It is told of each answer (Took), of the last (ReadAll), that a key
// is on another shard (Elsewhere), that it is to read at a fixed state (TurnedAway), and of
// failures.
type Reader interface {
	Flow
	Reading() *readreq.Reading
	OnRead(gw *Gateway, p *msg.ReadResponse, ops []msg.Op, sent int64)
	OnAllRead(gw *Gateway) Outcome
	OnRedirect(gw *Gateway, at kv.ShardID, ops []msg.Op) Outcome
	OnClosed(gw *Gateway) Outcome
	OnFailure(gw *Gateway, f *msg.Failure) Outcome
}

// Asker asks the hot shard.
type Querier interface {
	Flow
	OnQueryResponse(gw *Gateway, asked, reply *msg.Envelope) Outcome
}

// Open is an interactive transaction: an Update, or a View.
type InteractiveTxn interface {
	Flow
	Txn() *Interactive
	// Fetch asks the shards for what the call under way needs to know, or goes on at once.
	Fetch(gw *Gateway) Outcome
	// Finish ends a transaction that writes nothing: what it has read is made certain.
	FinishReads(gw *Gateway) Outcome
	// Write commits the writes.
	CommitWrites(gw *Gateway) Outcome
}

// Which flow takes part in what.
var (
	_ = []Committer{(*OneShot)(nil), (*Update)(nil), (*Move)(nil)}
	_ = []Locker{(*OneShot)(nil), (*Update)(nil), (*Move)(nil)}
	_ = []Checker{(*OneShot)(nil), (*Update)(nil)}
	_ = []Reader{(*OneShot)(nil), (*View)(nil), (*Round)(nil), (*Snapshot)(nil)}
	_ = []Querier{(*OneShot)(nil), (*View)(nil), (*Scan)(nil), (*Snapshot)(nil), (*HotPolicy)(nil)}
	_ = []SnapshotWaiter{(*OneShot)(nil), (*View)(nil), (*Scan)(nil), (*Snapshot)(nil), (*Loan)(nil)}
	_ = []InteractiveTxn{(*Update)(nil), (*View)(nil)}
)
