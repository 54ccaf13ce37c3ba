package activity

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Kept is how many seconds are remembered.
const Kept = 300

// Journal is a node's memory. Its methods may be called by any goroutine.
type Journal struct {
	classes [metrics.NumTxnKinds]class

	mu sync.Mutex
	// sealed is what the counters had when the last second was sealed.
	sealed [metrics.NumTxnKinds]counts
	// seconds are rising in time; there is none for a second without an end.
	seconds   []pb.ActivitySecond
	conflicts conflicts
	receipts  receipts
}

type class struct {
	latency [numBuckets]atomic.Uint32
	results [numResults]atomic.Uint32
}

type counts struct {
	latency [numBuckets]uint32
	results [numResults]uint32
}

// New makes an empty journal.
func New() *Journal { return &Journal{conflicts: newConflicts()} }

// Ended is a transaction that has ended.
type Ended struct {
	ID       kv.TxnID
	Kind     metrics.TxnKind
	Took     time.Duration
	Outcome  kv.Kind
	Attempts int
	*txn.Contention
	// At is when it ended, in nanoseconds since 1970. The journal sets it.
	At int64
}

// Contended reports whether there is a receipt to remember.
func (e *Ended) Contended() bool {
	return e.Receipt.WaitedNanos >= leastWait || e.Contention.Ended.Count > 0
}

// leastWait is what counts as a wait: less has no cause that a user could remove.
const leastWait = int64(time.Millisecond)

// result is what an outcome is for an operator.
type result int

const (
	committed result = iota
	// retried: the attempt was aborted, and the client retries the transaction.
	retried
	failed
	// unmet: a condition, a bound or a missing value, or the client cancelled it.
	unmet
	numResults
)

func resultOf(k kv.Kind) result {
	switch k {
	case kv.KindOK:
		return committed
	case kv.KindAborted:
		return retried
	case kv.KindConditionFailed, kv.KindOutOfRange, kv.KindNotFound, kv.KindCancelled:
		return unmet
	}
	return failed
}

// Ended takes note of a transaction. What e points to is not kept.
func (j *Journal) Ended(e *Ended) {
	c := &j.classes[e.Kind]
	c.latency[bucketOf(e.Took)].Add(1)
	c.results[resultOf(e.Outcome)].Add(1)
	if !e.Contended() {
		return
	}
	now := time.Now().UnixNano()
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Receipt.WaitedNanos >= leastWait {
		j.conflicts.add(now, &e.Receipt, sums{Waits: 1, Nanos: e.Receipt.WaitedNanos})
	}
	if by := e.Contention.Ended.By; by != nil {
		j.conflicts.add(now, by, sums{Aborts: 1})
	}
	j.receipts.add(now, e)
}

// Seal ends a second: what has ended since the last call is counted in it. It is
// to be called once a second; now is the time of day.
func (j *Journal) Seal(now time.Time) {
	at := now.Unix()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := pb.ActivitySecond{TimeS: at}
	for k := range j.classes {
		if c := j.classes[k].since(&j.sealed[k]); c.Ended > 0 {
			c.Kind = metrics.TxnKind(k).String()
			s.Classes = append(s.Classes, c)
		}
	}
	if n := len(j.seconds); n > 0 && j.seconds[n-1].TimeS >= at {
		at = j.seconds[n-1].TimeS + 1 // the clock was set back, or the caller was late
		s.TimeS = at
	}
	if len(s.Classes) > 0 {
		j.seconds = append(j.seconds, s)
	}
	old := 0
	for old < len(j.seconds) && j.seconds[old].TimeS <= at-Kept {
		old++
	}
	j.seconds = append(j.seconds[:0], j.seconds[old:]...)
	j.conflicts.rotate(now.UnixNano())
}

// since is what the counters have gained.
func (c *class) since(before *counts) (out pb.ActivityClass) {
	for i := range c.latency {
		n := c.latency[i].Load()
		if d := n - before.latency[i]; d > 0 {
			out.UpperUs, out.Counts = append(out.UpperUs, uint64(upper(i).Microseconds())), append(out.Counts, d)
			out.Ended += d
			before.latency[i] = n
		}
	}
	var gained [numResults]uint32
	for i := range c.results {
		n := c.results[i].Load()
		gained[i], before.results[i] = n-before.results[i], n
	}
	out.Committed, out.Retried, out.Failed = gained[committed], gained[retried], gained[failed]
	return out
}

// Seconds lists those after a time, in seconds since 1970, that are over. They
// are not to be changed.
func (j *Journal) Seconds(after int64) []pb.ActivitySecond {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := len(j.seconds)
	for from > 0 && j.seconds[from-1].TimeS > after {
		from--
	}
	return append([]pb.ActivitySecond(nil), j.seconds[from:]...)
}

// Receipts lists the last at most n, newest first. They are not to be changed.
func (j *Journal) Receipts(n int) []Ended {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.receipts.newest(n)
}

// Conflicts lists all that is in the table, those first for which most was waited.
func (j *Journal) Conflicts() []Conflict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.conflicts.list()
}
