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

// Options are the options of a run.
type Options struct {
	// Clients is the number of concurrent clients. The default is 12.
	Clients int
	// Readers is the number of additional read-only clients, which do not retry. The default is 0.
	Readers int
	// Slack is the time after a fault during which a reader may fail because of it.
	Slack time.Duration
	// Keys is the number of keys of each kind. The default is 8.
	Keys int
	// Timeout is the timeout of each transaction. The default is 2 s.
	Timeout time.Duration
	// NoRetry makes the clients report the first error of each transaction.
	NoRetry bool
	// Seed seeds the random choices.
	Seed uint64
	// Prefix is the prefix of every key. No such key may exist at the start, and no other client may use one.
	// The default is empty: the run is the only user of the store.
	Prefix string
}

// HotKeys returns keys of a run that belong on the hot shard, without the prefix.
func HotKeys() []string { return []string{"r/0", "n/0", "a/0", "s/0"} }

// HotKeyArgs are arguments of a node that put these keys on the hot shard.
func HotKeyArgs() (args []string) {
	for _, k := range HotKeys() {
		args = append(args, "--hot-key", k)
	}
	return args
}

// OutcomeCounts are numbers of transactions by outcome. Unavailable counts those of the failed ones with that kind.
type OutcomeCounts struct{ Committed, Failed, Unknown, Unavailable int }

// Counts returns the numbers of transactions so far.
func (r *Run) Counts() OutcomeCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return OutcomeCounts{r.ended[workload.Committed], r.ended[workload.Failed], r.ended[workload.Unknown],
		r.errors[kv.KindUnavailable]}
}

// key returns a key with the prefix.
func (r *Run) key(format string, args ...any) string {
	return r.opt.Prefix + fmt.Sprintf(format, args...)
}

// keyRange returns the range between two keys, with the prefix.
func (r *Run) keyRange(start, end string) client.Range {
	return client.Range{Start: r.key("%s", start), End: r.key("%s", end)}
}

// Run is a run in progress.
type Run struct {
	opt    Options
	dbs    []*client.DB
	record bytes.Buffer
	rec    *history.Recorder
	stop   atomic.Bool
	work   sync.WaitGroup

	mu sync.Mutex
	// more is signaled when a transaction has ended.
	more *sync.Cond
	// ended counts transactions by outcome, errors counts those that have not committed by kind.
	ended  map[workload.Outcome]int
	errors map[kv.Kind]int
	// unexpected are errors that no fault explains.
	unexpected []error
	// sums and unknownSums are the additions to each counter that have committed, and those whose outcome is
	// unknown.
	sums, unknownSums map[string]int64
	// reads are the transactions of the read-only clients, faults are the registered faults.
	reads  []readResult
	faults []*fault
	// readsCommitted counts the reads that have committed.
	readsCommitted int
}

// Start starts clients of the nodes at addrs. Each client prefers another node.
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
		sums: map[string]int64{}, unknownSums: map[string]int64{}}
	r.more = sync.NewCond(&r.mu)
	var err error
	r.rec, err = history.NewRecorder(&r.record, history.Meta{Note: fmt.Sprintf("torture, seed %d", o.Seed)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range addrs {
		db := proc.Open(t, slices.Concat(addrs[i:], addrs[:i]))
		if o.NoRetry {
			db = db.With(client.NoRetry())
		}
		r.dbs = append(r.dbs, db)
	}
	t.Cleanup(r.Stop) // if the test has failed
	for i := range o.Clients {
		r.work.Go(r.worker(i, r.dbs[i%len(r.dbs)]).loop)
	}
	r.startReaders(t, addrs)
	return r
}

// recordOutcome counts a transaction that has ended. own are kinds of errors that are expected besides
// those that faults explain.
func (r *Run) recordOutcome(o workload.Outcome, err error, own ...kv.Kind) {
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
	r.await(t, n, "transactions do not commit", func() int { return r.ended[workload.Committed] })
}

// AwaitFailures waits until n more transactions have failed. Failed conditions do not count.
func (r *Run) AwaitFailures(t testing.TB, n int) {
	t.Helper()
	r.await(t, n, "transactions do not fail", func() int {
		return r.ended[workload.Failed] + r.ended[workload.Unknown] - r.errors[kv.KindConditionFailed]
	})
}

// await waits until count, which is called with the lock held, has increased by n.
func (r *Run) await(t testing.TB, n int, problem string, count func() int) {
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
			t.Fatalf("%s: %v, errors %v", problem, r.ended, r.errors)
		}
	}
}

// Stop ends the clients. Finish, which is to be called later, checks their results.
func (r *Run) Stop() {
	r.stop.Store(true)
	r.work.Wait()
}

// Finish ends the clients, waits until no transaction is prepared, reads every key, and runs all checks.
func (r *Run) Finish(t testing.TB) {
	t.Helper()
	r.Stop()
	r.awaitNoIntents(t)
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
	r.checkHistory(t)
}

// awaitNoIntents waits until no shard has intents or lock waiters.
func (r *Run) awaitNoIntents(t testing.TB) {
	t.Helper()
	var last []string
	proc.Until(t, "no transaction is prepared", func(ctx context.Context) bool {
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
		if n := final[k]; n < r.sums[k] || n > r.sums[k]+r.unknownSums[k] {
			t.Errorf("%s is %d; the acknowledged additions are %d, those with unknown outcome %d", k, n, r.sums[k],
				r.unknownSums[k])
		}
	}
}

func (r *Run) checkHistory(t testing.TB) {
	t.Helper()
	raw := r.record.Bytes()
	h, err := history.ReadAll(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer saveHistory(t, raw)
	// Nothing is missing in the history: it has what the clients have counted, plus the last read.
	seen := map[history.Outcome]int{}
	for i := range h.Txns {
		seen[h.Txns[i].Outcome]++
	}
	c, u := r.ended[workload.Committed]+1, r.ended[workload.Unknown]
	if seen[history.Committed] != c || seen[history.Unknown] != u {
		t.Errorf("the history has %d committed and %d unknown transactions; the clients counted %d and %d",
			seen[history.Committed], seen[history.Unknown], c, u)
	}
	begin := time.Now()
	v := history.Check(h)
	t.Logf("checked in %v: %v", time.Since(begin).Round(time.Millisecond), v)
	if !v.OK() {
		t.Errorf("not strictly serializable: %v", v)
	}
	l := history.Linearizable(r.singleKeyHistory(h), 20*time.Second)
	if !l.OK() {
		t.Errorf("single keys: %v", l)
	}
	if l.Keys == 0 {
		t.Error("no key was checked for linearizability")
	}
}

// singleKeyHistory returns the part of a history with the single-key transactions, without the last read of
// all keys.
func (r *Run) singleKeyHistory(h *history.History) *history.History {
	out := &history.History{Meta: h.Meta}
	for _, x := range h.Txns {
		if len(x.Ops) > 0 && strings.HasPrefix(x.Ops[0].Key, r.opt.Prefix+"s/") {
			out.Txns = append(out.Txns, x)
		}
	}
	return out
}

// saveHistory stores the history of a failed test, for `zetaload check`.
func saveHistory(t testing.TB, raw []byte) {
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
	t.Logf("the history is stored in %s, for zetaload check", f.Name())
}
