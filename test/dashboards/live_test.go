package dashboards_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/deploy"
	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/test/dashboards"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

func TestMain(m *testing.M) { os.Exit(proc.Main(m)) }

// program returns the path of a program of Debian's package prometheus. Without it the test
// is skipped; `make test` installs the package if it can.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s here, and .ci/needs could not install it: apt-get install --no-install-recommends prometheus",
			name)
	}
	return path
}

// quiet are series that are 0 in a healthy cluster, that change too slowly for a test, or
// whose level is usually 0: queries of these may return 0.
var quiet = []string{
	"linchpin_shard_queue_length", "linchpin_shard_lock_waiters", "linchpin_shard_prepared_transactions",
	"linchpin_shard_decision_records", "linchpin_shard_held_updates",
	"linchpin_shard_cache_misses_in_flight", "linchpin_store_flush",
	"ALERTS", "linchpin_store_corruptions_total", "linchpin_store_failed_compactions_total", "linchpin_store_compact",
	"linchpin_gateway_unfair_rejections_total",
	"rejections_total", "linchpin_connections_rejected_total", "linchpin_peer_messages_dropped_total",
	"linchpin_shard_lease_expirations_total", "linchpin_hot_moves_failed_total", "linchpin_shard_gc_pending_dropped_total",
	"linchpin_shard_gc_swept_keys_total", "linchpin_shard_expired_keys_pending", "linchpin_shard_expiry_lag_seconds",
	"linchpin_scans_stalled_total", "linchpin_shard_pages_",
	"linchpin_shard_replicas_missing", "linchpin_shard_follower_lag_entries", "linchpin_raft_snapshots_total",
	"linchpin_shard_elections_total", "linchpin_shard_leaderships_total", "transaction_failures",
	"linchpin_shard_leader_transfers_total", "linchpin_peer_clock_rate_difference",
	"changes(process_start_time_seconds", "linchpin_node_clock_", "linchpin_client_memory_",
}

// withTLS are series that exist only with TLS, which this cluster does not use: queries of
// these must not fail, but may return nothing.
var withTLS = []string{"linchpin_authentications_total", "linchpin_certificate_", "linchpin_user_table_age_seconds"}

// withReplicas are series that exist only in a cluster with several replicas of each shard.
var withReplicas = []string{"linchpin_shard_leads", "linchpin_shard_term", "linchpin_shard_lease_seconds",
	"linchpin_shard_replicas_missing", "linchpin_shard_follower_lag_entries", "linchpin_shard_elections_total",
	"linchpin_shard_leaderships_total", "linchpin_shard_leader_transfers_total", "linchpin_peer_clock_rate_difference",
	"linchpin_raft_"}

// isOf reports whether the query is of one of some series.
func (q *question) isOf(series []string) bool {
	return slices.ContainsFunc(series, func(name string) bool { return strings.Contains(q.expr, name) })
}

// question is a query that must return a result.
type question struct {
	where, expr string
	instant     bool
	// zero and empty: the result may be 0, or empty.
	zero, empty bool
	last        string
}

func questions(d *deployed, instances []string) (qs []*question) {
	add := func(where, expr string, instant bool) {
		q := &question{where: where, expr: expr, instant: instant}
		for _, name := range quiet {
			q.zero = q.zero || strings.Contains(expr, name)
		}
		qs = append(qs, q)
	}
	for _, b := range d.boards {
		choices := []string{".*"}
		if !b.Variable("instance").Multi {
			choices = instances
		}
		for _, instance := range choices {
			for _, p := range b.Panels {
				for _, q := range p.Targets {
					add(b.File+": "+p.Title, q.With(dashboards.Choice{Job: "linchpin", Instance: instance, RateInterval: "10s"}),
						q.Instant)
				}
			}
		}
	}
	return qs
}

// answered runs the query, and reports whether the result is as required: a positive number,
// or what zero and empty allow.
func (q *question) answered(ctx context.Context, s *dashboards.Server) bool {
	ask := s.Query
	if !q.instant {
		ask = func(ctx context.Context, expr string) (dashboards.Answer, error) {
			return s.Range(ctx, expr, 30*time.Second, 5*time.Second)
		}
	}
	a, err := ask(ctx, q.expr)
	if err != nil {
		q.last = err.Error()
		return false
	}
	q.last = a.String()
	return q.empty || a.Series > 0 && (a.Most > 0 || q.zero && a.Most == 0)
}

// queryTimeout bounds the time until all questions are answered. On an idle machine they take
// about 20 s.
const queryTimeout = 2 * time.Minute

