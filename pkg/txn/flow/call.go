package flow

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/routing"
)

// Kind is the kind of a flow.
type Kind uint8

// The kinds of flows.
const (
	OneShotKind Kind = iota
	UpdateKind
	ViewKind
	ScanKind
	SnapshotKind
	HotPolicyKind
	MoveKind
	RoundKind
	LoanKind
)

// IsTransaction reports whether a client's transaction is of this kind; the others are queries,
// moves and rounds.
func (k Kind) IsTransaction() bool { return k <= ScanKind }

// IsInteractive reports whether this is the kind of an interactive transaction.
func (k Kind) IsInteractive() bool { return k == UpdateKind || k == ViewKind }

// Phase is the event that a flow waits for.
type Phase uint8

const (
	// Idle: the next request of an interactive transaction.
	Idle Phase = iota
	// Locking: responses to lock requests.
	Locking
	// Reading: responses to reads without locks.
	Reading
	// Committing: the commit response. Only the last agent can end the attempt now.
	Committing
	// Checking: responses to the checks of read locks.
	Checking
	// Backoff: RetryAt, when the next attempt starts.
	Backoff
	// Paging: pages of a scan, or the client's request for one.
	Paging
	// AwaitingSnapshot: the end of a snapshot round.
	AwaitingSnapshot
	// Querying: the hot shard's response to a query.
	Querying
	// Sharing: the result of an identical read of another client.
	Sharing
)

func (p Phase) String() string {
	return [...]string{
		"idle", "locking", "reading", "committing", "checking", "backoff", "paging", "pinning", "asking", "sharing",
	}[p]
}

// Call is the state that every flow has: the request, its deadlines, its attempts, and the receipt
// of its waits.
type Call struct {
	Kind     Kind
	Ref      kv.TxnRef
	Handle   CallHandle
	ReadOnly bool
	How      TxnOptions
	// Begun is the begin time of the transaction in wound-wait (kv.Age), the same for all attempts. 0
	// is the time in its id.
	Begun int64
	Phase Phase
	// RetryAt is when the next attempt starts, in phase Backoff.
	RetryAt int64
	Wound   Wound
	Earlier EarlierAttempts
	// Ticket is the call's slot at the gateway (package admission).
	Ticket admission.Ticket
	ops    []msg.Op
	// started and deadline are those of the transaction or of its commit. maxAgeAt is when it reaches
	// the maximum age.
	started, deadline, maxAgeAt int64
	// reqStart and reqDeadline are those of the current request, which may end before the transaction
	// does. reqDeadline is 0 if there is none.
	reqStart, reqDeadline int64
	// txnReceipt is of the longest wait of the transaction, reqReceipt of the longest wait in the
	// current request. openWait is a wait that a shard has reported and that has not ended.
	txnReceipt, reqReceipt msg.Receipt
	openWait               *waitState
	// roundWait connects the call with the round that it waits for, or whose snapshot it reads.
	roundWait round.Membership
	// refusedSince is since when a node is down and the call, which a shard has refused, has no snapshot; 0: it is not so.
	refusedSince int64
	// snapshot is what the call reads, nil for the present.
	snapshot *pastSnapshot
	// redirects are the shards to which keys of this call were redirected.
	redirects routing.Redirects
	query     hotShardQuery
}

// Wound is the wound of an attempt: an older transaction waits for one of its locks. The attempt
// may complete without waiting; its requests carry "no wait".
type Wound struct {
	Is bool
	At int64
	// conflict is the lock that the older transaction waits for, nil if it is not known.
	conflict *msg.Receipt
}

// OnWound records a wound. The wounding shard repeats it every 50 ms; only the first one counts,
// since the time until an idle transaction aborts runs from there.
func (c *Call) OnWound(now int64, conflict *msg.Receipt) {
	if !c.Wound.Is {
		c.Wound = Wound{Is: true, At: now, conflict: conflict}
	}
}

