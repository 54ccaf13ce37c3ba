package snapshotqueue

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Need is one access of a reader or an update: a span and the lock mode that describes what is read or changed.
//
// Examples: a reader of k needs {k, read}; one of "contains x" on the set s needs {s, present(x)} or {s, absent(x)},
// and is not in the way of an update that adds y; a round needs {all keys, read}.
type Need = adt.Need

// commute reports whether all accesses of a and b are independent.
func commute(a, b []Need) bool {
	for i := range a {
		for j := range b {
			if !a[i].Commutes(&b[j]) {
				return false
			}
		}
	}
	return true
}

// State is the state of an update.
type State uint8

const (
	// Held: a registered reader does not commute with the update, or the shard may not seal yet after a restart.
	Held State = iota
	// Sealed: the last agent may decide the update at any time. New readers wait for the decision.
	Sealed
	// Recovered: prepared in an earlier incarnation, in which it may have been sealed. Readers wait for it as if it were
	// sealed; its votes report it as held.
	Recovered
	// Unheld, of a piece of the last agent: no registered reader holds it any longer, but it is undecided. It waits for
	// locks, or for votes.
	Unheld
)

func (s State) String() string { return [...]string{"held", "sealed", "recovered", "unheld"}[s] }

// Options configure the queues of a shard.
type Options struct {
	Incarnation kv.Incarnation
	// SealFrom is the time from which on updates may seal and pieces may be decided. After a restart it is the end of
	// the leases of earlier incarnations.
	SealFrom int64
	// UnsealAfter is how long a read waits before the queues request unsealing from the last agents; Repeat is the
	// time between two such requests. Defaults: kv.DefaultUnsealAfter and kv.DefaultRepeat.
	UnsealAfter, Repeat time.Duration
	// CloseAfter is the time blocked above which an update closes the queues of the keys that it writes. Default:
	// kv.DefaultMaxTimeBlocked.
	CloseAfter time.Duration
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
	def(&o.CloseAfter, kv.DefaultMaxTimeBlocked)
	return o
}

// Read is one read of a reader, from Enter until Done. The caller sets the exported fields.
type Read struct {
	// Reader is the transaction. No other attempt has ever had this name.
	Reader kv.TxnRef
	Needs  []Need
	// Lasting: the reader stays registered until it deregisters. Otherwise it is registered only while it waits.
	Lasting bool
	// UntilDone: the read is registered until Done even if it does not wait, because it continues after Enter.
	UntilDone bool
	// WholeShard: the read fixes the shard's CSN for a snapshot round. It is never refused.
	WholeShard bool
	// Until is the end of the lease, unless it is renewed.
	Until int64
	// SameProcess: the reader's gateway is in this process, so a later incarnation need not wait for its lease. All reads
	// of a reader have the same value.
	SameProcess bool
	// Tag belongs to the caller.
	Tag any

	state readState
	since int64
	// registered: the reader's registration covers this read, possibly among others.
	registered bool
	// waits are the updates that the read waits for. At unsealAt their unsealing is requested.
	waits    []*update
	unsealAt int64
	// lastWait is the update that the read waited for last; waited is the total waiting time, in nanoseconds.
	lastWait *update
	waited   int64
}

// Refused reports whether the queue of a needed key was closed. The read has ended without a registration; its reader
// reads at a snapshot instead.
func (r *Read) Refused() bool { return r.state == readRefused }

// Since is the time of Enter.
func (r *Read) Since() int64 { return r.since }

// Waited returns how long a ready read waited, in nanoseconds, and the key and the update it waited for last. All are
// zero if the read did not wait or is not ready.
func (r *Read) Waited() (nanos int64, key []byte, holder kv.TxnRef) {
	if r.waited == 0 || r.lastWait == nil {
		return r.waited, nil, kv.TxnRef{}
	}
	for i := range r.lastWait.needs {
		if n := &r.lastWait.needs[i]; !commute(r.Needs, r.lastWait.needs[i:i+1]) {
			return r.waited, n.Span.Start, r.lastWait.txn
		}
	}
	return r.waited, nil, r.lastWait.txn
}

// Receipt returns the same with the operations of the update. A read that still waits has an open receipt.
func (r *Read) Receipt(now int64) msg.Receipt {
	nanos, by := r.waited, r.lastWait
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
	out := msg.Receipt{WaitedNanos: nanos, Open: open, Cause: msg.CauseIntent, Holder: by.txn,
		Mode: uint64(adt.ModeRead), Methods: uint64(adt.MethodOpenView.Set())}
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
	readEnded
	// readRefused: never registered.
	readRefused
)

// UnsealRequest is a request to the last agent of an update to unseal it.
// All epochs up to Epoch are to be dropped: a vote with one of them, which may be in flight, does not count afterwards.
type UnsealRequest struct {
	Txn   kv.TxnRef
	Epoch kv.Epoch
}

// Counters count events; they only rise.
type Counters struct {
	// Reads counts reads, Waits those that had to wait, Refusals those that found a closed queue.
	Reads, Waits, Refusals uint64
	// Holds counts updates that a reader held; HeldNanos is for how long in total.
	Holds     uint64
	HeldNanos int64
	// Unseals counts unsealed updates, Lapses expired registrations.
	Unseals, Expirations uint64
}
