package dashboards_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/dashboards"
)

// TestErrorsInQueriesAreFound that a renamed metric or label can cause.
func TestErrorsInQueriesAreFound(t *testing.T) {
	types, err := dashboards.NewTypes([]*dashboards.Rule{{Record: "job:pins:sum",
		Expr: "sum by (job) (linchpin_snapshots)"}})
	require.NoError(t, err)
	for expr, want := range map[string]string{
		`linchpin_nothing_total`:                                                        `no series "linchpin_nothing_total"`,
		`linchpin_stage_duration_seconds`:                                               "there is no series",
		`linchpin_snapshots{sort="named"}`:                                              `has no label "sort"`,
		`sum by (kind`:                                                                  "parse error",
		`rate(linchpin_snapshots)`:                                                      "parse error",
		`sum by (plan) (linchpin_snapshots)`:                                            `no label "plan"`,
		`sum by (kind) (sum by (job) (linchpin_snapshots))`:                             `no label "kind" any more`,
		`sum by (kind) (sum without (kind) (linchpin_snapshots))`:                       `no label "kind" any more`,
		`sum by (kind) (job:pins:sum)`:                                                  `no label "kind" any more`,
		`linchpin_snapshots / linchpin_hot_rules`:                                       "match nothing",
		`linchpin_snapshots / on (job, kind) linchpin_hot_rules`:                        `no label "kind" any more`,
		`histogram_quantile(0.5, linchpin_stage_duration_seconds_sum)`:                  "no buckets",
		`sum by (le) (histogram_quantile(0.5, linchpin_stage_duration_seconds_bucket))`: `no label "le" any more`,
	} {
		_, err := types.Of(expr)
		require.ErrorContains(t, err, want, expr)
	}
	for expr, want := range map[string]dashboards.Labels{
		`linchpin_snapshots{kind="named"}`:                      {"job", "instance", "kind"},
		`1 - linchpin_snapshots * 2`:                            {"job", "instance", "kind"},
		`job:pins:sum`:                                          {"job"},
		`topk(3, sum by (kind) (rate(linchpin_snapshots[5m])))`: {"kind"},
		`linchpin_snapshots * on (job, instance) group_left () linchpin_hot_rules`: {"job", "instance",
			"kind"},
		`linchpin_snapshots + on (kind) linchpin_snapshots`:                                              {"kind"},
		`histogram_quantile(0.5, sum by (stage, le) (rate(linchpin_stage_duration_seconds_bucket[5m])))`: {"stage"},
		`max_over_time(go_goroutines[5m:1m]) > 3 and up`:                                                 nil,
	} {
		labels, err := types.Of(expr)
		if want == nil {
			require.ErrorContains(t, err, "match nothing", expr)
			continue
		}
		require.NoError(t, err, expr)
		require.Equal(t, want, labels, expr)
	}
}

func TestSides(t *testing.T) {
	for expr, want := range map[string][]string{
		`up == 0`:                               {"up"},
		`up - time() < 14 * 86400`:              {"up - time()"},
		`3 < up`:                                {"up"},
		`(a > 1 and b == 0) unless c`:           {"a", "b", "c"},
		`rate(a[5m]) / b > c`:                   {"rate(a[5m]) / b", "c"},
		`count by (job) (count by (v) (x)) > 1`: {"count by (job) (count by (v) (x))"},
	} {
		got, err := dashboards.Sides(expr)
		require.NoError(t, err)
		require.Equal(t, want, got, expr)
	}
	_, err := dashboards.Sides("up ==")
	require.Error(t, err)
}
