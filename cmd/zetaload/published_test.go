package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
)

func TestPublishedWorkloadsAndWhatFlagsChange(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	for args, want := range map[string][]string{
		"": {"zeta: 100000 keys, Zipf skew 0.99", "4 keys a transaction,", ", 16 clients"},
		"--workload sss": {"sss: 5000 keys, Zipf skew 0,", "2 keys a transaction without repeats", ", 10 clients",
			"50% read-only, 50% read-modify-write"},
		"--workload sss --addr a:1,b:2,c:3 --read-only 80 --read-keys 2-16 --keys 10000 --skew 0.7": {
			"sss: 10000 keys, Zipf skew 0.7,",
			"2 keys an update and 2-16 a read-only transaction without repeats", ", 30 clients",
			"80% read-only, 20% read-modify-write"},
		"--workload sss --read-only 0":         {"100% read-modify-write"},
		"--workload sss --read-only 1 --rmw 4": {"20% read-only, 80% read-modify-write"},
		"--workload sss --clients 3 --ops 5 --distinct=false": {"5 keys an update and 2 a read-only transaction, values",
			", 3 clients"},
		"--workload hot-or-not": {"hot-or-not: 100000 keys, Zipf skew 1.2,", "10 keys a transaction, values", ", 128 clients",
			"one-shot",
			"90% read-only, 10% write-only load"},
		"--workload hot-or-not --read-only 50 --ops 3": {"3 keys a transaction,", "50% read-only, 50% write-only"},
	} {
		out := p.ok(append([]string{"run", "--count", "20"}, strings.Fields(args)...)...)
		for _, w := range want {
			require.Contains(t, strings.Join(strings.Fields(out), " "), w, args)
		}
	}
}

func TestLocalityIsAskedOfTheClusterAndReported(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	require.Contains(t, p.ok("run", "--count", "100", "--locality", "50"),
		"50% of the keys requested on the client's node, 100% were there")
	require.NotContains(t, p.ok("run", "--count", "100"), "\nlocality")
	p.homesErr = errors.New("no node answers")
	require.Equal(t, exitFailed, p.run("run", "--count", "100", "--locality", "50"))
	require.Contains(t, p.err.String(), "--locality: the homes of the keys are not known: no node answers")
	p.ok("run", "--count", "100") // it is not asked otherwise
}

// Everything at once is recorded, and the checker finds no violation.
func TestReadersAndScansAreRecordedForTheChecker(t *testing.T) {
	p, path := newProgram(t, &loadtest.Store{}), file(t, "h.bin")
	out := p.ok("run", "--duration", "500ms", "--rate", "4000", "--keys", "60", "--skew", "1", "--clients", "6",
		"--fresh-keys", "--read-keys", "1-40",
		"--interactive-reads", "50", "--think-time", "10us", "--scanners", "2", "--scan-pace", "4000", "--history", path)
	require.NotContains(t, out, "scans        0 complete, 0 cut short")
	h, err := history.Load(path)
	require.NoError(t, err)
	full, part := 0, 0 // pairs of the fullest whole scan, and scans cut short
	for _, txn := range h.Txns {
		for _, op := range txn.Ops {
			switch {
			case op.Kind == history.Scan && op.Limit == 0:
				full = max(full, len(op.Pairs))
			case op.Kind == history.Scan:
				require.Len(t, op.Pairs, op.Limit)
				part++
			}
		}
	}
	require.Equal(t, 60, full)
	require.LessOrEqual(t, part, 2, "one for each scanner at most")
	require.Contains(t, p.ok("check", path), "strictly serializable")
}

// A scan that does not see what was acknowledged is found by the checker.
func TestAScanThatMissesAWriteIsAViolation(t *testing.T) {
	p, path := newProgram(t, &blind{}), file(t, "h.bin")
	p.ok("run", "--duration", "500ms", "--rate", "3000", "--keys", "50", "--write-only", "1", "--clients", "2",
		"--fresh-keys", "--scanners", "1",
		"--scan-pace", "3000", "--history", path)
	require.Equal(t, exitFailed, p.run("check", path))
	require.Contains(t, p.out.String(), "NOT strictly serializable")
}
