package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStaleDashboardIsReported(t *testing.T) {
	dir := t.TempDir()
	require.ErrorContains(t, run(dir, true), "make generate", "the dashboard does not exist")
	require.NoError(t, run(dir, false))
	require.NoError(t, run(dir, true))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gone.json"), []byte("{}"), 0o600))
	require.ErrorContains(t, run(dir, true), "gone.json is not a dashboard")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone.json")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node.json"), []byte("{}"), 0o600))
	require.ErrorContains(t, run(dir, true), "node.json is stale")
}

// TestPanelsDoNotOverlap: panels are laid out in rows, from left to right.
func TestPanelsDoNotOverlap(t *testing.T) {
	b := &board{uid: "x", rows: []row{
		{"one", []graph{{kind: number, queries: q("a{@}", "")},
			{queries: q(`b{@,x="y"} / rate(c{#}[~])`, "")}, {width: 20}}},
		{"two", []graph{{kind: table}, {kind: heat}}},
	}}
	d := b.build()
	var at []gridPos
	for i, p := range d.Panels {
		require.Equal(t, i+1, p.ID)
		at = append(at, p.GridPos)
	}
	require.Equal(t, []gridPos{{1, 24, 0, 0}, {4, 4, 0, 1}, {8, 8, 4, 1}, {8, 20, 0, 9},
		{1, 24, 0, 17}, {9, 12, 0, 18}, {8, 8, 12, 18}}, at)
	require.Equal(t, `a{job="$job",instance=~"$instance"}`, d.Panels[1].Targets[0].Expr)
	require.Equal(t, `b{job="$job",instance=~"$instance",x="y"} / rate(c{job="$job"}[$__rate_interval])`,
		d.Panels[2].Targets[0].Expr)
}

func TestThresholdColours(t *testing.T) {
	colours := func(warn, bad float64) (out []string) {
		g := graph{warn: warn, bad: bad}
		for _, s := range g.thresholds().Steps {
			out = append(out, s.Color)
		}
		return out
	}
	require.Equal(t, []string{"text"}, colours(0, 0))
	require.Equal(t, []string{"green", "orange", "red"}, colours(1, 2))
	require.Equal(t, []string{"red", "orange", "green"}, colours(2, 1), "low values are bad")
	require.Equal(t, []string{"green", "red"}, colours(1, 1))
}
