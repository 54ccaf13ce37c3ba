package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/metrics"
)

// TestCatalogIsComplete: every registered metric is in the catalog, also one that has no
// series yet.
func TestCatalogIsComplete(t *testing.T) {
	all, err := metrics.Catalog()
	require.NoError(t, err)
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
		require.NotEmpty(t, m.Help, m.Name)
		require.Contains(t, []string{"counter", "gauge", "histogram"}, m.Type, m.Name)
	}
	require.True(t, slices.IsSorted(names))

	m := used(t)
	descs := make(chan *prometheus.Desc, 1000)
	m.Registry().Describe(descs)
	close(descs)
	described := 0
	for d := range descs {
		described++
		found := slices.ContainsFunc(names, func(name string) bool { return isOf(d, name) })
		require.True(t, found || ofRuntime(d), "%v is not in the catalog", d)
	}
	require.Greater(t, described, 60)
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "linchpin_") {
			require.Contains(t, names, f.GetName())
		}
	}
}

// isOf reports whether a description is of a metric.
func isOf(d *prometheus.Desc, name string) bool {
	return strings.HasPrefix(d.String(), `Desc{fqName: "`+name+`"`)
}

func ofRuntime(d *prometheus.Desc) bool {
	return strings.HasPrefix(d.String(), `Desc{fqName: "go_`) || strings.HasPrefix(d.String(), `Desc{fqName: "process_`)
}
