package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/places"
	"github.com/linchpindb/linchpin/pkg/txn/round"
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

// Transaction reports whether it is one of a client's, and not a question or a round.
func (k Kind) IsTransaction() bool { return k <= ScanKind }

// Open reports whether it is an interactive transaction.
func (k Kind) IsInteractive() bool { return k == UpdateKind || k == ViewKind }

// Phase is what a flow waits for.
type Phase uint8

const (
	// Idle: the next call of an open transaction.
	Idle Phase = iota
	// Locking: the answers to lock requests.
	Locking
	// Reading: the answers to reads without locks.
	Reading
	// Committing: the outcome. The commit has been sent; only the last agent can end it.
	Committing
	// Checking: the checks that a reader's locks were never lost.
	Checking
	// Backoff: the time of the next attempt, RetryAt.
	Backoff
	// Paging: the pages of a scan, or the call that asks for one.
	Paging
	// Pinning: a state that a round fixes.
	AwaitingSnapshot
	// Asking: the answer of the hot shard to a question.
	Querying
	// Sharing: the answer to the same read of another transaction.
	Sharing
)

func (p Phase) String() string {
	return [...]string{
		"idle", "locking", "reading", "committing", "checking", "backoff", "paging", "pinning", "asking", "sharing",
	}[p]
}

// Call is what every flow has: who asked, by when, how often it was tried, and how long it waited.
type Call struct {
	Kind     Kind
	Ref      kv.TxnRef
	Token    Token
	ReadOnly bool
	How      How
	// Begun is when the transaction counts as begun in wound-wait (kv.Age), the same for all its
	// attempts; 0 is the time in its id.
	Begun int64
	Phase Phase
	// RetryAt is when the next attempt starts, in Backoff.
	RetryAt int64
	Wound   Wound
	Earlier  EarlierAttempts
	// Ticket is its place at the gateway (package admission).
	Ticket admission.Ticket
	ops    []msg.Op
	// started and deadline are those of the transaction, or of its commit. oldest is when it reaches
	// the maximum age.
	started, deadline, maxAgeAt int64
	// from and by are those of the request under way that can be given up before the
	// deadline; by is 0 for none.
	reqStart, reqDeadline int64
	// receipt is of the longest wait, step of the longest in the request under way; open is a
	// wait that lasts, as far as it was reported.
	txnReceipt, reqReceipt msg.Receipt
	openWait          *waitState
	// seat is its place at a round.
	roundWait round.Seat
	// past is the state that is read, if it is not the present.
	snapshot      *pastSnapshot
	redirects places.Redirects
	query  hotShardQuery
}

// Wound is what is known of an older transaction that waits for this one.
type Wound struct {
	Is bool
	At int64
	// conflict is what the older one waits for, nil if it is not known.
	conflict *msg.Receipt
}

// Wounded notes that an older transaction waits for the attempt.
func (c *Call) OnWound(now int64, conflict *msg.Receipt) {
	if !c.Wound.Is {
		c.Wound = Wound{Is: true, At: now, conflict: conflict}
	}
}

// blame is a failure with the conflict that it was for, if the gateway knows better than the
// shard that failed the request.
func (w *Wound) addConflict(f *msg.Failure) *msg.Failure {
	if f.Reason != msg.ReasonWounded || f.Conflict != nil || w.conflict == nil {
		return f
	}
	known := *f
	known.Conflict = w.conflict
	return &known
}

// Losses are the attempts of a call that ended before the one under way.
type EarlierAttempts struct {
	// Aborts are their reasons, Redirects how many only looked in the wrong place.
	Aborts    []msg.Reason
	Redirects uint32
	// contested: another commit of the id was found under way.
	concurrent bool
	// Ended tells of those that other transactions ended.
	Ended Ended
}

// begun is when a first attempt counts as begun: when it reached the gateway. The time in the id is
// made by the client: a transaction whose id lies in the past would win every conflict, even if it
// were by as little as others wait for a hot key.
func beginTime(gw *Gateway, how *How) int64 {
	if gw.Mutants.Has(mutant.IDsBelieved) {
		return 0
	}
	return how.Arrived
}

// Base is the call.
func (c *Call) Base() *Call { return c }

// Seat is its place at a round.
func (c *Call) Seat() *round.Seat { return &c.roundWait }

// What most flows do not need.

