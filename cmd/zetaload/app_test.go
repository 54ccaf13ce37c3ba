package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// small are the applications' flags that make them small and hot.
var small = map[string][]string{
	"raw-mix": {"--keys", "40", "--skew", "1.2", "--members", "50"},
	"tickets": {"--venues", "3", "--events", "10", "--tickets", "150"},
	"bank":    {"--accounts", "8", "--start", "200"},
	"likes":   {"--posts", "20", "--users", "40"},
	"retwis":  {"--scale", "6", "--followers", "4", "--mix", "timeline=50,repost=15,post=15,follow=15,new-user=5"},
	"rubis": {"--items", "60", "--regions", "5", "--categories", "4", "--bids", "20",
		"--mix", "view=25,browse=10,bid=50,open=4,close=4,comment=4,new-user=2,view-user=1"},
}

// runApp runs a small application on a cluster of its own.
func runApp(t *testing.T, name string, more ...string) (*workload.Result, string, int) {
	t.Helper()
	var out, errs output
	report := file(t, "r.json")
	args := append([]string{"run", "--workload", name, "--own-cluster", "--count", "800", "--clients", "12", "--seed", "5",
		"--json", report}, small[name]...)
	code := execute(t.Context(), environment{out: &out, err: &errs, open: openCluster}, append(args, more...))
	r, err := readReport(report)
	require.NoError(t, err, "%s%s", out.String(), errs.String())
	return r, out.String() + errs.String(), code
}

// switched are things switched off, of which each application gets one.
var switched = [][]string{{"--interactive"}, {"--locks", "rw", "--combining", "off"},
	{"--phasing", "off", "--commit-order", "parallel"},
	{"--reads", "locking", "--hot", "off"}}

// On three nodes, as they are and with things switched off: what is promised is
// kept.
func TestApplicationsKeepTheirPromisesOnACluster(t *testing.T) {
	for i, a := range applications {
		for _, more := range [][]string{{}, switched[i%len(switched)]} {
			t.Run(a.name+strings.Join(more, " "), func(t *testing.T) {
				r, text, code := runApp(t, a.name, more...)
				require.Equal(t, exitOK, code, text)
				require.Equal(t, uint64(800), r.All.Committed+r.All.Failed+r.All.Unknown)
				require.NotZero(t, r.All.Committed, text)
				require.NotEmpty(t, r.Invariants)
				for _, i := range r.Invariants {
					require.Equal(t, workload.Holds, i.Verdict, text)
				}
				require.Contains(t, text, "loading data")
				require.Contains(t, text, "HOLDS")
				require.Contains(t, text, "repeat with  zetaload app "+a.name)
			})
		}
	}
}

func TestOneByOnePromisesLessAndSaysSo(t *testing.T) {
	for _, a := range applications {
		r, text, code := runApp(t, a.name, "--transactional=false")
		require.Equal(t, exitOK, code, text)
		require.True(t, r.Workload.App.OneByOne)
		promised := a.name == "raw-mix" || a.name == "likes"
		require.Equal(t, !promised, strings.Contains(text, "NOT PROMISED"), text)
	}
}

// losing is a cluster that acknowledges every 20th change of one key and
// does nothing.
type losing struct{ store }

type losingCalls struct {
	app.DB
	count *int
}

func (l losing) Calls() app.DB {
	return losingCalls{l.store.(interface{ Calls() app.DB }).Calls(), new(int)}
}

func (l losingCalls) Execute(ctx context.Context, calls ...app.Call) (app.Executed, error) {
	if len(calls) == 1 && calls[0].Method == "add" {
		*l.count++
		if *l.count%20 == 0 {
			return app.Executed{Answers: make([]app.Answer, 1)}, nil
		}
	}
	return l.DB.Execute(ctx, calls...)
}

func TestABrokenInvariantIsTheExitCode(t *testing.T) {
	var out, errs output
	env := environment{out: &out, err: &errs, open: func(ctx context.Context, to target) (store, error) {
		s, err := openCluster(ctx, to)
		return losing{s}, err
	}}
	args := append([]string{"app", "likes", "--own-cluster", "--count", "600", "--clients", "1", "--seed", "5"},
		small["likes"]...)
	require.Equal(t, exitFailed, execute(t.Context(), env, args), out.String())
	require.Contains(t, out.String(), "BROKEN        each post has the acknowledged likes")
	require.Contains(t, errs.String(), "an invariant does not hold: each post has the acknowledged likes")
}

// What ends a report repeats the run.
func TestTheCommandOfAReportRepeatsAnApplication(t *testing.T) {
	r, _, _ := runApp(t, "retwis", "--locks", "rw", "--count", "100")
	require.Contains(t, r.Command, "--locks=rw")
	var out, errs output
	args := strings.Fields(strings.TrimPrefix(r.Command, "zetaload "))
	require.Equal(t, exitOK, execute(t.Context(), environment{out: &out, err: &errs, open: openCluster}, args),
		errs.String())
	require.Contains(t, unwrapped(out.String()), r.Command)
}

func TestApplicationsRefuseWhatCannotBeMeant(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	for _, c := range []struct {
		want string
		args []string
	}{
		{"needs --own-cluster", []string{"bank", "--locks", "rw"}},
		{"in this process", []string{"bank", "--own-cluster", "--addr", "127.0.0.1:1"}},
		{"want on or off", []string{"bank", "--own-cluster", "--phasing", "maybe"}},
		{"want abstract or rw", []string{"bank", "--own-cluster", "--locks", "none"}},
		{"--hot is", []string{"bank", "--own-cluster", "--hot", "warm"}},
		{"--commit-order", []string{"bank", "--own-cluster", "--commit-order", "never"}},
		{"--reads", []string{"bank", "--own-cluster", "--reads", "none"}},
		{"want 1 to 9", []string{"bank", "--own-cluster", "--nodes", "10"}},
		{"--accounts is 0", []string{"bank", "--accounts", "0"}},
		{"--duration 0", []string{"bank", "--duration", "0"}},
		{"--interactive", []string{"bank", "--interactive", "--transactional=false"}},
		{"unknown flag", []string{"bank", "--venues", "3"}},
		{"no command", []string{"casino"}},
	} {
		require.Equal(t, exitUsage, p.run(append([]string{"app"}, c.args...)...), "%v: %s", c.args, p.err.String())
		require.Contains(t, p.err.String(), c.want, "%v", c.args)
	}
	require.Equal(t, exitFailed, p.run("app", "bank", "--count", "1"))
	require.Contains(t, p.err.String(), "has no data types")
}

func TestMixesOfApplicationsHaveNames(t *testing.T) {
	m, err := mixOf(rubisMixes, "bid-heavy")
	require.NoError(t, err)
	require.Equal(t, app.RubisBidHeavy, m)
	_, err = mixOf(rubisMixes, "bids=3")
	require.ErrorContains(t, err, "read-heavy, bid-heavy")
}

func TestRunOfAnApplicationIsApp(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"run --workload bank --skew 2", "app bank --skew 2"},
		{"run --skew 2 --workload=rubis", "app rubis --skew 2"},
		{"run --workload sss", "run --workload sss"},
		{"run --workload", "run --workload"},
		{"load --workload bank", "load --workload bank"},
	} {
		require.Equal(t, c.to, strings.Join(asApplication(strings.Fields(c.from)), " "))
	}
	require.Empty(t, asApplication(nil))
}
