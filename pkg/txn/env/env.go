package env

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Env is the environment of one state machine. Its parts share a pointer to it.
type Env struct {
	Config
	// Now is the monotonic clock, in nanoseconds. Only differences have a meaning.
	Now int64
	// Next is the time at which the state machine must be called again.
	Next int64
	// Out are the messages to send since the last Flush.
	Out []*msg.Envelope

	// leaders counts the changes of leaders that are known.
	leaders uint64
	// nameCount and commitCount are the numbers of names assigned so far.
	nameCount, commitCount uint64
	// encodeBuffer is reused by Fingerprint.
	encodeBuffer []byte
}

// New makes an environment.
func New(cfg Config) *Env { return &Env{Config: cfg.withDefaults(), Next: Never} }

// AdvanceTo moves the clock forward. An earlier time is ignored.
func (e *Env) AdvanceTo(now int64) { e.Now = max(e.Now, now) }

// WakeAt requests a call of the state machine at a time, or earlier.
func (e *Env) WakeAt(at int64) { e.Next = min(e.Next, at) }

// Send sends messages with the next Flush.
func (e *Env) Send(envs ...*msg.Envelope) { e.Out = append(e.Out, envs...) }

// SendTo creates a message to a shard, which is sent with the next Flush. The caller sets its body.
func (e *Env) SendTo(s kv.ShardID) *msg.Envelope {
	env := msg.ToShard(s)
	e.Out = append(e.Out, env)
	return env
}

// Hot returns the hot shard.
func (e *Env) Hot() kv.ShardID { return e.Router.HotShard() }

// EveryShard lists all shards.
func (e *Env) EveryShard() []kv.ShardID {
	all := make([]kv.ShardID, e.Router.Shards())
	for i := range all {
		all[i] = kv.ShardID(i)
	}
	return all
}

// WallMillis is the time of day for deadlines of keys, in milliseconds since 1970, rounded up.
func (e *Env) WallMillis() int64 {
	const ms = int64(time.Millisecond)
	return (e.Epoch + e.Now + ms - 1) / ms
}

// The names below contain no time. They are unique in the cluster and over restarts: they consist of the node, its
// incarnation and a number.
const (
	// numberBits are enough for one name per microsecond during two years.
	numberBits = 46
	// ownName replaces the time in an id. No client's id may have a time as late (kv.MaxIDAhead).
	ownName = 1 << 62
)

// NewReader names a reading of a transaction that this state machine runs. The transaction's affinity routes messages
// to the state machine and the trace, and makes the name differ from those of other state machines of the node.
func (e *Env) NewReader(affinity uint64) kv.TxnRef {
	e.nameCount++
	inc := e.Incarnation
	time := ownName | uint64(inc>>16)<<numberBits | e.nameCount
	return kv.TxnRef{
		TxnID:   kv.TxnID{Time: int64(time), Rand: time ^ affinity},
		Attempt: inc<<16 | uint32(e.Node),
	}
}

// NewID names a transaction of this state machine itself. Its affinity routes messages to the state machine.
func (e *Env) NewID() kv.TxnID {
	e.nameCount++
	affinity := uint64(e.Node)<<48 | uint64(e.Incarnation)<<16
	stripes := uint64(max(e.Stripes, 1))
	affinity += (uint64(e.Stripe) + stripes - affinity%stripes) % stripes
	time := ownName | e.nameCount
	return kv.TxnID{Time: int64(time), Rand: time ^ affinity}
}

// NextCommit names a commit that is about to be sent.
func (e *Env) NextCommit() kv.CommitID {
	e.commitCount++
	return kv.CommitID{Gateway: e.Node, Incarnation: e.commitIncarnation(),
		Number: e.commitCount*uint64(max(e.Stripes, 1)) + uint64(e.Stripe)}
}

// maxEncodeBuffer bounds the buffer that is kept. The value is somewhat arbitrary: most operations are far
// smaller.
const maxEncodeBuffer = 1 << 16