// addConflict adds the conflict to a failure. A shard that fails a request with "no wait" does not
// know which lock the wound was for; the gateway does if the wound named it.
func (w *Wound) addConflict(f *msg.Failure) *msg.Failure {
	if f.Reason != msg.ReasonWounded || f.Conflict != nil || w.conflict == nil {
		return f
	}
	known := *f
	known.Conflict = w.conflict
	return &known
}

// EarlierAttempts are the attempts of a call before the current one.
type EarlierAttempts struct {
	// Aborts are the reasons for which they ended. Redirects counts those of a reader that only found
	// a key on another shard.
	Aborts    []msg.Reason
	Redirects uint32
	// concurrent: another commit of the same id was found undecided.
	concurrent bool
	// Ended describes the attempts that other transactions ended.
	Ended Ended
}

// Base returns the call of a flow.
func (c *Call) Base() *Call { return c }

// Membership implements round.Waiter.
func (c *Call) Membership() *round.Membership { return &c.roundWait }

// The defaults of interface Flow, for flows that hold nothing.
func (c *Call) PendingShards() []kv.ShardID { return nil }
func (c *Call) Shards() []kv.ShardID        { return nil }
func (c *Call) Retry(*Gateway) Outcome      { return Continue }
func (c *Call) Release(*Gateway)            {}
func (c *Call) Reset()                      {}
func (c *Call) End(*Gateway, *msg.Failure)  {}
func (c *Call) ReadCSNs() []msg.ShardCSN    { return nil }
func (c *Call) Claim() admission.Claim      { return admission.Claim{} }

// setDeadline sets the deadline: the client's, but at most the maximum age from now.
func (c *Call) setDeadline(gw *Gateway, deadline int64) {
	c.maxAgeAt = gw.Now + int64(gw.MaxAge)
	c.deadline = min(deadline, c.maxAgeAt)
}

// EndsByMaxAge reports whether the maximum age ends the call, and not a deadline of its client: the
// error has to name the cause.
func (c *Call) EndsByMaxAge() bool {
	return c.Kind.IsTransaction() && c.deadline == c.maxAgeAt && (c.reqDeadline == 0 || c.reqDeadline >= c.deadline)
}

// Deadline is when the call ends at the latest.
func (c *Call) Deadline() int64 { return c.deadline }

// CancelAt is when the gateway cancels an undecided commit, early enough to receive the outcome
// before the deadline.
func (c *Call) CancelAt() int64 { return env.CancelTime(c.started, c.deadline) }

// LastCommitRetry is when an unanswered commit is retried once more before CancelAt. A shard
// answers the retry of a waiting request with a wait report, so the client receives the receipt of
// a wait that its deadline ends.
func (c *Call) LastCommitRetry() int64 { return env.LastRetryTime(c.started, c.deadline) }

// AbortAt is when a call that has not sent its commit is aborted.
//
// It is a little before the deadline of the request: a client whose deadline has passed no longer reads the failure
// that explains why.
func (c *Call) AbortAt() int64 {
	if c.reqDeadline == 0 {
		return c.deadline
	}
	return min(env.CancelTime(c.reqStart, c.reqDeadline), c.deadline)
}

// IsRequestTimeout reports whether the current request times out before the transaction's deadline.
func (c *Call) IsRequestTimeout(now int64) bool { return c.reqDeadline != 0 && now < c.deadline }

// LastRequestRetry is when an unanswered request is retried once more before AbortAt, for a wait
// report; 0 is never.
func (c *Call) LastRequestRetry() int64 {
	if c.reqDeadline == 0 {
		return 0
	}
	return env.LastRetryTime(c.reqStart, c.reqDeadline)
}

// ReadsSnapshot reports whether the call reads a snapshot, and not the present.
func (c *Call) ReadsSnapshot() bool { return c.snapshot != nil }

