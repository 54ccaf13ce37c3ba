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

// Options are a table's bounds and times.
type Options struct {
	// MaxPhaseCount bounds the members of a phase while an older request
	// waits. Default kv.DefaultPhaseCount.
	MaxPhaseCount int
	// MaxPhaseTime bounds its length. Default kv.DefaultPhaseTime.
	MaxPhaseTime time.Duration
	// NoPhasing has the younger wait behind an older request even if they go
	// together with the running phase.
	NoPhasing bool
	// Repeat is the time between two marks for one wait. Default
	// kv.DefaultRepeat.
	Repeat time.Duration
	// Grace is how long a prepared holder is left alone at most (SetGrace).
	// Default kv.DefaultMarkGrace.
	Grace time.Duration
	// Liveness is how long a wait lasts before the holders are pushed.
	// Default kv.DefaultLiveness.
	Liveness time.Duration
	// MaxWaiters bounds the waiting requests; one more is refused. Default
	// kv.DefaultMaxWaiters.
	MaxWaiters int
	// MaxKeyWaiters bounds those that wait for one key: at most so many, and no
	// more than could still come for others, except for a few. Default a
	// quarter of MaxWaiters.
	MaxKeyWaiters int
	// HoldBurst is how long the locks of one user may hold up other users at once (shares). Default
	// kv.DefaultHoldBurst.
	HoldBurst time.Duration
	// Mutants are the rules to break, in tests.
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
		o.MaxKeyWaiters = max(o.MaxWaiters/4, fewWaiters)
	}
	def(&o.MaxPhaseTime, kv.DefaultPhaseTime)
	def(&o.Repeat, kv.DefaultRepeat)
	def(&o.Grace, kv.DefaultMarkGrace)
	def(&o.Liveness, kv.DefaultLiveness)
	def(&o.HoldBurst, kv.DefaultHoldBurst)
	return o
}

// fewWaiters may wait for a key whatever others do. Somewhat arbitrary: a key with
// so few is not the one that is hot.
const fewWaiters = 16

// Need is a mode on a span. Methods and Short say for what and why, for receipts; no decision depends on
// them.
type Need struct {
	Span    kv.Span
	Mode    adt.Mode
	Methods adt.Methods
	// Short is as in adt.Plan.
	Short *adt.Shortage
}

// join adds the mode and the reasons of another need on the same span, if one mode can stand for both.
func (n *Need) join(o *Need) bool {
	mode, ok := adt.Join(n.Mode, o.Mode)
	if ok {
		n.Mode, n.Methods, n.Short = mode, n.Methods.With(o.Methods), cmp.Or(n.Short, o.Short)
	}
	return ok
}

