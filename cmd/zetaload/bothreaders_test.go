package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/loadtest"
)

func TestBothReadersAreComparedByOneCommand(t *testing.T) {
	var out, errs output
	env := environment{out: &out, err: &errs, open: openCluster}
	args := []string{"run", "--workload", "sss", "--both-readers", "--rounds", "1", "--keys", "200", "--skew", "0.9",
		"--count", "300", "--seed", "1"}
	require.Equal(t, exitOK, execute(t.Context(), env, args), "%s%s", out.String(), errs.String())
	require.Regexp(t, `READS +TX/S +READ P50`, out.String())
	require.Regexp(t, `sss: snapshot/locking \d+\.\d+ \(.*\)\nsnapshot +\d+( +\d+\.\d+){4} +0 `, out.String(),
		"readers without locks are not aborted")
	require.Regexp(t, `\nlocking +\d+ `, out.String())
}

func TestBothReadersHaveClustersOfTheirOwn(t *testing.T) {
	for _, flag := range []string{"--addr", "--history", "--json", "--prefix"} {
		var out, errs output
		env := environment{out: &out, err: &errs, open: openCluster}
		require.Equal(t, exitUsage, execute(t.Context(), env, []string{"run", "--both-readers", flag, "x"}))
		require.Contains(t, errs.String(), flag)
	}
}

func TestWhatIsSharedIsForClustersInThisProcess(t *testing.T) {
	p := newProgram(t, &loadtest.Store{})
	require.Equal(t, exitUsage, p.run("run", "--locks", "rw"))
	require.Contains(t, p.err.String(), "--both-readers")
}

func TestSSSAloneStandsForAllItsMixes(t *testing.T) {
	f := runFlags{workload: "sss"}
	is := func(flags ...string) func(string) bool {
		return func(name string) bool {
			for _, f := range flags {
				if f == name {
					return true
				}
			}
			return false
		}
	}
	require.Greater(t, len(f.mixes(is("seed", "clients"))), 10)
	require.Len(t, f.mixes(is("skew")), 1)
	f.workload = "zeta"
	require.Len(t, f.mixes(is()), 1)
}
