// Package env is what the parts of a shard see of the shard around them: who it
// is, the time, and the output of the step. A part owns everything else that it
// works on, and returns what it has found out.
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

// Env is one shard's environment. Its parts share a pointer to it.
type Env struct {
	ID kv.ShardID
	// Inc is the shard's incarnation.
	Inc kv.Incarnation
	// Now is the monotonic clock, in nanoseconds; only its differences have a meaning.
	// Wall is the time of day, in nanoseconds since 1970, which may jump either way.
	Now, Wall int64
	// IDTime is the time that new ids should be near, in nanoseconds since 1970.
	IDTime int64
	// Steps counts the shard's steps.
	Steps uint64
	// Mutants are the rules to break, in tests. Trace hears of what the messages do not show.
	Mutants mutant.Set
	Trace   Trace
	// Out is the output of the step so far.
	Out Output

	readings uint64
	rows     rows
}

// NextReading numbers the answers to readers.
func (e *Env) NextReading() uint64 {
	e.readings++
	return e.readings
}

// Trace is told, in tests, what the messages alone do not show. Its functions may be nil; they must
// not call the machine.
type Trace struct {
	// Committed: this shard has decided txn; the instant F of the protocol.
	Committed func(txn kv.TxnRef)
	// Shown: an effect of txn became the newest visible value of its key.
	Shown func(txn kv.TxnRef, e *entry.Effect, v entry.Value, at kv.Index)
	// Kept: this shard keeps a snapshot, whose state was the current one at fixed, by its Now.
	Kept func(number uint64, fixed int64)
}

// Output is what a step wants done. The slices belong to the caller.
type Output struct {
	Entries []entry.Entry
	// Send leaves when the log as it now stands is durable.
	Send []*msg.Envelope
	// Urgent leaves at once: it promises nothing.
	Urgent []*msg.Envelope
	Reads  []entry.Read
	// Dropped are the numbers of earlier reads of which the shard does not use the results any more.
	Dropped []uint64
	// Next is when to call Step again at the latest; math.MaxInt64 for when
	// something arrives.
	Next int64
}

// Send has a message leave when the log as it stands at the end of the step is durable.
func (e *Env) Send(m *msg.Envelope) { e.Out.Send = append(e.Out.Send, m) }

// Urgent has a message leave at once. It must promise nothing.
func (e *Env) Urgent(m *msg.Envelope) { e.Out.Urgent = append(e.Out.Urgent, m) }

// Write appends an entry to the log.
func (e *Env) Write(x entry.Entry) { e.Out.Entries = append(e.Out.Entries, x) }

// Put writes a row of a table other than that of versions.
func (e *Env) Put(t entry.Table, key []byte, x Row) {
	e.Write(entry.Entry{Table: t, Key: key, Value: e.Encode(x)})
}

// Delete removes a row of such a table.
func (e *Env) Delete(t entry.Table, key []byte) {
	e.Write(entry.Entry{Action: entry.Delete, Table: t, Key: key})
}

// Row is a generated message, or an id.
type Row interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// Encode gives the bytes of a row, in room that lasts until the step's entries are appended.
func (e *Env) Encode(x Row) []byte {
	b := e.Room(x.Size())
	n, err := x.MarshalToSizedBuffer(b)
	if err != nil || n != len(b) {
		panic("shard: a row took another size than it announced") // generated code does not
	}
	return b
}

// Room gives n bytes for what lasts until the step's entries are appended.
func (e *Env) Room(n int) []byte { return e.rows.take(n) }

// RefKey is the key of an attempt's row.
func (e *Env) RefKey(r kv.TxnRef) []byte {
	b := e.Room(r.Size())
	_, _ = r.MarshalTo(b) // fails only for want of room
	return b
}

// IDKey is the key of a transaction's row.
func (e *Env) IDKey(id kv.TxnID) []byte {
	b := e.Room(id.Size())
	_, _ = id.MarshalTo(b) // fails only for want of room
	return b
}

// rows is room for the bytes of entries, many of which share an allocation.
type rows struct{ free []byte }

// chunk is how much room is made at a time, in bytes; what is larger than a quarter of it
// gets room of its own, so that little is wasted.
const chunk = 16 << 10

func (r *rows) take(n int) []byte {
	if n > chunk/4 {
		return make([]byte, n)
	}
	if n > len(r.free) {
		r.free = make([]byte, chunk)
	}
	b := r.free[:n:n]
	r.free = r.free[n:]
	return b
}

// MaxRoom bounds the room that is kept for the next step. Somewhat arbitrary: a
// step that needs more has so much to do that it does not matter.
const MaxRoom = 4096

// Emptied is the room of a slice for the next step, without what was in it: else
// that would stay in memory until it is written over.
func Emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > MaxRoom {
		return nil
	}
	return s[:0]
}