// Normalize sorts needs and joins those of one span.
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
		if isSame(last.Span, n.Span) {
			if last.join(&n) || joined(out, &n) {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// joined adds a need to one of those of the same span at the end of out, where a
// data type needs several.
func joined(out []Need, n *Need) bool {
	for i := len(out) - 1; i >= 0; i-- {
		o := &out[i]
		if !isSame(o.Span, n.Span) {
			return false
		}
		if o.join(n) {
			return true
		}
	}
	return false
}

func isSame(a, b kv.Span) bool {
	return a.IsPoint() == b.IsPoint() && bytes.Equal(a.Start, b.Start) && bytes.Equal(a.End, b.End)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Request asks for all of Needs at once.
type Request struct {
	Txn kv.TxnRef
	// Begun is when the transaction counts as begun, 0 for the time in its id (kv.Age). While
	// the transaction holds a lock in the table, that of its first lock counts.
	Begun int64
	// User is whose transaction it is, 0 if that is not known.
	User  kv.Account
	Needs []Need
	// Lasting: the transaction may hold its locks for as long as its client likes. It is refused if
	// its user's share is used up (Debt).
	Lasting bool
	// Instant: granted means "run now"; nothing is held afterwards.
	Instant bool
	// NoWait: the transaction is marked and dies rather than wait.
	NoWait bool
	// Admitted: it is not refused, however many wait. Nor is one whose
	// transaction holds something here.
	Admitted bool
	// Tag is the caller's, to find its own again.
	Tag any
	// Absent tells whether a key does not exist; it is asked only for the
	// mutant RangeLocksPresentOnly and may be nil.
	Absent func(key []byte) bool

	// spared are holders that had just prepared when r came; only for the
	// mutant MarksOnce.
	spared   []*owner
	since    int64
	nextMark int64
	nextPush int64
	waiting  bool
	// wait is what stood in the way first and, when that is over, for how long.
	wait   msg.Receipt
	grants []Grant
	// after and upTo are between which numbers the grants are that are new with it.
	after, upTo uint64
	sequence    uint64
}

func (r *Request) age() kv.Age { return kv.AgeOf(r.Txn, r.Begun) }
func (o *owner) age() kv.Age   { return kv.AgeOf(o.txn, o.begun) }

// Grants are the locks that a granted request was given; none if Instant.
func (r *Request) Grants() []Grant { return r.grants }

// Waiting reports whether the request stands in the queue.
func (r *Request) Waiting() bool { return r.waiting }

// Waited is how long the request waited, in nanoseconds, for which key and
// behind whom; zero if it did not wait, or still does.
func (r *Request) Waited() (nanos int64, key []byte, holder kv.TxnRef) {
	return r.wait.WaitedNanos, r.wait.Key, r.wait.Holder
}

// Receipt is what stood in the way when the request came, and for how long it
// waited: 0 if it did not, or died at once. Of a request that waits, see
// Table.Receipt.
func (r *Request) Receipt() msg.Receipt { return r.wait }

// Grant is a lock that was given.
type Grant struct {
	Span   kv.Span
	Mode   adt.Mode
	Number uint64
}

// Decision is what becomes of a request at once.
type Decision uint8

const (
	// Granted: it holds what it needs (Instant: run it now).
	Granted Decision = iota
	// Waiting: it stands in the queue; Next will return it.
	Waiting
	// Died: NoWait, and it would have had to wait.
	Died
	// Full: the queue has MaxWaiters requests.
	Full
	// Overdrawn: its user's locks have held up others for too long.
	Overdrawn
	// Crowded: so many of them wait for one of its keys, which Waited tells, that
	// the others need the room.
	Crowded
)

func (d Decision) String() string {
	return [...]string{"granted", "waiting", "died", "full", "overdrawn", "rejected"}[d]
}

// Mark says that Holder stands in the way of By, which is older.
type Mark struct {
	Holder, By kv.TxnRef
	// Prepared: the mark is for the holder's last agent.
	Prepared bool
	// Conflict is the holder's: its lock, and what By needs.
	Conflict msg.Receipt
}

// Counters count what the table did; they only rise.
type Counters struct {
	Granted, Waits, Marks, Died, Full, Crowded uint64
	// WaitNanos is the time that granted requests had waited.
	WaitNanos int64
	// Phases counts the phases of keys that were opened, Joins the locks that
	// were granted beside others in a phase that ran. Ranges count for neither.
	Phases, Joins uint64
}

// holder is one grant as it stands in an entry.
type holder struct {
	owner   *owner
	mode    adt.Mode
	methods adt.Methods
	short   *adt.Shortage
	number  uint64
}

// owner is a transaction with grants in the table.
type owner struct {
	txn   kv.TxnRef
	begun int64
	user  kv.Account
	// since is when its first lock was granted; wanted: a request of another user waits for it.
	since      int64
	wanted     bool
	points     []*entry
	ranges     []*rangeHold
	prepared   bool
	preparedAt int64
}

// entry is the state of one key.
type entry struct {
	key     string
	holders []holder
	// waiters are by age, oldest first.
	waiters []*Request
	dirty   bool
	// the running phase
	phaseSince int64
	phaseCount int
}

type rangeHold struct {
	span kv.Span
	holder
	// uses counts the requests that were granted this lock.
	uses int
}
