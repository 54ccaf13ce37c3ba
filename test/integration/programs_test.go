package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestDemo runs the demo with shorter runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"hot-last", "parallel"} {
		r := proc.Linchpin(t, "demo", "--duration", "1s", "--keys", "1000", "--commit-order", order)
		require.Equal(t, cli.ExitOK, r.Code, r.Err)
		for _, text := range []string{"Starting 3 nodes, 8 shards and a hot shard", "node n3 at 127.0.0.1:",
			"Loaded 1000 keys",
			"Run 1 of 4, hot shard off", "Run 4 of 4, hot shard auto", "warming up, ", " keys on the hot shard", "fsyncs",
			" attempts aborted",
			"KEY               HOT SHARD OFF  HOT SHARD AUTO"} {
			require.Contains(t, r.Out, text)
		}
		require.NotContains(t, r.Out+r.Err, "panic")
		require.NotContains(t, r.Out, "p50 0.00")
		for _, line := range strings.Split(r.Out, "\n") {
			require.LessOrEqual(t, len(line), 80, line)
		}
		require.Regexp(t, `medians of 2 runs each:\n +HOT SHARD +TRANSACTIONS/S .*\n +off +\d+ .*\n +auto +\d+ .*\n\n`+
			`Three replicas .*; n\d leads the hot shard\n  n\d is stopped under load\n  n\d leads the hot shard now(?s:.*)`+
			`increment: (?s:.*)no acknowledged write was lost: \d+ increments, the counters have \d+\n$`, r.Out)
	}
}

// TestZetaload runs a skewed workload, and checks its history as the manual describes. A history that is
// not strictly serializable is rejected.
func TestZetaload(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", "zeta/0"}})
	dir := t.TempDir()
	report, addrs := filepath.Join(dir, "r.json"), strings.Join(c.Addrs(), ",")
	for i, kind := range [][]string{{}, {"--interactive"}, {"--incr", "1", "--rmw", "1"}} {
		hist := filepath.Join(dir, fmt.Sprintf("h%d.bin", i))
		args := append([]string{"run", "--addr", addrs, "--skew", "1.2", "--clients", "32", "--duration", "1s", "--keys",
			"500",
			"--fresh-keys", "--history", hist, "--json", report}, kind...)
		r := proc.Zetaload(t, args...)
		require.Zero(t, r.Code, r.Err)
		check := proc.Zetaload(t, "check", hist)
		require.Zero(t, check.Code, check.Out+check.Err)
		require.Contains(t, check.Out, "strictly serializable")

		f, err := os.Open(report)
		require.NoError(t, err)
		result, err := workload.ReadResult(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Greater(t, result.All.Committed, uint64(20))
		require.Zero(t, result.All.Unknown)
		require.Empty(t, result.Errors)
		h, err := history.Load(hist)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(h.Txns), int(result.All.Committed))
	}
	// A history with a lost acknowledged write.
	lossy := filepath.Join(dir, "lossy.bin")
	rec, err := history.Create(lossy, history.Meta{Note: "a lost write"})
	require.NoError(t, err)
	cl := rec.Client(1)
	p := cl.Begin([]byte("writer"))
	p.Write([]byte("k"), []byte("v"))
	p.Commit()
	p = cl.Begin([]byte("reader"))
	p.ReadAbsent([]byte("k"))
	p.Commit()
	require.NoError(t, rec.Close())
	require.Equal(t, 1, proc.Zetaload(t, "check", lossy).Code)
}
