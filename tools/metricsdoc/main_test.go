package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/metrics"
)

func TestPageHasEveryMetricOnce(t *testing.T) {
	all, err := metrics.Catalog()
	require.NoError(t, err)
	text := write(append(all,
		metrics.Metric{Name: "linchpin_new_thing", Type: "gauge", Labels: []string{"a", "b"}, Help: "New."},
		metrics.Metric{Name: "linchpin_new_times", Type: "histogram", Help: "Times."}))
	for _, m := range all {
		require.Len(t, regexp.MustCompile(`(?m)^\| .`+m.Name+"[`{]").FindAllString(text, -1), 1, m.Name)
	}
	require.Contains(t, text, "## Others\n\n| metric | description |\n|---|---|\n"+
		"| `linchpin_new_thing{a, b}` | New. |\n| `linchpin_new_times` | Histogram. Times. |\n")
}
