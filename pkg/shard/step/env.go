// Package step is the environment of the components of a shard: its identity, the time, and the output of the
// current step.
//
// A shard is a deterministic state machine. In each step it handles what has arrived, and returns entries for
// its log, messages, and reads. The components append to the output; each owns all other state that it works
// on, and returns its results to its caller.
//
//	messages, results of reads, time ─▶ components ─▶ Output: Entries ─▶ log
//	                                                          Send    ─▶ when the log is durable
//	                                                          Urgent  ─▶ immediately
//	                                                          Reads   ─▶ goroutines that read the log
//
// Hazard: Urgent messages overtake the log. A message that promises anything about the state of the shard
// must use Send.
//
// A leader may send urgent messages when it is deposed and does not know it (R14.8). They do no harm:
//
//	Wound                 aborts what is undecided at its last agent or gateway; the client retries
//	Push                  asks a gateway whether an attempt lives; the locks of this leader are lost anyway
//	Unseal                names an epoch of this incarnation, and the last agent drops no later one
//	UnsealResponse        drops a vote that names this incarnation; the next leader counts no such vote (R4.2)
//	LoadReport, HeatMap   are hints for the placement; a map names its incarnation, and the greatest counts
//	SnapshotListRequest   asks; its CSN only says that the shard has written
//	WaitReport            has details of errors only
//	ReadResponse          to a probe, without values; to a round only with one replica
//	Registered            to a round, as well
package step

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Never is the time of a timer that is not set.
const Never = int64(math.MaxInt64)

// Env is the environment of one shard. Its components share a pointer to it.
type Env struct {
	ID kv.ShardID
	// Inc is the incarnation of the shard.
	Inc kv.Incarnation
	// Now is the monotonic clock, in nanoseconds; only differences are meaningful. Wall is the time of day, in
	// nanoseconds since 1970, which may jump forward and backward.
	Now, Wall int64
	// SteadyNanos is for how long Wall - Now had been steady when the incarnation began.
	SteadyNanos int64
	// LeaseEnd is when the lease of the leader ends, by Now; 0 for a shard with one replica.
	LeaseEnd int64
	// IDTime is the time for new ids, in nanoseconds since 1970.
	IDTime int64
	// Steps counts the steps of the shard.
	Steps uint64
	// Mutants are the rules that a test breaks. Trace reports events that messages do not show.
	Mutants mutant.Set
	Trace   Trace
	// Log are the entries of the step so far, Out the rest of its output.
	Log Log
	Out Output

	readingCount uint64
	scratch      scratch
}

// NextReading numbers the responses to readers.
func (e *Env) NextReading() uint64 {
	e.readingCount++
	return e.readingCount
}

// Trace reports events to tests. Its functions may be nil; they must not call the shard.
type Trace struct {
	// Committed: this shard has decided txn; the instant F of the protocol.
	Committed func(txn kv.TxnRef)
	// Visible: an effect of txn became the newest visible value of its key.
	Visible func(txn kv.TxnRef, e *entry.Effect, v entry.Value, at kv.CSN)
	// SnapshotRetained: this shard retains a snapshot that was fixed at a time, by its Now.
	SnapshotRetained func(number uint64, fixed int64)
}

// Output is the result of a step. The slices belong to the caller.
type Output struct {
	Entries []entry.Entry
	// Send are messages to send when the log, with Entries, is durable.
	Send []*msg.Envelope
	// Urgent are messages to send immediately: they promise nothing.
	Urgent []*msg.Envelope
	Reads  []entry.Read
	// Dropped are the numbers of earlier reads whose results are not used any more.
	Dropped []uint64
	// Next is the latest time of the next step; math.MaxInt64 if only an event requires one.
	Next int64
	// Deposed is a later incarnation of the shard, which a message has named, else 0. Then nothing else is set, and
	// the machine must end (R3.7).
	Deposed kv.Incarnation
}

// Send sends a message when the log, as of the end of the step, is durable.
func (e *Env) Send(m *msg.Envelope) { e.Out.Send = append(e.Out.Send, m) }

// Urgent sends a message immediately. The message must not promise anything.
func (e *Env) Urgent(m *msg.Envelope) { e.Out.Urgent = append(e.Out.Urgent, m) }

// Write appends an entry to the log.
func (e *Env) Write(x entry.Entry) { e.Log.Append(x) }

// Put writes a row of a table other than the version table.
func (e *Env) Put(t entry.Table, key []byte, x Row) {
	e.Write(entry.Entry{Table: t, Key: key, Value: e.Encode(x)})
}

// Delete deletes a row of such a table.
func (e *Env) Delete(t entry.Table, key []byte) {
	e.Write(entry.Entry{Action: entry.Delete, Table: t, Key: key})
}

// Row is a generated message, or an id.
type Row interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// Encode returns the encoded row, in memory that is valid until the entries of the step are appended.
func (e *Env) Encode(x Row) []byte {
	b := e.Scratch(x.Size())
	n, err := x.MarshalToSizedBuffer(b)
	if err != nil || n != len(b) {
		panic("shard: a row took another size than it announced") // generated code does not do that
	}
	return b
}

// Scratch returns n bytes that are valid until the entries of the step are appended.
func (e *Env) Scratch(n int) []byte { return e.scratch.take(n) }

// RefKey is the key of an attempt's row.
func (e *Env) RefKey(r kv.TxnRef) []byte {
	b := e.Scratch(r.Size())
	_, _ = r.MarshalTo(b) // fails only if the buffer is too small
	return b
}

// IDKey is the key of a transaction's row.
func (e *Env) IDKey(id kv.TxnID) []byte {
	b := e.Scratch(id.Size())
	_, _ = id.MarshalTo(b) // fails only if the buffer is too small
	return b
}

// scratch is memory for the bytes of entries, many of which share an allocation.
type scratch struct{ free []byte }

// scratchChunk is the size of an allocation, in bytes. A request of more than a quarter of it has its own
// allocation, so that less than a quarter is wasted.
const scratchChunk = 16 << 10

func (r *scratch) take(n int) []byte {
	if n > scratchChunk/4 {
		return make([]byte, n)
	}
	if n > len(r.free) {
		r.free = make([]byte, scratchChunk)
	}
	b := r.free[:n:n]
	r.free = r.free[n:]
	return b
}

// MaxScratch bounds the capacity of a slice that is reused in the next step. The value is somewhat arbitrary:
// the allocation is negligible beside the work of a step that needs more.
const MaxScratch = 4096

// Emptied returns the memory of a slice for reuse in the next step. The elements are cleared, so that they
// are garbage now and not only when they are overwritten.
func Emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > MaxScratch {
		return nil
	}
	return s[:0]
}