// Fingerprint hashes the operations of a transaction: a repeated id with other operations than the committed ones is
// rejected. It is never 0. An accidental collision of 64 bits is negligible; against a client that searches for one
// this is no protection.
func (e *Env) Fingerprint(ops []msg.Op) uint64 {
	e.encodeBuffer = e.encodeBuffer[:0]
	for i := range ops {
		n, size := len(e.encodeBuffer), ops[i].Size()
		e.encodeBuffer = slices.Grow(e.encodeBuffer, size)[:n+size]
		_, err := ops[i].MarshalToSizedBuffer(e.encodeBuffer[n:])
		if err != nil {
			panic("env: cannot encode an operation: " + err.Error()) // none of its fields can fail
		}
	}
	sum := max(xxhash.Sum64(e.encodeBuffer), 1)
	if cap(e.encodeBuffer) > maxEncodeBuffer {
		e.encodeBuffer = nil
	}
	return sum
}

// Retry is the timer of a request that is retried with exponential backoff: from Config.Repeat, doubled each time, up
// to Config.Liveness.
type Retry struct {
	next, wait int64
	steady     bool
	// leaders is Env.leaders when the request was last sent.
	leaders uint64
}

// OnLeader makes all requests due: the leader of a shard has changed. Requests to the leader before are lost, and their
// next retry may be a second away.
func (e *Env) OnLeader() {
	e.leaders++
	e.WakeAt(e.Now)
}

// StartRetry sets the timer of a request that is sent now. At last (LastRetryTime) it is due in any case; 0 for never.
func (e *Env) StartRetry(r *Retry, last int64) { e.startTimer(r, e.Repeat, last) }

// StartSteadyRetry is Start with equal intervals.
func (e *Env) StartSteadyRetry(r *Retry, wait time.Duration, last int64) {
	r.steady = true
	e.startTimer(r, wait, last)
}

func (e *Env) startTimer(r *Retry, wait time.Duration, last int64) {
	r.wait, r.leaders = int64(wait), e.leaders
	r.next = nextRepeat(e.Now, r.wait, last)
	e.WakeAt(r.next)
}

// IsDue reports whether a retry is due, and sets the timer again.
func (e *Env) IsDue(r *Retry, last int64) bool {
	if r.leaders != e.leaders {
		e.RetrySoon(r)
	}
	due := e.Now >= r.next
	if due {
		r.leaders = e.leaders
		if !r.steady {
			r.wait = min(2*r.wait, int64(e.Liveness))
		}
		r.next = nextRepeat(e.Now, r.wait, last)
	}
	e.WakeAt(r.next)
	return due
}

// RetrySoon makes the request due at the next tick, and soon after that again.
func (e *Env) RetrySoon(r *Retry) {
	r.next = e.Now
	r.wait = int64(e.Repeat) / 2
}

// CancelTime is the time at which a request that began at a time is given up, so that the response reaches the client
// before the deadline.
func CancelTime(began, deadline int64) int64 {
	return deadline - min((deadline-began)/5, 200_000_000)
}

// LastRetryTime is the time of the last retry before a request is given up. The shard responds to it with a report of
// what the request waits for.
func LastRetryTime(began, deadline int64) int64 {
	return CancelTime(began, deadline) - min((deadline-began)/10, 50_000_000)
}

// nextRepeat is the time of the next retry, at most last if that is in the future.
func nextRepeat(now, wait, last int64) int64 {
	if now < last {
		return min(now+wait, last)
	}
	return now + wait
}

// Failure makes a failure.
func Failure(r msg.Reason, k kv.Kind, text string) *msg.Failure {
	return &msg.Failure{Reason: r, Kind: uint32(k), Text: text}
}

// Invalid makes the failure of an invalid request, with a hint.
func Invalid(text, hint string) *msg.Failure {
	f := Failure(msg.ReasonRequest, kv.KindInvalid, text)
	f.Hint = hint
	return f
}