// TestEveryQueryAnswersOnALiveCluster runs three nodes under load and Prometheus with the
// deployed configuration, and requires a result of every query of every panel, every
// recording rule, and both sides of every alert.
func TestEveryQueryAnswersOnALiveCluster(t *testing.T) {
	prom := program(t, "prometheus")
	d := load(t)
	c := proc.StartCluster(t, proc.Options{})
	var targets []string
	for _, n := range c.Nodes() {
		targets = append(targets, n.HTTP)
	}
	s := dashboards.StartServer(t, prom, prometheus, targets)
	dashboards.Prepare(t, c)
	dashboards.Load(t, c, 2*queryTimeout)

	qs := append(questions(d, targets), ruleQuestions(t, d)...)
	require.Greater(t, len(qs), 200)
	for _, q := range qs {
		q.empty = q.isOf(withTLS) || q.isOf(withReplicas)
	}
	requireAnswers(t, s, qs)
	requireRulesWork(t, s, d)
	series, err := s.Query(t.Context(), `max(scrape_samples_scraped{job="linchpin"})`)
	require.NoError(t, err)
	t.Logf("a node exposes %v series", series.Most)
	require.Less(t, series.Most, 2000.0, "docs/dashboards.md says how many it may be")
}

// ruleQuestions are the queries of the rules: both sides of the alerts.
func ruleQuestions(t *testing.T, d *deployed) (qs []*question) {
	for _, r := range d.rules {
		exprs := []string{r.Record}
		if r.Alert != "" {
			var err error
			exprs, err = dashboards.Sides(r.Expr)
			require.NoError(t, err)
		}
		for _, e := range exprs {
			qs = append(qs, &question{where: r.File + ": " + r.Name(), expr: e, instant: true, zero: true})
		}
	}
	return qs
}

func requireAnswers(t *testing.T, s *dashboards.Server, qs []*question) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), queryTimeout)
	defer cancel()
	for _, q := range askAll(ctx, t, s, qs) {
		t.Errorf("%s: %s: %s", q.where, q.expr, q.last)
	}
}

// TestQueriesOfReplicasAnswer runs the queries that need replicas, of all nodes together: a node may lead nothing.
func TestQueriesOfReplicasAnswer(t *testing.T) {
	prom := program(t, "prometheus")
	d := load(t)
	c := proc.StartCluster(t, proc.Options{Args: []string{"--replicas", "3"}})
	var targets []string
	for _, n := range c.Nodes() {
		targets = append(targets, n.HTTP)
	}
	s := dashboards.StartServer(t, prom, prometheus, targets)
	qs := append(questions(d, []string{".*"}), ruleQuestions(t, d)...)
	qs = slices.DeleteFunc(qs, func(q *question) bool { return !q.isOf(withReplicas) })
	require.Greater(t, len(qs), 10)
	dashboards.Load(t, c, 2*queryTimeout)
	requireAnswers(t, s, qs)
}

// askAll repeats the questions until all are answered or ctx ends, and returns the
// unanswered ones.
func askAll(ctx context.Context, t *testing.T, s *dashboards.Server, qs []*question) []*question {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		qs = slices.DeleteFunc(qs, func(q *question) bool { return ctx.Err() == nil && q.answered(ctx, s) })
		if len(qs) == 0 || ctx.Err() != nil {
			return qs
		}
		if len(qs) < 10 {
			t.Logf("%d queries have no result yet, for example %s: %s", len(qs), qs[0].where, qs[0].last)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// requireRulesWork requires that Prometheus has evaluated each rule without an error.
func requireRulesWork(t *testing.T, s *dashboards.Server, d *deployed) {
	t.Helper()
	states, err := s.Rules(t.Context())
	require.NoError(t, err)
	require.Len(t, states, len(d.rules))
	for _, r := range states {
		require.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
	}
}

// withSecrets copies the configuration for TLS to a directory with the files that it names,
// which promtool checks, and returns its path.
func withSecrets(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(prometheus)))
	_, err := (&certs.Maker{Dir: dir}).CreateCA()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.token"), []byte("a token\n"), 0o600))
	return filepath.Join(dir, filepath.Base(deploy.PrometheusTLS))
}

// TestPromtoolAcceptsRulesAndTests checks the configuration and the rules, and runs the tests
// of the alerts.
func TestPromtoolAcceptsRulesAndTests(t *testing.T) {
	promtool := program(t, "promtool")
	tests, err := filepath.Glob(filepath.Join(prometheus, "tests", "*.yml"))
	require.NoError(t, err)
	rules, err := filepath.Glob(filepath.Join(prometheus, "rules", "*.yml"))
	require.NoError(t, err)
	for _, args := range [][]string{{"check", "config", filepath.Join(prometheus, "prometheus.yml")},
		{"check", "config", withSecrets(t)},
		{"check", "config", docker + "/prometheus.yml"}, append([]string{"check", "rules", "--lint-fatal"}, rules...),
		append([]string{"test", "rules"}, tests...)} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		require.Contains(t, string(out), "SUCCESS", fmt.Sprint(args))
	}
}
