package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// Options are a run's.
type Options struct {
	// Clients is how many transactions are in flight. Default 12.
	Clients int
	// Readers is how many more only read, each transaction without retries, so
	// that every failure is seen. Default none.
	Readers int
	// Slack is how long after a fault a reader may fail because of it.
	Slack time.Duration
	// Keys is the number of each kind of keys. Default 8.
	Keys int
	// Timeout is the deadline of each transaction. Default 2 s.
	Timeout time.Duration
	// Seed determines what is drawn.
	Seed uint64
	// Prefix begins every key. None of these may be there at the beginning, and
	// nobody else may touch them. Default none: the store is the run's alone.
	Prefix string
}

// HotKeys are keys of a run that do well on the hot shard, without its prefix.
func HotKeys() []string { return []string{"r/0", "n/0", "a/0", "s/0"} }

// Ended is how many transactions have ended in which way.
type Ended struct{ Committed, Failed, Unknown int }

// Ended counts what has ended so far.
func (r *Run) Ended() Ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Ended{r.ended[workload.Committed], r.ended[workload.Failed], r.ended[workload.Unknown]}
}

// name is a key, with the prefix.
func (r *Run) name(format string, args ...any) string {
	return r.opt.Prefix + fmt.Sprintf(format, args...)
}

// between is the range from a key to another one, with the prefix.
func (r *Run) between(start, end string) client.Range {
	return client.Range{Start: r.name("%s", start), End: r.name("%s", end)}
}

// Run is a torture under way.
type Run struct {
	opt    Options
	dbs    []*client.DB
	record bytes.Buffer
	rec    *history.Recorder
	stop   atomic.Bool
	work   sync.WaitGroup

	mu sync.Mutex
	// more is signalled when a transaction has ended.
	more *sync.Cond
	// ended counts transactions by outcome, and errors those that did not
	// commit by kind.
	ended  map[workload.Outcome]int
	errors map[kv.Kind]int
	// unexpected are errors that no fault explains.
	unexpected []error
	// sums and doubts are, by counter, what was certainly added, and what
	// perhaps was.
	sums, doubts map[string]int64
	// reads are the transactions of those that only read, and faults what was
	// done meanwhile.
	reads  []readEnd
	faults []*fault
	// readsWell counts those of reads that ended well.
	readsWell int
}

