package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func TestARunReportsAsTextAndJSON(t *testing.T) {
	p, path := newProgram(t, &loadtest.Store{}), file(t, "r.json")
	text := p.ok("run", "--count", "500", "--seed", "42", "--skew", "1.2", "--json", path)
	require.Contains(t, text, "throughput ")
	require.Contains(t, text, "\nall                     500       0 ")
	require.Equal(t, 1, strings.Count(text+p.err.String(), "seed"), "it is in the command that repeats the run")
	require.Equal(t, 1, p.closed)
	r, err := readReport(path)
	require.NoError(t, err)
	require.Equal(t, uint64(500), r.All.Committed)
	require.Equal(t, uint64(42), r.Workload.Seed)
	require.Equal(t, workload.ThisHost(), r.Host)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file is left")
	require.Equal(t, text, p.ok("report", path), "report shows what run showed")
}

func TestJSONCanGoToTheOutput(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	var r workload.Result
	require.NoError(t, json.Unmarshal([]byte(p.ok("run", "--count", "5", "--json", "-")), &r))
	require.Equal(t, uint64(5), r.All.Committed)
}

// every flag that decides what is run.
var everyFlag = []string{"run", "--addr", "a:1,b:2", "--connections", "3", "--keys", "77", "--skew", "1.25",
	"--shuffle",
	"--move-hot-every", "1h0m0s", "--prefix", "it's/", "--ops", "3", "--read-only", "1", "--write-only", "2", "--rmw",
	"0.5",
	"--incr", "1", "--value-size", "50", "--clients", "2", "--count", "60", "--duration", "1m0s", "--timeout", "3s",
	"--seed", "18446744073709551615", "--workload", "sss", "--read-keys", "2-5", "--distinct=false", "--locality", "50",
	"--interactive-reads", "25", "--think-time", "1ms", "--scanners", "1", "--scan-pace", "50.5"}

