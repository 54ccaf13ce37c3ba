package locktable

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Options are the bounds and times of a table. The zero value of a field is its default.
type Options struct {
	// MaxPhaseCount bounds the members of a phase while an older request waits. Default kv.DefaultPhaseCount.
	MaxPhaseCount int
	// MaxPhaseTime bounds the duration of such a phase. Default kv.DefaultPhaseTime.
	MaxPhaseTime time.Duration
	// NoPhasing disables joining a phase: a request queues behind every older incompatible waiter.
	NoPhasing bool
	// WoundInterval is the time between two wounds by one waiting request. Default kv.DefaultRepeat.
	WoundInterval time.Duration
	// WoundDelay is the largest time for which a prepared holder is not wounded; see SetWoundDelay. Default
	// kv.DefaultWoundDelay.
	WoundDelay time.Duration
	// PushInterval is how long a request waits before the holders are pushed, and between two pushes. Default
	// kv.DefaultLiveness.
	PushInterval time.Duration
	// MaxWaiters bounds the waiting requests of the table. Default kv.DefaultMaxWaiters.
	MaxWaiters int
	// MaxKeyWaiters bounds the waiting requests of one key. As the table fills up, the bound of a key falls to
	// the number of requests that the table can still admit, but not below minKeyWaiters. Default a quarter of
	// MaxWaiters.
	MaxKeyWaiters int
	// Mutants are the rules that a test breaks.
	Mutants mutant.Set
}

func (o Options) withDefaults() Options {
	def := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	if o.MaxPhaseCount == 0 {
		o.MaxPhaseCount = kv.DefaultPhaseCount
	}
	if o.MaxWaiters == 0 {
		o.MaxWaiters = kv.DefaultMaxWaiters
	}
	if o.MaxKeyWaiters == 0 {
		o.MaxKeyWaiters = max(o.MaxWaiters/4, minKeyWaiters)
	}
	def(&o.MaxPhaseTime, kv.DefaultPhaseTime)
	def(&o.WoundInterval, kv.DefaultRepeat)
	def(&o.WoundDelay, kv.DefaultWoundDelay)
	def(&o.PushInterval, kv.DefaultLiveness)
	return o
}

// minKeyWaiters is the number of requests that can wait for a key however full the table is. The value is
// somewhat arbitrary: a key with so few waiters is not the hot one.
const minKeyWaiters = 16

// Need is a lock that a request needs.
type Need = adt.Need