func (c *Call) PendingShards() []kv.ShardID    { return nil }
func (c *Call) Shards() []kv.ShardID    { return nil }
func (c *Call) Retry(*Gateway) Outcome    { return Continue }
func (c *Call) Release(*Gateway)           {}
func (c *Call) Reset()                  {}
func (c *Call) End(*Gateway, *msg.Failure) {}
func (c *Call) ReadCSNs() []msg.ShardCSN    { return nil }
func (c *Call) Claim() admission.Claim  { return admission.Claim{} }

// bound sets the deadline: the client's, but no later than the maximum age.
func (c *Call) setDeadline(gw *Gateway, deadline int64) {
	c.maxAgeAt = gw.Now + int64(gw.MaxAge)
	c.deadline = min(deadline, c.maxAgeAt)
}

// AgeEnds reports whether the maximum age ends the call, and not a deadline of its client.
func (c *Call) EndsByMaxAge() bool {
	return c.Kind.IsTransaction() && c.deadline == c.maxAgeAt && (c.reqDeadline == 0 || c.reqDeadline >= c.deadline)
}

// Deadline is when the call ends at the latest.
func (c *Call) Deadline() int64 { return c.deadline }

// CancelAt is when an undecided commit is cancelled, so that its outcome is known by the
// deadline.
func (c *Call) CancelAt() int64 { return env.GiveUpAt(c.started, c.deadline) }

// LastRepeat is when a commit without an answer is sent once more before that.
func (c *Call) LastCommitRetry() int64 { return env.LastRepeat(c.started, c.deadline) }

// EndAt is when a call that has not asked to commit is given up.
func (c *Call) AbortAt() int64 {
	if c.reqDeadline == 0 {
		return c.deadline
	}
	return min(env.GiveUpAt(c.reqStart, c.reqDeadline), c.deadline)
}

// GivenUpEarly reports whether the request under way is given up before the deadline.
func (c *Call) IsRequestTimeout(now int64) bool { return c.reqDeadline != 0 && now < c.deadline }

// LastAsk is when a request without an answer is sent once more before EndAt, 0 for never.
func (c *Call) LastRequestRetry() int64 {
	if c.reqDeadline == 0 {
		return 0
	}
	return env.LastRepeat(c.reqStart, c.reqDeadline)
}

// InPast reports whether it reads a state of the past.
func (c *Call) ReadsSnapshot() bool { return c.snapshot != nil }

// ofCall is a failure as one of the request under way, which alone the client has numbered:
// operations of an open transaction have numbers that go on from call to call. One of an earlier
// call has none here. The failure may be a shard's own, and is not changed.
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

// BackOff has a call start its next attempt after a while, in nanoseconds.
func (c *Call) BackOff(e *env.Env, pause int64) {
	c.Phase = Backoff
	c.RetryAt = e.Now + pause
	e.Timed(c.RetryAt)
}

// NextAttempt begins the next attempt, after one that ended for a reason.
func (c *Call) BeginNextAttempt(why msg.Reason) {
	if c.ReadOnly && why == msg.ReasonMoved {
		c.Earlier.Redirects++ // a reader that looks elsewhere loses nothing
	} else {
		c.Earlier.Aborts = append(c.Earlier.Aborts, why)
	}
	c.Ref.Attempt++
	c.Wound, c.openWait = Wound{}, nil
	c.resetSnapshot()
}

// Certain is what the client is told of a failure: if another commit of the id was found under
// way, that may yet be made.
func (c *Call) ClientFailure(f *msg.Failure) *msg.Failure {
	if f == nil || !c.Earlier.concurrent || kv.Kind(f.Kind) == kv.KindOutcomeUnknown {
		return f
	}
	text := "transaction " + c.Ref.TxnID.String() + " was sent before and may be in flight; query its outcome by that id"
	return env.Failure(msg.ReasonRival, kv.KindOutcomeUnknown, text)
}

// Lost counts an attempt that has ended, and gives the failure with what is known of it. moved:
// it has looked for a key in the wrong place.
func (c *Call) RecordAbort(gw *Gateway, why *msg.Failure) (f *msg.Failure, moved bool) {
	f = c.Wound.addConflict(why)
	c.Earlier.Ended.Add(f)
	c.Earlier.concurrent = c.Earlier.concurrent || c.Kind == OneShotKind && f.Reason == msg.ReasonRival
	return f, c.LearnRedirect(gw, f)
}

// Redirected takes note of where a key is, if that is why a request failed.
func (c *Call) LearnRedirect(gw *Gateway, f *msg.Failure) bool {
	return gw.Places.Redirect(&c.redirects, f, c.snapshot != nil)
}
