package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/metrics"
)

func TestThePageHasEveryMetricOnce(t *testing.T) {
	all, err := metrics.Catalog()
	require.NoError(t, err)
	text := write(append(all, metrics.Metric{Name: "linchpin_new_thing", Type: "gauge", Labels: []string{"a", "b"}, Help: "New."}))
	for _, m := range all {
		require.Equal(t, 1, strings.Count(text, "| `"+m.Name+"` | "+m.Type+" |"), m.Name)
	}
	require.Contains(t, text, "## Others\n\n| metric | type | labels | tells |\n|---|---|---|---|\n| `linchpin_new_thing` | gauge | a, b | New. |\n")
}

func TestAStalePageIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.md")
	require.Error(t, run(path, true), "there is none")
	require.NoError(t, run(path, false))
	require.NoError(t, run(path, true))
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.ErrorContains(t, run(path, true), "make generate")
}
