package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// The load of each application: few keys, most of them contended, at a rate that two processors sustain
// during faults.
const (
	appClients = 4
	appRate    = 25
	appTimeout = 5 * time.Second
)

// applications are all applications of package app.
var applications = []struct {
	name string
	make func(app.Env) (app.App, error)
}{
	{"raw-mix", func(e app.Env) (app.App, error) {
		return app.NewRawMix(e, app.RawMix{Sets: 40, Members: 50, Skew: 1.2, Adds: 50})
	}},
	{"tickets", func(e app.Env) (app.App, error) {
		return app.NewTickets(e, app.Tickets{Venues: 5, Events: 20, Tickets: 100, Skew: 1})
	}},
	{"bank", func(e app.Env) (app.App, error) { return app.NewBank(e, app.Bank{Accounts: 30, Skew: 1}) }},
	{"likes", func(e app.Env) (app.App, error) {
		return app.NewLikes(e, app.Likes{Posts: 60, Users: 100, Skew: 1})
	}},
	{"retwis", func(e app.Env) (app.App, error) {
		return app.NewRetwis(e, app.Retwis{Scale: 6, Followers: 4, MostFollowers: 30, Posts: 20})
	}},
	{"rubis", func(e app.Env) (app.App, error) {
		return app.NewRubis(e, app.Rubis{Items: 40, Regions: 4, Categories: 3, Bids: 10, Skew: 0.8})
	}},
}

// load is one running application.
type load struct {
	name, prefix string
	app          app.App
	runner       *workload.Runner
	committed    atomic.Uint64
	result       *workload.Result
	err          error
}

// loads are the applications of a round.
type loads struct {
	all   []*load
	store *clientstore.Store
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// startLoads loads the data of the applications of a round and starts their clients.
func startLoads(ctx context.Context, t testing.TB, addrs []string, round Round) *loads {
	t.Helper()
	loading, cancel := context.WithTimeout(ctx, proc.WaitTimeout)
	defer cancel()
	store, err := clientstore.Open(loading, addrs, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &loads{store: store}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	t.Cleanup(func() { // if the round has failed
		l.stop()
		l.work.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, a := range applications {
		one := &load{name: a.name, prefix: fmt.Sprintf("soak/%s-%s/", a.name, workload.NewRunTag())}
		l.all = append(l.all, one)
		// In every other round the operations of a transaction are sent one by one.
		env := app.Env{DB: store.Calls(), Prefix: one.prefix, Clients: appClients, Seed: round.Seed + uint64(i),
			Interactive: (round.Number+i)%2 == 0}
		one.app, err = a.make(env)
		if err != nil {
			t.Fatal(err)
		}
		one.runner, err = workload.New(nil, workload.Options{
			App: one.app, Clients: appClients, Rate: appRate, Timeout: appTimeout, Duration: time.Hour, Seed: round.Seed,
			Reporting: workload.Reporting{ProgressEvery: 100 * time.Millisecond,
				Progress: func(s workload.Snapshot) { one.committed.Store(s.Committed) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := one.app.Load(loading); err != nil {
			t.Fatalf("%s: %v", one.name, err)
		}
	}
	for _, one := range l.all {
		l.work.Go(func() { one.result, one.err = one.runner.Run(running) })
	}
	return l
}

// await waits until every application has committed n more transactions.
func (l *loads) await(t testing.TB, n uint64) {
	t.Helper()
	needed := map[string]uint64{}
	for _, one := range l.all {
		needed[one.name] = one.committed.Load() + n
	}
	var behind []string
	proc.Until(t, "all applications commit", func(context.Context) bool {
		behind = nil
		for _, one := range l.all {
			if one.committed.Load() < needed[one.name] {
				behind = append(behind, one.name)
			}
		}
		return behind == nil
	}, func() string { return "not: " + strings.Join(behind, ", ") })
}

// finish stops the load and returns the outcomes of its transactions.
func (l *loads) finish(t testing.TB) (sum tally) {
	t.Helper()
	l.stop()
	l.work.Wait()
	for _, one := range l.all {
		if one.err != nil {
			t.Errorf("%s: %v", one.name, one.err)
		}
		for kind, n := range one.result.Errors {
			if !slices.Contains(expected, kind) {
				t.Errorf("%s: %d errors of kind %s, which faults do not explain", one.name, n, kind)
			}
		}
		sum.committed += int(one.result.All.Committed)
		sum.failed += int(one.result.All.Failed)
		sum.unknown += int(one.result.All.Unknown)
	}
	return sum
}

// tally counts transactions by outcome.
type tally struct{ committed, failed, unknown int }

// expected are the kinds of errors that faults explain.
var expected = kindNamesOf(kv.KindAborted, kv.KindUnavailable, kv.KindResourceExhausted, kv.KindDeadlineExceeded,
	kv.KindOutcomeUnknown, kv.KindConditionFailed, kv.KindOutOfRange)

func kindNamesOf(all ...kv.Kind) (names []string) {
	for _, k := range all {
		names = append(names, k.String())
	}
	return names
}

// verify makes every application check its invariants against the responses of its clients, and returns the
// number of invariants that hold.
func (l *loads) verify(t testing.TB) (hold int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*proc.WaitTimeout)
	defer cancel()
	for _, one := range l.all {
		invariants, err := one.app.Verify(ctx)
		if err != nil {
			t.Errorf("%s cannot be verified: %v", one.name, err)
		}
		for _, i := range invariants {
			switch i.Verdict {
			case workload.Holds:
				hold++
			case workload.Broken:
				t.Errorf("%s: %s: %s", one.name, i.Name, i.Text)
			}
		}
	}
	if hold == 0 {
		t.Error("no invariant of any application was verified")
	}
	return hold
}

// prefixes returns the prefixes of all keys.
func (l *loads) prefixes() (all []string) {
	for _, one := range l.all {
		all = append(all, one.prefix)
	}
	return all
}

var errStopped = errors.New("the soak was interrupted")
