package env

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Env is the environment of one gateway machine. Its parts share a pointer to it.
type Env struct {
	Config
	// Now is the monotonic clock, in nanoseconds; only its differences have a meaning.
	Now int64
	// Next is when the machine is to be called again at the latest.
	Next int64
	// Out are the messages to send since the last Flush.
	Out []*msg.Envelope

	// names and commits count those that were given.
	names, commits uint64
	// encoded is for operations whose fingerprint is made.
	encoded []byte
}

// New makes an environment.
func New(cfg Config) *Env { return &Env{Config: cfg.withDefaults(), Next: Never} }

// At moves the clock forward. An earlier time is ignored.
func (e *Env) At(now int64) { e.Now = max(e.Now, now) }

// Timed has the machine called again at a time, or earlier.
func (e *Env) Timed(at int64) { e.Next = min(e.Next, at) }

// Send has messages sent.
func (e *Env) Send(envs ...*msg.Envelope) { e.Out = append(e.Out, envs...) }

// To makes a message to a shard, has it sent, and returns it to be filled in.
func (e *Env) To(s kv.ShardID) *msg.Envelope {
	env := msg.ToShard(s)
	e.Out = append(e.Out, env)
	return env
}

// Hot is the hot shard.
func (e *Env) Hot() kv.ShardID { return e.Router.HotShard() }

// EveryShard lists the shards.
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

// The names below contain no time, and are unique in the cluster and over restarts: they are made of
// the node, its incarnation and a number.
const (
	// numberBits suffice for a name each microsecond, for two years.
	numberBits = 46
	// ownName is in the place of a time that no client's id may have (kv.MaxIDAhead).
	ownName = 1 << 62
)

// NewReader names a reading for a transaction that this machine runs. Messages about it find the machine,
// and the trace, by the transaction's affinity; by that it also differs from the names of the node's
// other machines.
func (e *Env) NewReader(affinity uint64) kv.TxnRef {
	e.names++
	inc := e.Incarnation
	time := ownName | uint64(inc>>16)<<numberBits | e.names
	return kv.TxnRef{
		TxnID:   kv.TxnID{Time: int64(time), Rand: time ^ affinity},
		Attempt: inc<<16 | uint32(e.Node),
	}
}

// NewID makes an id for what this machine does by itself. Its affinity leads to the machine.
func (e *Env) NewID() kv.TxnID {
	e.names++
	affinity := uint64(e.Node)<<48 | uint64(e.Incarnation)<<16
	stripes := uint64(max(e.Stripes, 1))
	affinity += (uint64(e.Stripe) + stripes - affinity%stripes) % stripes
	time := ownName | e.names
	return kv.TxnID{Time: int64(time), Rand: time ^ affinity}
}

// NextCommit names a commit that is about to be sent.
func (e *Env) NextCommit() kv.CommitID {
	e.commits++
	id := kv.CommitID{Gateway: e.Node, Incarnation: e.Incarnation,
		Number: e.commits*uint64(max(e.Stripes, 1)) + uint64(e.Stripe)}
	if e.Mutants.Has(mutant.GatewayStartsAlike) {
		id.Incarnation = 0
	}
	return id
}

// maxEncoded bounds what is kept for the next fingerprint. Somewhat arbitrary: most operations
// are far smaller.
const maxEncoded = 1 << 16

// Fingerprint tells the operations of a transaction from others: an id that has committed is
// refused with others. It is never 0. With 64 bits, that two lists of operations have the same one
// is an accident that nobody will see; it is no protection against a client that looks for one.
func (e *Env) Fingerprint(ops []msg.Op) uint64 {
	e.encoded = e.encoded[:0]
	for i := range ops {
		n, size := len(e.encoded), ops[i].Size()
		e.encoded = slices.Grow(e.encoded, size)[:n+size]
		_, err := ops[i].MarshalToSizedBuffer(e.encoded[n:])
		if err != nil {
			panic("env: cannot encode an operation: " + err.Error()) // no field of it can fail
		}
	}
	sum := max(xxhash.Sum64(e.encoded), 1)
	if cap(e.encoded) > maxEncoded {
		e.encoded = nil
	}
	return sum
}

// Retry is the timer of a request that is sent again until it is answered, at growing
// intervals: from Config.Repeat, doubled each time, up to Config.Liveness.
type Retry struct {
	next, wait int64
	steady     bool
}

// Start sets the timer of a request that is sent now. last is when it is to be sent once
// more in any case (LastRepeat), 0 for never.
func (e *Env) Start(r *Retry, last int64) { e.start(r, e.Repeat, last) }

// StartSteady is Start for a request that is sent again at equal intervals.
func (e *Env) StartSteady(r *Retry, wait time.Duration, last int64) {
	r.steady = true
	e.start(r, wait, last)
}

func (e *Env) start(r *Retry, wait time.Duration, last int64) {
	r.wait = int64(wait)
	r.next = nextRepeat(e.Now, r.wait, last)
	e.Timed(r.next)
}

// Due reports whether the request is to be sent again now, and sets the timer anew.
func (e *Env) Due(r *Retry, last int64) bool {
	due := e.Now >= r.next
	if due {
		if !r.steady {
			r.wait = min(2*r.wait, int64(e.Liveness))
		}
		r.next = nextRepeat(e.Now, r.wait, last)
	}
	e.Timed(r.next)
	return due
}

// Hurry has the request sent with the next tick, and soon again after that.
func (e *Env) Hurry(r *Retry) {
	r.next = e.Now
	r.wait = int64(e.Repeat) / 2
}

// GiveUpAt is when a request that began at a time is given up, so that the answer
// reaches the client by the deadline.
func GiveUpAt(began, deadline int64) int64 {
	return deadline - min((deadline-began)/5, 200_000_000)
}

// LastRepeat is when a request without an answer is sent for the last time before it is
// given up: the shard then reports what it waits for.
func LastRepeat(began, deadline int64) int64 {
	return GiveUpAt(began, deadline) - min((deadline-began)/10, 50_000_000)
}

// nextRepeat is the time of a repeat after now, no later than last if that is still to come.
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

// Invalid makes the failure of a request that cannot be served as it is, with a hint.
func Invalid(text, hint string) *msg.Failure {
	f := Failure(msg.ReasonRequest, kv.KindInvalid, text)
	f.Hint = hint
	return f
}
