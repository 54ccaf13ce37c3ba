package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func TestLoadFillsTheKeyspaceThatRunUses(t *testing.T) {
	s := &loadtest.Store{}
	p := newProgram(t, s)
	require.Contains(t, p.ok("load", "--keys", "250", "--value-size", "64", "--counters"), "loaded 250 keys in ")
	require.Equal(t, 500, s.Len())
	require.Empty(t, p.err.String())
	p.ok("run", "--keys", "250", "--count", "500")
	require.Equal(t, 500, s.Len(), "a run makes no other keys")
}

func TestALoadThatFailsSaysHowToGoOn(t *testing.T) {
	broken := true
	s := &loadtest.Store{Before: func(_ context.Context, _ uint64, ops []workload.Op) (workload.Reply, error) {
		if broken && string(ops[0].Key) == "zeta/r/000000300" {
			return workload.Reply{}, kv.Errorf(kv.KindUnavailable, "a shard is down")
		}
		return workload.Reply{}, nil
	}}
	p := newProgram(t, s)
	require.Equal(t, exitFailed, p.run("load", "--keys", "1000", "--clients", "1"))
	require.Contains(t, p.err.String(), "a shard is down")
	require.Contains(t, p.err.String(), "300 of 1000 keys are loaded; to continue: zetaload load --from 300")
	broken = false
	require.Contains(t, p.ok("load", "--keys", "1000", "--from", "300"), "loaded 700 keys")
	require.Equal(t, 1000, s.Len())
}

func TestLoadShowsProgress(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	p.ok("load", "--keys", "1000", "--progress")
	require.Contains(t, p.err.String(), "100.0%  1000 of 1000 keys")
	p.terminal = true
	p.ok("load", "--keys", "1000")
	require.True(t, strings.HasPrefix(p.err.String(), clearLine))
}

func TestReportsAreCompared(t *testing.T) {
	p, a, b := newProgram(t, &loadtest.Store{}), file(t, "a.json"), file(t, "b.json")
	p.ok("run", "--count", "100", "--incr", "1", "--json", a)
	p.ok("run", "--count", "100", "--rmw", "1", "--json", b)
	out := p.ok("report", a, b)
	for _, want := range []string{"\nread-modify-write\n", "\nincrement\n", "\nall\n", a, b, "1.000"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\nread-only\n", "no report has any")
}

func TestWhatIsNoReportExitsWithTwo(t *testing.T) {
	p, path := newProgram(t, nil), file(t, "r.json")
	require.Equal(t, exitUsage, p.run("report", path))
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.Equal(t, exitUsage, p.run("report", path))
	require.Contains(t, p.err.String(), path+": ")
}