// Normalize sorts needs by span and merges those of the same span. It changes its argument.
func Normalize(needs []Need) []Need {
	if len(needs) < 2 {
		return needs
	}
	slices.SortFunc(needs, func(a, b Need) int {
		if c := bytes.Compare(a.Span.Start, b.Span.Start); c != 0 {
			return c
		}
		if a.Span.IsPoint() != b.Span.IsPoint() {
			return cmp.Compare(boolInt(b.Span.IsPoint()), boolInt(a.Span.IsPoint()))
		}
		return bytes.Compare(a.Span.End, b.Span.End)
	})
	out := needs[:1]
	for _, n := range needs[1:] {
		last := &out[len(out)-1]
		if isSameSpan(last.Span, n.Span) {
			if last.Join(&n) || joinAny(out, &n) {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// joinAny merges n into one of the needs of the same span at the end of out. A data type may need several
// modes on one span that cannot be merged.
func joinAny(out []Need, n *Need) bool {
	for i := len(out) - 1; i >= 0; i-- {
		o := &out[i]
		if !isSameSpan(o.Span, n.Span) {
			return false
		}
		if o.Join(n) {
			return true
		}
	}
	return false
}

func isSameSpan(a, b kv.Span) bool {
	return a.IsPoint() == b.IsPoint() && bytes.Equal(a.Start, b.Start) && bytes.Equal(a.End, b.End)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Request is a request for all of Needs together. The first part is set by the caller.
type Request struct {
	Txn kv.TxnRef
	// Begun is the begin time of the transaction, 0 for the time in its id (kv.Age). While the transaction holds
	// a lock in the table, the begin time of its first lock counts.
	Begun int64
	// User is the user of the transaction, 0 if unknown.
	User  kv.Account
	Needs []Need
	// Lasting: the client decides when the locks are released. The request is rejected if the share of its user
	// is used up (Debt).
	Lasting bool
	// Instant: the caller executes the request in the step of the grant, and nothing is held afterwards.
	Instant bool
	// NoWait: the transaction is wounded. If the request would wait, it is aborted.
	NoWait bool
	// Admitted: the bounds of the queues do not apply. Nor do they if the transaction holds a lock here.
	Admitted bool
	// Tag belongs to the caller.
	Tag any
	// Absent reports whether a key does not exist. Only the mutant RangeLocksPresentOnly calls it; it may be
	// nil.
	Absent func(key []byte) bool

	waitingSince int64
	// nextWound and nextPush are when Tick wounds and pushes the blockers of this request.
	nextWound int64
	nextPush  int64
	waiting   bool
	// receipt is the first blocker and, once r is granted or aborted, the time for which r waited.
	receipt msg.Receipt
	grants  []Grant
	// The grants with numbers above newAfter and up to newUpTo were made for this request; the other grants of
	// the request existed before.
	newAfter, newUpTo uint64
	sequence          uint64
}

// age is the age of the request's transaction in this table.
func (r *Request) age() kv.Age { return kv.AgeOf(r.Txn, r.Begun) }
func (o *owner) age() kv.Age   { return kv.AgeOf(o.txn, o.begun) }

// Grants are the locks of a granted request, in the order of Needs. An Instant request has none.
func (r *Request) Grants() []Grant { return r.grants }

// Waiting reports whether the request is in the queues.
func (r *Request) Waiting() bool { return r.waiting }

// Waited returns for how long the request waited, in nanoseconds, with the key and the holder of its first
// conflict. The time is zero if the request did not wait or still waits.
func (r *Request) Waited() (nanos int64, key []byte, holder kv.TxnRef) {
	return r.receipt.WaitedNanos, r.receipt.Key, r.receipt.Holder
}

// Receipt returns the first conflict of the request and the time it waited: 0 if it did not wait. For a
// request that still waits see Table.Receipt.
func (r *Request) Receipt() msg.Receipt { return r.receipt }

// Grant is a granted lock. Number identifies the grant.
type Grant struct {
	Span   kv.Span
	Mode   adt.Mode
	Number uint64
}

// Decision is the result of Acquire.
type Decision uint8

const (
	// Granted: the request holds its needs. An Instant one is to be executed now.
	Granted Decision = iota
	// Waiting: the request is queued. Next returns it when it is granted.
	Waiting
	// Aborted: NoWait is set, and the request would have waited.
	Aborted
	// QueueFull: MaxWaiters requests are waiting.
	QueueFull
	// ShareExhausted: the locks of the user have blocked other users for longer than the user's share.
	ShareExhausted
	// KeyQueueFull: the queue of one of its keys, which Waited returns, is full. The rest of the table is left
	// to requests for other keys.
	KeyQueueFull
)

func (d Decision) String() string {
	return [...]string{"granted", "waiting", "aborted", "full", "share exhausted", "rejected"}[d]
}

// Wound is a wound of Holder, which blocks the older transaction By.
type Wound struct {
	Holder, By kv.TxnRef
	// Prepared: Holder has prepared here, so the wound is for its last agent.
	Prepared bool
	// Conflict is the receipt for the holder: its lock, and what By needs.
	Conflict msg.Receipt
}

// Counters are the counters of a table. They never fall.
// Granted counts grants, Waits requests that were queued, Wounds the wounds, Aborted requests that were aborted because
// of a wound, QueueFull and KeyQueueFull requests that were rejected by the bounds of the table and of a key.
type Counters struct {
	Granted, Waits, Wounds, Aborted, QueueFull, KeyQueueFull uint64
	// WaitNanos is the total time for which granted requests had waited.
	WaitNanos int64
	// Phases is the number of phases opened, Joins the number of locks granted in a running phase. Range locks
	// are not counted.
	Phases, Joins uint64
}

// holder is one grant in an entry.
type holder struct {
	owner   *owner
	mode    adt.Mode
	methods adt.Methods
	short   *adt.Shortage
	number  uint64
}

// owner is a transaction that holds locks in the table.
// Its begin time, user and state as prepared apply to all of its locks.
type owner struct {
	txn   kv.TxnRef
	begun int64
	user  kv.Account
	// heldSince is when its first lock was granted. blocksOthers: a request of another user waits for one of its
	// locks, and the user is charged.
	heldSince    int64
	blocksOthers bool
	points       []*entry
	ranges       []*heldRange
	prepared     bool
	preparedAt   int64
}

// entry is the state of one key.
// An entry exists while its key has holders or waiters; a phase lasts while it has holders.
type entry struct {
	key     string
	holders []holder
	// waiters are ordered by age, oldest first.
	waiters []*Request
	dirty   bool
	// phaseSince is when the running phase was opened, phaseCount the number of locks granted in it.
	phaseSince int64
	phaseCount int
}

// heldRange is a range lock.
type heldRange struct {
	span kv.Span
	holder
	// uses is the number of requests that were granted this lock.
	uses int
}