// renumber makes a failure name its operation by the position in the current request. Operations of
// an interactive transaction are numbered across requests, but the client counts within one. An
// operation of an earlier request has no number here. f may belong to a shard of this process, and
// is not changed.
func (c *Call) renumber(f *msg.Failure) *msg.Failure {
	if !f.HasSeq || len(c.ops) == 0 {
		return f
	}
	out := *f
	out.Seq -= c.ops[0].Seq
	out.HasSeq = out.Seq < uint32(len(c.ops))
	if !out.HasSeq {
		out.Seq = 0
	}
	return &out
}

// BackOff starts the next attempt after pause nanoseconds.
func (c *Call) BackOff(e *env.Env, pause int64) {
	c.Phase = Backoff
	c.RetryAt = e.Now + pause
	e.WakeAt(c.RetryAt)
}

// noRoundPause is after how long a reader whose registration was refused retries if no round can begin, because a node
// is down or drains. Somewhat arbitrary: half of the 20 ms after which a queue closes.
const noRoundPause = 10 * time.Millisecond

// maxRefused is for how long a reader does so while a node is down, or a shard has no leader. Somewhat arbitrary: 50
// retries. A queue that other readers have closed opens between two of them; one that waits for a decision of that
// node opens when the node is back.
const maxRefused = 500 * time.Millisecond

// retryRefused starts the next attempt of a reader that was refused and has no snapshot because of f, or ends it.
//
//	update A waits for readers of k for more than 20 ms, then seals; node n3, which decides it, fails
//	R reads k       refused: a reader that waits for A would have it unsealed, and block it again
//	R's round       fails: this shard cannot fix its CSN before A is decided
func (c *Call) retryRefused(gw *Gateway, f *msg.Failure) Outcome {
	switch {
	case f.Down == 0:
		c.refusedSince = 0
	case c.refusedSince == 0:
		c.refusedSince = gw.Now
	case gw.Now-c.refusedSince >= int64(maxRefused):
		return Aborted(f)
	}
	c.BackOff(gw.Env, int64(noRoundPause))
	return Continue
}

// BeginNextAttempt counts the attempt that ended for a reason, and begins the next one, which is
// not wounded and reads the present unless the client has requested a snapshot.
func (c *Call) BeginNextAttempt(why msg.Reason) {
	if c.ReadOnly && why == msg.ReasonMoved {
		c.Earlier.Redirects++ // a redirected reader has lost no conflict
	} else {
		c.Earlier.Aborts = append(c.Earlier.Aborts, why)
	}
	c.Ref.Attempt++
	c.Wound, c.openWait = Wound{}, nil
	c.resetSnapshot()
}

// ClientFailure is the failure that the client receives. If another commit of the id was undecided
// when it was last seen, that one may still commit: no failure of this one is certain, and the
// client has to query the outcome.
//
//	client sends T to gateway A; the connection breaks; it sends T to gateway B
//	B's commit of T finds A's undecided, and aborts. A's may commit or abort.
//	"aborted" from B would be wrong if A's commits.
func (c *Call) ClientFailure(f *msg.Failure) *msg.Failure {
	if f == nil || !c.Earlier.concurrent || kv.Kind(f.Kind) == kv.KindOutcomeUnknown {
		return f
	}
	text := "transaction " + c.Ref.TxnID.String() + " was sent before and may be in flight; query its outcome by that id"
	return env.Failure(msg.ReasonConcurrentCommit, kv.KindOutcomeUnknown, text)
}

// RecordAbort counts an attempt that has aborted. It returns the failure with the conflict if that
// is known. moved: a key was on another shard.
func (c *Call) RecordAbort(gw *Gateway, why *msg.Failure) (f *msg.Failure, moved bool) {
	f = c.Wound.addConflict(why)
	c.Earlier.Ended.Add(f)
	c.Earlier.concurrent = c.Earlier.concurrent || c.Kind == OneShotKind && f.Reason == msg.ReasonConcurrentCommit
	return f, c.LearnRedirect(gw, f)
}

// LearnRedirect remembers where a key is if a request failed because it has moved.
func (c *Call) LearnRedirect(gw *Gateway, f *msg.Failure) bool {
	return gw.Places.Redirect(&c.redirects, f, c.snapshot != nil)
}