// Start begins to run clients against the nodes at addrs. Each prefers another
// node.
func Start(t testing.TB, addrs []string, o Options) *Run {
	t.Helper()
	if o.Clients == 0 {
		o.Clients = 12
	}
	if o.Keys == 0 {
		o.Keys = 8
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	r := &Run{opt: o, ended: map[workload.Outcome]int{}, errors: map[kv.Kind]int{},
		sums: map[string]int64{}, doubts: map[string]int64{}}
	r.more = sync.NewCond(&r.mu)
	var err error
	r.rec, err = history.NewRecorder(&r.record, history.Meta{Note: fmt.Sprintf("torture, seed %d", o.Seed)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range addrs {
		r.dbs = append(r.dbs, proc.Open(t, slices.Concat(addrs[i:], addrs[:i])))
	}
	t.Cleanup(func() { // when the test gave up
		r.stop.Store(true)
		r.work.Wait()
	})
	for i := range o.Clients {
		r.work.Go(r.worker(i, r.dbs[i%len(r.dbs)]).live)
	}
	r.startReaders(t, addrs)
	return r
}

// note counts a transaction that has ended. Besides the errors that faults
// explain, there may be some of its own.
func (r *Run) note(o workload.Outcome, err error, own ...kv.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[o]++
	if err != nil {
		kind := kv.KindOf(err)
		r.errors[kind]++
		switch kind {
		case kv.KindAborted, kv.KindUnavailable, kv.KindResourceExhausted, kv.KindDeadlineExceeded, kv.KindOutcomeUnknown:
		default:
			if !slices.Contains(own, kind) {
				r.unexpected = append(r.unexpected, err)
			}
		}
	}
	r.more.Broadcast()
}

// Await waits until n more transactions have committed.
func (r *Run) Await(t testing.TB, n int) {
	t.Helper()
	r.await(t, n, "transactions do not commit any more", func() int { return r.ended[workload.Committed] })
}

// AwaitFailures waits until n more transactions have not committed. Those whose
// condition does not hold never do, and do not count.
func (r *Run) AwaitFailures(t testing.TB, n int) {
	t.Helper()
	r.await(t, n, "transactions do not fail", func() int {
		return r.ended[workload.Failed] + r.ended[workload.Unknown] - r.errors[kv.KindConditionFailed]
	})
}

// await waits until count, which is asked with the lock held, has risen by n.
func (r *Run) await(t testing.TB, n int, trouble string, count func() int) {
	t.Helper()
	late := false
	timer := time.AfterFunc(proc.WaitTimeout, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.more.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for want := count() + n; count() < want; r.more.Wait() {
		if late {
			t.Fatalf("%s: %v, errors %v", trouble, r.ended, r.errors)
		}
	}
}

// Finish ends the clients, waits until the cluster has nothing prepared any
// more, reads every key, and judges.
func (r *Run) Finish(t testing.TB) {
	t.Helper()
	r.stop.Store(true)
	r.work.Wait()
	r.settle(t)
	final := r.readAll(t)
	if err := r.rec.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d committed, %d failed, %d unknown; errors %v", r.ended[workload.Committed], r.ended[workload.Failed],
		r.ended[workload.Unknown], r.errors)
	if err := errors.Join(r.unexpected...); err != nil {
		t.Errorf("errors that no fault explains: %v", err)
	}
	r.checkSums(t, final)
	r.checkReaders(t)
	r.judge(t)
}

// settle waits until no shard has intents: nothing is half done.
func (r *Run) settle(t testing.TB) {
	t.Helper()
	var last []string
	proc.Until(t, "nothing is prepared any more", func(ctx context.Context) bool {
		last = nil
		for _, db := range r.dbs {
			shards, err := admin.New(db).Shards(ctx)
			if err != nil {
				last = append(last, err.Error())
				continue
			}
			for _, s := range shards {
				if s.Intents > 0 || s.LockWaiters > 0 {
					last = append(last, fmt.Sprintf("shard %d on node %d has %d intents, %d waiting",
						s.Shard, s.Node, s.Intents, s.LockWaiters))
				}
			}
		}
		return len(last) == 0
	}, func() string { return fmt.Sprint(last) })
}

func (r *Run) checkSums(t testing.TB, final map[string]int64) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(r.sums)) {
		if n := final[k]; n < r.sums[k] || n > r.sums[k]+r.doubts[k] {
			t.Errorf("%s is %d, and the acknowledged additions make %d, with %d in doubt", k, n, r.sums[k], r.doubts[k])
		}
	}
}

func (r *Run) judge(t testing.TB) {
	t.Helper()
	raw := r.record.Bytes()
	h, err := history.ReadAll(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer keep(t, raw)
	// What the judges see is what the clients have counted, and the last read.
	seen := map[history.Outcome]int{}
	for i := range h.Txns {
		seen[h.Txns[i].Outcome]++
	}
	c, u := r.ended[workload.Committed]+1, r.ended[workload.Unknown]
	if seen[history.Committed] != c || seen[history.Unknown] != u {
		t.Errorf("the history has %d committed transactions and %d unknown ones, and there were %d and %d",
			seen[history.Committed], seen[history.Unknown], c, u)
	}
	begin := time.Now()
	v := history.Judge(h)
	t.Logf("judged in %v: %v", time.Since(begin).Round(time.Millisecond), v)
	if !v.OK() {
		t.Errorf("not strictly serializable: %v", v)
	}
	l := history.Linearizable(r.alone(h), 20*time.Second)
	if !l.OK() {
		t.Errorf("single keys: %v", l)
	}
	if l.Keys == 0 {
		t.Error("no key was judged alone")
	}
}

// alone is the part of a history that touches the keys of single-key
// transactions, without the last read of everything.
func (r *Run) alone(h *history.History) *history.History {
	out := &history.History{Meta: h.Meta}
	for _, x := range h.Txns {
		if len(x.Ops) > 0 && strings.HasPrefix(x.Ops[0].Key, r.opt.Prefix+"s/") {
			out.Txns = append(out.Txns, x)
		}
	}
	return out
}

// keep saves the history of a test that has failed, for `zetaload check`.
func keep(t testing.TB, raw []byte) {
	if !t.Failed() {
		return
	}
	f, err := os.CreateTemp("", "linchpin-torture-*.history")
	if err != nil {
		t.Error(err)
		return
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Close())
	if err != nil {
		t.Error(err)
	}
	t.Logf("the history is kept in %s; `zetaload check` judges it again", f.Name())
}
