package torture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// fault is a fault of the cluster. It ends when the whole cluster works again.
type fault struct {
	what       string
	from, till time.Time // till is zero during the fault
}

// Fault registers a fault, which lasts until end is called.
func (r *Run) Fault(what string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &fault{what: what, from: time.Now()}
	r.faults = append(r.faults, f)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.till = time.Now()
	}
}

// readResult is the end of a read-only transaction.
type readResult struct {
	kind       string
	from, till time.Time
	err        error
	// aborts are the reasons for which its gateway has retried it.
	aborts []string
}

func (r *Run) recordRead(e readResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, e)
	if e.err == nil {
		r.readsCommitted++
	}
}

// AwaitUpdates waits until n more transactions of other than the read-only clients have committed.
func (r *Run) AwaitUpdates(t testing.TB, n int) {
	t.Helper()
	updates := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ended[workload.Committed] - r.readsCommitted
	}
	begin := time.Now()
	for want := updates() + n; updates() < want; {
		r.Await(t, 1)
		if time.Since(begin) > proc.WaitTimeout {
			t.Fatalf("only readers commit: %v, errors %v", r.ended, r.errors)
		}
	}
}

// affectingFault returns a fault that may have made a reader fail, nil if there is none: one during the
// transaction, or at most slack before it.
func (r *Run) affectingFault(e *readResult) *fault {
	for _, f := range r.faults {
		if !e.till.Before(f.from) && (f.till.IsZero() || !e.from.After(f.till.Add(r.opt.Slack))) {
			return f
		}
	}
	return nil
}

// lostReasons are the reasons for which a reader may be retried: its lease has expired, or a shard has
// restarted. All other reasons are conflicts with updates.
var lostReasons = map[string]bool{msg.ReasonLapsed.Word(): true, msg.ReasonIncarnation.Word(): true}

// lostTexts are parts of the errors in these cases.
var lostTexts = []string{"expired, or the shard restarted", "a shard no longer keeps the state that the scan reads",
	"a shard no longer keeps the state that the transaction reads"}

// A shard may be late for the snapshot round of a reader: lateReason is why its attempt was aborted then, lateShardText
// a part of the error of a view. On a busy machine that is possible at any time.
const lateShardText = "did not respond to the snapshot round in time"

var lateReason = msg.ReasonLate.Word()

// stallExplains is how long the machine was stalled at least during a reader whose leases that explains: leaders of
// replicas grant 0.7 s, and one that gets no processor for some heartbeats cannot grant more.
const stallExplains = 200 * time.Millisecond

// unexplainedEnd returns what is wrong with the end of a reader, "" if nothing is.
func (r *Run) unexplainedEnd(e *readResult) string {
	lost := false
	for _, reason := range e.aborts {
		lost = lost || lostReasons[reason]
		if !lostReasons[reason] && reason != lateReason {
			return "retried because of a conflict"
		}
	}
	if kv.KindOf(e.err) == kv.KindAborted && strings.Contains(e.err.Error(), lateShardText) {
		return ""
	}
	switch kv.KindOf(e.err) {
	case kv.KindOK:
		if !lost {
			return ""
		}
	case kv.KindUnavailable, kv.KindDeadlineExceeded:
	case kv.KindAborted:
		explained := false
		for _, text := range lostTexts {
			explained = explained || strings.Contains(e.err.Error(), text)
		}
		if !explained {
			return "aborted because of a conflict"
		}
	default:
		return "unexpected kind of error"
	}
	if r.affectingFault(e) == nil && proc.StallTime(e.from, e.till) < stallExplains {
		return fmt.Sprintf("no fault within %v", r.opt.Slack)
	}
	return ""
}

// checkReaders requires that readers failed or were retried only because of faults.
func (r *Run) checkReaders(t testing.TB) {
	t.Helper()
	if r.opt.Readers == 0 {
		return
	}
	begin := r.faults[0].from
	committed, failed := map[string]int{}, map[string]int{}
	retries, unaffected, shown := 0, 0, 0
	for i := range r.reads {
		e := &r.reads[i]
		retries += len(e.aborts)
		if e.err == nil {
			committed[e.kind]++
			if r.affectingFault(e) == nil {
				unaffected++
			}
		} else {
			failed[e.kind+": "+kv.KindOf(e.err).String()]++
		}
		if problem := r.unexplainedEnd(e); problem != "" && shown < 20 {
			shown++
			t.Errorf("a reader (%s) from %v to %v, retried because of %v, ended with %v: %s",
				e.kind, e.from.Sub(begin), e.till.Sub(begin), e.aborts, e.err, problem)
		}
	}
	t.Logf("updates: %d committed", r.ended[workload.Committed]-r.readsCommitted)
	t.Logf("readers: %d committed, %d of them unaffected by faults; %d failed: %v; retries: %d",
		sum(committed), unaffected, sum(failed), failed, retries)
	for _, k := range readKinds {
		if committed[k.name] == 0 {
			t.Errorf("no reader of the kind %q committed", k.name)
		}
	}
	if unaffected == 0 {
		t.Error("no reader was unaffected by faults")
	}
	for _, f := range r.faults {
		t.Logf("%v to %v: %s", f.from.Sub(begin).Round(time.Millisecond), f.till.Sub(begin).Round(time.Millisecond), f.what)
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