// words splits a command line as a shell does, for what quote makes.
func words(line string) (all []string) {
	line = strings.ReplaceAll(line, `'\''`, "\x00")
	for i, part := range strings.Split(line, "'") {
		part = strings.ReplaceAll(part, "\x00", "'")
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func TestTheReportEndsWithTheCommandThatRepeatsTheRun(t *testing.T) {
	// The transactions with what they write, without the tag of the run.
	ran := func(args []string) (repeat string, all map[string]int, to target) {
		all = map[string]int{}
		p := newProgram(t, nil)
		s := &loadtest.Store{Before: func(_ context.Context, _ uint64, ops []workload.Op) (workload.Reply, error) {
			line := ""
			for _, o := range ops {
				line += string(o.Key) + string(o.Value[min(len(o.Value), len("tag---")):])
			}
			p.err.mu.Lock()
			defer p.err.mu.Unlock()
			all[line]++
			return workload.Reply{}, nil
		}}
		p.store = s
		lines := strings.Split(strings.TrimSpace(unwrapped(p.ok(args...))), "\n")
		last := lines[len(lines)-1]
		require.True(t, strings.HasPrefix(last, "repeat with  zetaload run "), last)
		return strings.TrimPrefix(last, "repeat with  zetaload "), all, p.to
	}
	for _, args := range [][]string{everyFlag, {"run", "--count", "100"},
		{"run", "--count", "100", "--workload", "sss", "--read-only", "80"},
		{"run", "--count", "256", "--workload", "hot-or-not"}} {
		repeat, first, to := ran(args)
		again, second, toAgain := ran(words(repeat))
		require.Equal(t, repeat, again)
		require.Equal(t, first, second)
		require.Equal(t, to, toAgain)
	}
}

func TestQuotedWordsAreReadBack(t *testing.T) {
	for _, w := range []string{"", "plain", "two words", "it's", "'", "a'b'c", "$x", "zeta/"} {
		require.Equal(t, []string{w}, words(quote(w)), "%q", w)
	}
}

func TestSharesThatAreNotGivenAreNone(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	require.Contains(t, p.ok("run", "--count", "20", "--incr", "2", "--read-only", "6"),
		"75% read-only, 25% increment")
	require.Contains(t, p.ok("run", "--count", "20"),
		"50% read-only, 10% write-only, 30% read-modify-write, 10% increment")
}

func TestBadCommandLinesExitWithTwo(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	for _, c := range []struct{ args, says string }{
		{"run --skew -1", "skew -1"},
		{"run --skew NaN", "skew NaN"},
		{"run --keys 0", "--keys is 0, want more than 0"},
		{"run --keys 2000000000", "2000000000 keys"},
		{"run --timeout 0", "--timeout is 0, want more than 0"},
		{"run --duration 0", "--duration 0 needs --count"},
		{"run --rmw 0", "are 0"},
		{"run --clients x", "want a whole number"},
		{"run --nosuch", "unknown flag"},
		{"run surplus", "unknown command"},
		{"run --addr=", "no address"},
		{"run --connections -1", "--connections is -1"},
		{"run --history /nonexistent/h.bin", "--history"},
		{"run --json /nonexistent/r.json", "--json"},
		{"run --workload tpcc", "--workload: there is no workload \"tpcc\", want one of zeta, sss, hot-or-not"},
		{"run --workload sss --read-only 120", "--read-only is 120, want a percentage with --workload sss"},
		{"run --workload hot-or-not --read-only NaN", "want a percentage"},
		{"run --workload sss --write-only 0", "are 0"},
		{"run --workload sss --keys 1", "2 distinct keys a transaction of 1 keys; use more keys"},
		{"run --read-keys 257", "want a number or a range, such as 10 or 2-16, from 1 to 256"},
		{"run --read-keys 0", "from 1 to 256"},
		{"run --read-keys 16-2", "such as 10 or 2-16"},
		{"run --locality 101", "want 0 to 100"},
		{"run --interactive-reads -1", "want 0 to 100"},
		{"run --think-time 5ms", "set interactive-reads"},
		{"run --interactive-reads 5 --think-time 1s --read-keys 256", "think less, read fewer keys, or raise the timeout"},
		{"run --scan-pace 5", "set the number of scanners"},
		{"run --scanners 65", "want 0 to 64"},
		{"run --prefix=", "--prefix is empty"},
		{"load --prefix=", "--prefix is empty"},
		{"run --history x/../f --json f", "--history and --json are the same file"},
		{"load --batch 0", "--batch is 0, want more than 0"},
		{"load --from 5 --keys 4", "from is 5"},
		{"load --value-size 8", "values of 8 bytes"},
		{"check", "accepts 1 arg"},
		{"check a b", "accepts 1 arg"},
		{"report", "at least 1 arg"},
		{"nosuch", "there is no command"},
	} {
		require.Equal(t, exitUsage, p.run(strings.Fields(c.args)...), c.args)
		require.Contains(t, p.err.String(), c.says, c.args)
		require.Empty(t, p.out.String(), c.args)
	}
	require.Zero(t, p.closed, "nothing was opened")
}

func TestARunInWhichNothingCommitsFailsAndReports(t *testing.T) {
	p := newProgram(t, refusing(kv.KindUnavailable))
	require.Equal(t, exitFailed, p.run("run", "--count", "10", "--clients", "2"))
	require.Contains(t, p.out.String(), "Unavailable                   10")
	require.Contains(t, p.err.String(), "no transaction of the measured part")
	require.Equal(t, 1, p.closed)
}

// TestTheExitCodeSeparatesFaultsFromContention: losing against others is what such a load is
// for, and everything else is not.
func TestTheExitCodeSeparatesFaultsFromContention(t *testing.T) {
	down := &kv.Down{Node: 2, Address: "10.0.0.2:7070", Shards: []kv.ShardID{1, 4}, Hot: true, Keyspace: 20}
	seenDown := &client.NodeDown{Node: 2, Address: "10.0.0.2:7070", Shards: []int{1, 4}, Hot: true, Keyspace: 20}
	late := &client.Error{Kind: client.KindDeadlineExceeded, Message: "late", Op: -1}
	waited := &client.Error{Kind: client.KindDeadlineExceeded, Message: "late", Op: -1,
		Receipt: client.Receipt{Waiting: true, Waited: time.Second, Wait: &client.Conflict{Holder: client.TxID{1}}}}
	for _, c := range []struct {
		err  error
		says string // "" if it is contention
	}{
		{kv.Errorf(kv.KindAborted, "wounded"), ""},
		{kv.Errorf(kv.KindConditionFailed, "it is there"), ""},
		{&client.Error{Kind: client.KindResourceExhausted, Key: "hot", Op: -1}, ""},
		{waited, ""},
		{late, "10 DeadlineExceeded"},
		{&client.Error{Kind: client.KindResourceExhausted, Message: "the disk is full", Op: -1}, "10 ResourceExhausted"},
		{kv.Errorf(kv.KindOutcomeUnknown, "lost"), "10 OutcomeUnknown"},
		{down.Error(), "10 Unavailable; node n2 (10.0.0.2:7070) is down, and with it the shards s1 and s4 (hot), 20 % of " +
			"the keyspace"},
		{&client.Error{Kind: client.KindUnavailable, Message: down.String(), Down: seenDown, Op: -1},
			"10 Unavailable; node n2 "},
	} {
		s := &loadtest.Store{Before: func(_ context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
			if n%3 == 0 && n <= 30 {
				return workload.Reply{Attempts: 1}, c.err
			}
			return workload.Reply{}, nil
		}}
		p := newProgram(t, s)
		if c.says == "" {
			p.ok("run", "--count", "100", "--clients", "2", "--rmw", "1")
			continue
		}
		require.Equal(t, exitFailed, p.run("run", "--count", "100", "--clients", "2", "--rmw", "1"), c.says)
		require.Contains(t, p.err.String(), "10 of 100 transactions did not commit for other reasons than contention: "+
			c.says)
		if kv.KindOf(c.err) == kv.KindUnavailable {
			require.Contains(t, p.out.String(), "\nnodes that were down\n  "+down.String()+": 10 transactions\n")
		}
	}
	p := newProgram(t, &loadtest.Store{Before: func(context.Context, uint64, []workload.Op) (workload.Reply, error) {
		return workload.Reply{}, down.Error()
	}})
	require.Equal(t, exitFailed, p.run("run", "--count", "10"))
	require.Contains(t, p.err.String(), down.String())
}

// unscannable fails every scan, and lets no transaction pass before two have.
type unscannable struct {
	*loadtest.Store
	err    error
	scans  atomic.Int64
	failed chan struct{}
}

func newUnscannable(err error) *unscannable {
	u := &unscannable{err: err, failed: make(chan struct{})}
	u.Store = &loadtest.Store{Before: func(context.Context, uint64, []workload.Op) (workload.Reply, error) {
		<-u.failed
		return workload.Reply{}, nil
	}}
	return u
}

func (u *unscannable) Scan(context.Context, workload.Range, func(workload.Pair) bool) error {
	if u.scans.Add(1) == 3 {
		close(u.failed)
	}
	return u.err
}

// TestARunWhoseScansFailIsNoSuccess: the same holds for scans, also where every transaction
// beside them has committed.
func TestARunWhoseScansFailIsNoSuccess(t *testing.T) {
	down := &kv.Down{Node: 2, Address: "10.0.0.2:7070", Shards: []kv.ShardID{1}, Keyspace: 20}
	for _, c := range []struct {
		err  error
		says string // "" if it is contention
	}{
		{kv.Errorf(kv.KindAborted, "the scan is no longer open"), ""},
		{kv.Errorf(kv.KindCorrupt, "damaged"), "scans failed for other reasons than contention: "},
		{down.Error(), "scans failed for other reasons than contention: "},
	} {
		p := newProgram(t, newUnscannable(c.err))
		if c.says == "" {
			p.ok("run", "--count", "100", "--clients", "2", "--scanners", "1")
			continue
		}
		require.Equal(t, exitFailed, p.run("run", "--count", "100", "--clients", "2", "--scanners", "1"), "%v", c.err)
		require.Contains(t, p.err.String(), c.says)
		require.Contains(t, p.err.String(), kv.KindOf(c.err).String())
		require.NotContains(t, p.err.String(), "transactions did not commit")
		if kv.KindOf(c.err) == kv.KindUnavailable {
			require.Contains(t, p.err.String(), "; "+down.String())
			require.Contains(t, p.out.String(), "\nnodes that were down\n  "+down.String())
		}
	}
}

func TestAClusterThatCannotBeReachedIsAFailure(t *testing.T) {
	p, path := newProgram(t, nil), file(t, "r.json")
	p.openErr = errors.New("no node can be reached")
	require.Equal(t, exitFailed, p.run("run", "--json", path))
	require.Contains(t, p.err.String(), "no node can be reached")
	require.NoFileExists(t, path)
	require.Equal(t, exitFailed, p.run("load"))
}

func TestAnInterruptedRunReportsWhatItDid(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &loadtest.Store{Before: func(_ context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
		if n == 200 {
			cancel()
		}
		return workload.Reply{}, nil
	}}
	p, path := newProgram(t, s), file(t, "h.bin")
	require.Equal(t, exitOK, p.runUntil(ctx, "run", "--duration", "1h", "--clients", "3", "--history", path))
	require.Contains(t, p.out.String(), "interrupted")
	require.Contains(t, p.out.String(), "repeat with")
	p.ok("check", path)
}

func TestProgressOnATerminalChangesOneLine(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	p.terminal = true
	p.ok("run", "--count", "50")
	require.Contains(t, p.err.String(), clearLine)
	require.Contains(t, p.err.String(), "committed 50")
	require.True(t, strings.HasSuffix(p.err.String(), "\n"), "the cursor is left on a new line")
	p.terminal = false
	p.ok("run", "--count", "50")
	require.NotContains(t, p.err.String(), "committed", "nobody looks")
	p.ok("run", "--count", "50", "--progress")
	require.Contains(t, p.err.String(), "committed 50")
	require.NotContains(t, p.err.String(), clearLine)
}

func TestHelpListsTheExitCodes(t *testing.T) {
	p := newProgram(t, nil)
	require.Contains(t, p.ok(), "Exit codes")
	require.Contains(t, p.ok("run", "--help"), "--move-hot-every")
}

func TestHelpFits80Columns(t *testing.T) {
	for _, c := range commands(newRoot(environment{})) {
		for _, line := range strings.Split(c.Long+"\n"+c.UsageString(), "\n") {
			require.LessOrEqual(t, len(line), 80, "%s: %s", c.CommandPath(), line)
		}
	}
}

func TestVersion(t *testing.T) {
	p := newProgram(t, nil)
	require.Regexp(t, `^zetaload \S+.*, go1\S+, `, p.ok("version"))
	require.Equal(t, p.ok("version"), p.ok("--version"))
}

func TestMisspeltNamesAreSuggested(t *testing.T) {
	p := newProgram(t, nil)
	for args, want := range map[string]string{
		"rnu --skew 1":     `no command "rnu"; did you mean run?`,
		"app tikets":       `no command "tikets" of "zetaload app"; did you mean tickets?`,
		"run --skw 1":      "--skw; did you mean --skew?",
		"load --kyes=1":    "--kyes; did you mean --keys?",
		"app bank --moost": "--moost; did you mean --most?",
	} {
		require.Equal(t, exitUsage, p.run(strings.Fields(args)...), args)
		require.Contains(t, p.err.String(), want, args)
		require.Regexp(t, `\nhint: see: zetaload.* --help\n$`, p.err.String(), args)
	}
}

// The variables of linchpin's connection flags count, unless the command line sets the flag or
// the cluster is in this process.
func TestConnectionsComeFromTheEnvironment(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	t.Setenv("LINCHPIN_ADDR", "a:1,b:2")
	t.Setenv("LINCHPIN_CERTS_DIR", "certs")
	t.Setenv("LINCHPIN_CLIENTS", "nonsense, and of no flag that linchpin has")
	require.Contains(t, unwrapped(p.ok("run", "--count", "5")), "run --addr a:1,b:2 --certs-dir=certs ")
	require.Contains(t, unwrapped(p.ok("run", "--count", "5", "--addr", "c:3")), "run --addr c:3 --certs-dir=certs ")
	var out, errs output
	args := append([]string{"app", "likes", "--own-cluster", "--count", "5"}, small["likes"]...)
	require.Equal(t, exitOK, execute(t.Context(), environment{out: &out, err: &errs, open: openCluster}, args),
		errs.String())
	require.NotContains(t, out.String(), "--addr")
}
