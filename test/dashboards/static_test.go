package dashboards_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/test/dashboards"
)

const (
	grafana    = "../../deploy/grafana"
	prometheus = "../../deploy/prometheus"
	docker     = "../../deploy/docker"
)

// deployed is the content of deploy.
type deployed struct {
	boards []*dashboards.Board
	rules  []*dashboards.Rule
	types  *dashboards.Types
}

func load(t *testing.T) *deployed {
	t.Helper()
	boards, err := dashboards.LoadBoards(grafana)
	require.NoError(t, err)
	require.Len(t, boards, 6)
	rules, err := dashboards.LoadRules(prometheus + "/rules")
	require.NoError(t, err)
	require.Greater(t, len(rules), 40)
	types, err := dashboards.NewTypes(rules)
	require.NoError(t, err)
	return &deployed{boards, rules, types}
}

var anyChoice = dashboards.Choice{Job: "linchpin", Instance: ".*", RateInterval: "1m"}

// TestQueriesUseExistingNames of metrics and labels, in queries, legends and the texts of
// alerts.
func TestQueriesUseExistingNames(t *testing.T) {
	d := load(t)
	for _, b := range d.boards {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				labels, err := d.types.Of(q.With(anyChoice))
				require.NoError(t, err, "%s: %s: %s", b.File, p.Title, q.Expr)
				requireNamed(t, labels, q.LegendFormat, `{{(\w+)}}`, b.File+": "+p.Title)
			}
		}
	}
	for _, r := range d.rules {
		labels, err := d.types.Of(r.Expr)
		require.NoError(t, err, "%s: %s", r.File, r.Name())
		for _, text := range r.Annotations {
			requireNamed(t, labels, text, `\$labels\.(\w+)`, r.Name())
		}
	}
}

func requireNamed(t *testing.T, labels dashboards.Labels, text, pattern, where string) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		require.Contains(t, labels, m[1], "%s: %q", where, text)
	}
}

// notShown are the metrics that no dashboard shows and no rule uses, with the reason.
var notShown = map[string]string{
	"linchpin_gateway_rejections_total": "linchpin_gateway_admission_rejections_total has more detail",
}

// TestEveryMetricIsUsed, and every recorded series.
func TestEveryMetricIsUsed(t *testing.T) {
	d := load(t)
	var all strings.Builder
	for _, b := range d.boards {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all.WriteString(" " + q.Expr + "\n")
			}
		}
	}
	for _, r := range d.rules {
		all.WriteString(" " + r.Expr + "\n")
	}
	asked := func(series string) bool {
		return regexp.MustCompile(`[^\w:]` + series + `(_bucket|_sum|_count)?[^\w:]`).MatchString(all.String())
	}
	for _, r := range d.rules {
		require.True(t, r.Record == "" || asked(r.Record), "%s is recorded and not used", r.Record)
	}
	own, err := metrics.Catalog()
	require.NoError(t, err)
	there := map[string]bool{}
	for _, m := range own {
		there[m.Name] = true
		reason, left := notShown[m.Name]
		require.NotEqual(t, left, asked(m.Name), "%s: show it on a dashboard, or add it to notShown with a reason (%q)",
			m.Name, reason)
	}
	for name := range notShown {
		require.True(t, there[name], "notShown has %s, which does not exist", name)
	}
}

// TestPanelsAreComplete: each panel has what Grafana requires and a description, and panels
// do not overlap.
func TestPanelsAreComplete(t *testing.T) {
	uids := map[string]bool{}
	for _, b := range load(t).boards {
		require.False(t, uids[b.UID], b.UID)
		uids[b.UID] = true
		require.Equal(t, "linchpin-"+strings.TrimSuffix(b.File, ".json"), b.UID)
		require.GreaterOrEqual(t, b.SchemaVersion, 39, "Grafana 11")
		require.Contains(t, b.Tags, "linchpin", "the links between dashboards use the tag")
		require.Equal(t, "dashboards", b.Links[0].Type)
		for _, v := range []string{"datasource", "job", "instance"} {
			require.NotNil(t, b.Variable(v), "%s: %s", b.File, v)
		}
		ids := map[int]bool{}
		for i, p := range b.Panels {
			name := b.File + ": " + p.Title
			require.False(t, ids[p.ID], name)
			ids[p.ID] = true
			require.NotEmpty(t, p.Title, b.File)
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, name)
			for _, q := range b.Panels[:i] {
				a, b := p.GridPos, q.GridPos
				apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
				require.True(t, apart, "%s overlaps %s", name, q.Title)
			}
			if p.Type == "row" {
				continue
			}
			require.Greater(t, len(p.Description), 40, "%s: say what it means and what to do", name)
			require.NotEmpty(t, p.FieldConfig.Defaults.Unit, name)
			require.Equal(t, "${datasource}", p.Datasource.UID, name)
			require.NotEmpty(t, p.Targets, name)
			refs := map[string]bool{}
			for _, q := range p.Targets {
				require.False(t, refs[q.RefID], name)
				refs[q.RefID] = true
				require.Equal(t, "${datasource}", q.Datasource.UID, name)
			}
		}
	}
}

// TestVariablesUseExistingNames of metrics and labels, and queries use only these variables.
func TestVariablesUseExistingNames(t *testing.T) {
	d := load(t)
	for _, b := range d.boards {
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			q := v.Query.(map[string]any)["query"].(string)
			m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(q)
			require.NotNil(t, m, q)
			labels, err := d.types.Of(strings.ReplaceAll(m[1], "$job", "j"))
			require.NoError(t, err)
			require.Contains(t, labels, m[2])
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				require.NotContains(t, q.With(anyChoice), "$", "%s: %s", b.File, p.Title)
			}
		}
	}
}

// TestAlertsAreWhole: each alert has a severity, a summary, a description, and a section of
// docs/operation.md.
func TestAlertsAreWhole(t *testing.T) {
	raw, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	var headings []string
	for line := range strings.Lines(string(raw)) {
		if title, is := strings.CutPrefix(line, "### Linchpin"); is {
			headings = append(headings, "linchpin"+strings.ToLower(strings.TrimSpace(title)))
		}
	}
	var anchors []string
	for _, r := range load(t).rules {
		if r.Alert == "" {
			continue
		}
		require.Regexp(t, "^Linchpin[A-Z]", r.Alert, "the dashboard Overview counts these")
		require.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Greater(t, len(r.Annotations["description"]), 20, r.Alert)
		anchor := strings.ToLower(r.Alert)
		require.True(t, strings.HasSuffix(r.Annotations["runbook_url"], "/docs/operation.md#"+anchor), r.Alert)
		require.Contains(t, headings, anchor)
		anchors = append(anchors, anchor)
	}
	for _, h := range headings {
		require.Contains(t, anchors, h, "docs/operation.md has a section for an alert that does not exist")
	}
}

// TestEachAlertIsTestedBothWays: a test has the alert fire, another not.
func TestEachAlertIsTestedBothWays(t *testing.T) {
	tests, err := dashboards.LoadAlertTests(prometheus + "/tests")
	require.NoError(t, err)
	for _, r := range load(t).rules {
		if r.Alert == "" {
			continue
		}
		of := func(fires bool) bool {
			return slices.ContainsFunc(tests, func(a dashboards.AlertTest) bool {
				return a.Alertname == r.Alert &&
					len(a.Alerts) > 0 == fires
			})
		}
		require.True(t, of(true), "no test has %s fire", r.Alert)
		require.True(t, of(false), "no test has %s not fire", r.Alert)
	}
}
