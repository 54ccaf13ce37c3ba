package torture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// fault is something that was done to the cluster. Its end is when all of it
// works again.
type fault struct {
	what       string
	from, till time.Time // till is zero while it lasts
}

// Fault notes that something is being done to the cluster, until the function
// that it returns is called.
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

// readEnd is how a read-only transaction ended.
type readEnd struct {
	kind       string
	from, till time.Time
	err        error
	// aborts are the reasons for which its gateway began it anew.
	aborts []string
}

func (r *Run) readEnded(e readEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, e)
	if e.err == nil {
		r.readsWell++
	}
}

// AwaitOthers waits until n more transactions have committed that are not those
// of the clients that only read.
func (r *Run) AwaitOthers(t testing.TB, n int) {
	t.Helper()
	others := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ended[workload.Committed] - r.readsWell
	}
	begin := time.Now()
	for want := others() + n; others() < want; {
		r.Await(t, 1)
		if time.Since(begin) > proc.WaitTimeout {
			t.Fatalf("only readers go on: %v, errors %v", r.ended, r.errors)
		}
	}
}

// during finds a fault that a reader may have failed of, nil if there is none:
// one that they have met, or that had ended at most slack before.
func (r *Run) during(e *readEnd) *fault {
	for _, f := range r.faults {
		if !e.till.Before(f.from) && (f.till.IsZero() || !e.from.After(f.till.Add(r.opt.Slack))) {
			return f
		}
	}
	return nil
}

// lost are the reasons for which a reader may be begun anew: a lease that has
// lapsed, and a shard that has restarted. Others come from updates.
var lost = map[string]bool{msg.ReasonLapsed.Word(): true, msg.ReasonIncarnation.Word(): true}

// lostTexts are what readers are told in these cases.
var lostTexts = []string{"expired, or the shard restarted", "a shard no longer keeps the state that the scan reads",
	"a shard no longer keeps the state that the transaction reads"}

// leftOutText is what a view is told that reads on a shard which was too slow for the round by which the
// view's state was fixed. On a busy machine a shard may be that at any time.
const leftOutText = "did not respond to the snapshot round in time"

// blames tells what is wrong with how a reader ended, "" if nothing is.
func (r *Run) blames(e *readEnd) string {
	for _, reason := range e.aborts {
		if !lost[reason] {
			return "it was begun anew because of other transactions"
		}
	}
	if kv.KindOf(e.err) == kv.KindAborted && strings.Contains(e.err.Error(), leftOutText) {
		return ""
	}
	switch kv.KindOf(e.err) {
	case kv.KindOK:
		if len(e.aborts) == 0 {
			return ""
		}
	case kv.KindUnavailable, kv.KindDeadlineExceeded:
	case kv.KindAborted:
		told := false
		for _, text := range lostTexts {
			told = told || strings.Contains(e.err.Error(), text)
		}
		if !told {
			return "it was aborted because of other transactions"
		}
	default:
		return "no reader may end like this"
	}
	if r.during(e) == nil {
		return fmt.Sprintf("there was no fault within %v", r.opt.Slack)
	}
	return ""
}

// checkReaders requires that readers failed, or were begun anew, because of
// faults only: never because of other transactions.
func (r *Run) checkReaders(t testing.TB) {
	t.Helper()
	if r.opt.Readers == 0 {
		return
	}
	begin := r.faults[0].from
	well, ill := map[string]int{}, map[string]int{}
	anew, calm, shown := 0, 0, 0
	for i := range r.reads {
		e := &r.reads[i]
		anew += len(e.aborts)
		if e.err == nil {
			well[e.kind]++
			if r.during(e) == nil {
				calm++
			}
		} else {
			ill[e.kind+": "+kv.KindOf(e.err).String()]++
		}
		if blame := r.blames(e); blame != "" && shown < 20 {
			shown++
			t.Errorf("a reader (%s) from %v to %v, begun anew %v, ended with %v: %s",
				e.kind, e.from.Sub(begin), e.till.Sub(begin), e.aborts, e.err, blame)
		}
	}
	t.Logf("others: %d committed", r.ended[workload.Committed]-r.readsWell)
	t.Logf("readers: %d ended well, of these %d far from any fault; %d failed: %v; begun anew: %d",
		sum(well), calm, sum(ill), ill, anew)
	for _, k := range readKinds {
		if well[k.name] == 0 {
			t.Errorf("no reader of the kind %q ended well", k.name)
		}
	}
	if calm == 0 {
		t.Error("no reader was far from any fault")
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
