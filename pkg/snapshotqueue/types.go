package snapshotqueue

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Need is what a reader sees, or an update changes, as others see it. Methods
// say for what, to those who have to wait; no decision depends on them.
type Need struct {
	Span    kv.Span
	Mode    adt.Mode
	Methods adt.Methods
}

// commutes reports whether what one does and the other sees are independent.
func (n *Need) commutes(o *Need) bool {
	return adt.Compatible(n.Mode, o.Mode) || !n.Span.Overlaps(o.Span)
}

func commute(a, b []Need) bool {
	for i := range a {
		for j := range b {
			if !a[i].commutes(&b[j]) {
				return false
			}
		}
	}
	return true
}

// State is where an update stands.
type State uint8

const (
	// Held: a reader that does not commute with it is registered, or nothing
	// may seal yet.
	Held State = iota
	// Sealed: it may be decided at any moment; new readers wait for it.
	Sealed
	// Recovered: prepared in an earlier life of the shard, and possibly sealed
	// then. Readers wait for it, and its votes say that it is held.
	Recovered
	// Unheld, of a piece that readers have held: they do so no more, but it is not
	// decided. It waits for locks, or for votes anew.
	Unheld
)

func (s State) String() string { return [...]string{"held", "sealed", "recovered", "unheld"}[s] }

// Options are what a shard's queues are made with.
type Options struct {
	Incarnation kv.Incarnation
	// SealFrom is when updates may seal and pieces be decided: in a new life,
	// one lease after its start.
	SealFrom int64
	// UnsealAfter is for how long a read waits before the last agents are
	// asked to unseal, and Repeat the time between two such requests. Defaults
	// kv.DefaultUnsealAfter and kv.DefaultRepeat.
	UnsealAfter, Repeat time.Duration
	// HoldBound is the held age above which an update closes the queues of the keys
	// that it writes. Default kv.DefaultHoldBound.
	HoldBound time.Duration
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
}

func (o Options) withDefaults() Options {
	def := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	def(&o.UnsealAfter, kv.DefaultUnsealAfter)
	def(&o.Repeat, kv.DefaultRepeat)
	def(&o.HoldBound, kv.DefaultHoldBound)
	return o
}

// Read is one read of a reader, from Enter until it is ready. The caller fills
// in the first part.
type Read struct {
	// Reader is the transaction, with a name that no other attempt has had.
	Reader kv.TxnRef
	Needs  []Need
	// Lasting registers the reader until it leaves; else it is registered only
	// while it waits.
	Lasting bool
	// Stays has it registered until Done even if it need not wait, because
	// reading goes on after that.
	Stays bool
	// Whole fixes the shard's index, for a round of pins. It is never refused.
	Whole bool
	// Until is when the registration lapses at the latest.
	Until int64
	// EndsHere: the reader ends when this process does, so that no later incarnation has to
	// wait for it. It is the same for all reads of a reader.
	EndsHere bool
	// Tag is the caller's.
	Tag any

	state readState
	since int64
	// registered: its reader's registration is for it, among others.
	registered bool
	// waits are the updates that it waits for; ask is when to have them
	// unsealed.
	waits []*update
	ask   int64
	// by is the update that it waited for last, waited for how long in all.
	by     *update
	waited int64
}

// Refused reports whether the read came to a queue that is closed. It was not
// registered for it, and is over: its reader reads at a pin.
func (r *Read) Refused() bool { return r.state == readRefused }

// Since is when the read was entered.
func (r *Read) Since() int64 { return r.since }

// Waited is how long the read waited, in nanoseconds, for which key and for
// which update, the last if there were several; zero until it is ready, and if
// it did not wait.
func (r *Read) Waited() (nanos int64, key []byte, holder kv.TxnRef) {
	if r.waited == 0 || r.by == nil {
		return r.waited, nil, kv.TxnRef{}
	}
	for i := range r.by.needs {
		if n := &r.by.needs[i]; !commute(r.Needs, r.by.needs[i:i+1]) {
			return r.waited, n.Span.Start, r.by.txn
		}
	}
	return r.waited, nil, r.by.txn
}

// Receipt is the same with what the update does, also while the read waits.
func (r *Read) Receipt(now int64) msg.Receipt {
	nanos, by := r.waited, r.by
	open := r.state == readWaiting
	if open {
		nanos = now - r.since
		if len(r.waits) > 0 {
			by = r.waits[0]
		}
	}
	if nanos <= 0 || by == nil {
		return msg.Receipt{}
	}
	out := msg.Receipt{WaitedNanos: nanos, Open: open, Cause: msg.CauseIntent, Holder: by.txn, Mode: uint64(adt.ModeRead), Methods: uint64(adt.MethodOpenView.Set())}
	if open && len(r.waits) > 1 {
		out.Others = uint16(min(len(r.waits)-1, math.MaxUint16))
	}
	for i := range by.needs {
		if n := &by.needs[i]; !commute(r.Needs, by.needs[i:i+1]) {
			out.Key, out.HolderMode, out.HolderMethods = n.Span.Start, uint64(n.Mode), uint64(n.Methods)
			break
		}
	}
	return out
}

type readState uint8

const (
	_ readState = iota
	// readWaiting: registered; waits is not empty.
	readWaiting
	readReady
	readOver
	// readRefused: never registered.
	readRefused
)

// Ask is a request to unseal an update.
type Ask struct {
	Txn   kv.TxnRef
	Epoch kv.Epoch
}

// Counters count what the queues did; they only rise.
type Counters struct {
	// Reads counts those that came, Waits those that had to wait, Refusals those
	// that came to a closed queue.
	Reads, Waits, Refusals uint64
	// Holds counts updates that a reader held, HeldNanos for how long.
	Holds     uint64
	HeldNanos int64
	// Unseals counts updates that were unsealed, Lapses registrations that
	// lapsed.
	Unseals, Lapses uint64
}
