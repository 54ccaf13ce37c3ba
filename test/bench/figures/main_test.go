package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed/hotornot"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

const page = "# x\n\nbefore\n<!-- figures -->\n<!-- end of figures -->\nbetween\n<!-- counter -->\nold\n<!-- end " +
	"of counter -->\nafter\n"

// plant makes a tree with measurements and pages.
func plant(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write := func(name string, v any) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			text = string(b)
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(dir+"/hot.json", rounds.Figures{Command: "bench hot", Rows: []rounds.Figure{{Name: hotLast, Per: 14_876},
		{Name: parallel, Per: 556, Times: 26.7}}})
	write(dir+"/compare.json", rounds.Figures{Command: "make compare", CPUs: 2, Rounds: 5, Measured: "2026-11-26",
		Rows: []rounds.Figure{
			{Name: counter, Per: 50_349, Least: 45_700, Most: 54_100},
			{Name: "PostgreSQL", Per: 2100, Times: 23.7, TimesLeast: 23.2, TimesMost: 32.7},
			{Name: "etcd, get and compare", Per: 146, Times: 338}, {Name: "Redis", Per: 60_300, Times: 0.834}}})
	var r hotornot.Result
	for _, skew := range []float64{1, 1.4} {
		for _, m := range []hotornot.Mode{{TwoPhaseCommit: true}, {Auto: true}} {
			p50 := 6.04
			if m.TwoPhaseCommit {
				p50 = 183.2
			}
			r.Points = append(r.Points, &hotornot.Point{Mode: m, Skew: skew, Median: hotornot.Measured{P50: p50},
				Rounds: []hotornot.Measured{{P50: p50}}})
		}
	}
	write(dir+"/hot-or-not.json", r)
	write("README.md", page)
	write("docs/manual/comparison.md", page)
	return root
}

// TestPagesQuoteWhatWasMeasured: both have the same table, and one that was changed by hand is found.
func TestPagesQuoteWhatWasMeasured(t *testing.T) {
	root := plant(t)
	require.ErrorContains(t, run(root, true), "is stale")
	require.NoError(t, run(root, false))
	require.NoError(t, run(root, true))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	readme, comparison := read("README.md"), read("docs/manual/comparison.md")
	between := func(text string) string {
		_, rest, _ := strings.Cut(text, "<!-- figures -->")
		table, _, _ := strings.Cut(rest, "<!-- end of figures -->")
		return table
	}
	require.Equal(t, between(readme), between(comparison))
	for _, want := range []string{"| 14,900/s | 27 × two-phase commit |",
		"| 50,300/s | 24 × PostgreSQL, 338 × etcd CAS, 0.83 × Redis |",
		"Zipf 1.4 | 6.04 ms | two-phase commit: 183 ms |",
		"rounds on 2 shared cores; 1 ms between nodes in the first two rows; 2026-11-26."} {
		require.Contains(t, readme, want)
	}
	require.Contains(t, readme, "\nold\n", "README has no long table")
	require.Contains(t, comparison, "| PostgreSQL | 2,100 (0 to 0) | 24 times (23 to 33) |")
	require.True(t, strings.HasSuffix(comparison, "<!-- end of counter -->\nafter\n"))
	for _, theme := range []string{"light", "dark"} {
		require.Contains(t, read("docs/hot-or-not-"+theme+".svg"), ">183 ms<")
	}

	changed := strings.Replace(readme, "14,900", "15,900", 1)
	require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"), []byte(changed), 0o644))
	require.ErrorContains(t, run(root, true), "README.md is stale")
}

// TestWhatWasNotMeasuredIsNotQuoted but reported.
func TestWhatWasNotMeasuredIsNotQuoted(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a store is missing": {dir + "/compare.json", `{"command": "make compare", "rows": [{"name": "linchpin, add"}]}`,
			`"PostgreSQL" was not measured by "make compare"`},
		"an order is missing":  {dir + "/hot.json", `{"command": "bench hot"}`, "was not measured"},
		"no skew":              {dir + "/hot-or-not.json", `{}`, "nothing was measured of latency"},
		"damaged":              {dir + "/hot.json", `{`, "run: make figures"},
		"no place on the page": {"README.md", "# x\n", `README.md lacks "<!-- figures -->"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t)
			require.NoError(t, os.WriteFile(filepath.Join(root, c.file), []byte(c.text), 0o644))
			require.ErrorContains(t, run(root, false), c.want)
		})
	}
	root := plant(t)
	require.NoError(t, os.Remove(filepath.Join(root, dir, "hot.json")))
	require.ErrorContains(t, run(root, false), "run: make figures")
}
