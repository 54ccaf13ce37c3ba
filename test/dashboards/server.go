package dashboards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/linchpindb/linchpin/test/integration/proc"
)

// Server is a running Prometheus.
type Server struct{ url string }

// ServerAt returns a running Prometheus at an address without TLS.
func ServerAt(addr string) *Server { return &Server{url: "http://" + addr} }

// interval is the interval of scrapes and evaluations, short so that tests are short.
const interval = time.Second

// StartServer starts Prometheus with the configuration of deploy/prometheus, other targets
// and a shorter interval. It stops at the end of the test.
func StartServer(t testing.TB, program, deployed string, targets []string) *Server {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := configure(deployed, config, targets); err != nil {
		t.Fatal(err)
	}
	addr := proc.FreeAddr(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := proc.Command(ctx, program, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--log.level", "warn")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = proc.Patience
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; t.Failed() {
			t.Logf("prometheus exited with %v; its output:\n%s", err, said.String())
		}
	})
	s := &Server{url: "http://" + addr}
	proc.Until(t, "Prometheus is ready", func(ctx context.Context) bool { return s.get(ctx, "/-/ready", nil, nil) == nil },
		func() string { return "" })
	return s
}

// configure writes the deployed configuration with other targets.
func configure(deployed, to string, targets []string) error {
	var c struct {
		Global  map[string]string `yaml:"global"`
		Rules   []string          `yaml:"rule_files"`
		Scrapes []struct {
			Job     string                `yaml:"job_name"`
			Targets []map[string][]string `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := decode(filepath.Join(deployed, "prometheus.yml"), &c); err != nil {
		return err
	}
	for name := range c.Global {
		c.Global[name] = interval.String()
	}
	for i, r := range c.Rules {
		abs, err := filepath.Abs(filepath.Join(deployed, r))
		if err != nil {
			return err
		}
		c.Rules[i] = abs
	}
	c.Scrapes[0].Targets[0]["targets"] = targets
	raw, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}

// get sends a request and decodes the data of the response.
func (s *Server) get(ctx context.Context, path string, q url.Values, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, raw)
	}
	if data == nil {
		return nil
	}
	return json.Unmarshal(raw, &struct{ Data any }{data})
}

// Answer is the result of a query: the number of series, and the greatest value that is a
// number.
type Answer struct {
	Series int
	Most   float64
}

func (a *Answer) String() string { return fmt.Sprintf("%d series, at most %v", a.Series, a.Most) }

// Query evaluates an expression for now, Range for each step of a recent time range, as
// Grafana does for graphs.
func (s *Server) Query(ctx context.Context, expr string) (Answer, error) {
	return s.ask(ctx, "/api/v1/query", url.Values{"query": {expr}})
}

// Range: see Query.
func (s *Server) Range(ctx context.Context, expr string, last, step time.Duration) (Answer, error) {
	now := time.Now()
	at := func(t time.Time) []string {
		return []string{strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)}
	}
	return s.ask(ctx, "/api/v1/query_range", url.Values{"query": {expr}, "start": at(now.Add(-last)), "end": at(now),
		"step": {strconv.FormatFloat(step.Seconds(), 'f', 3, 64)}})
}

func (s *Server) ask(ctx context.Context, path string, q url.Values) (Answer, error) {
	var data struct {
		Result []struct {
			Value  [2]any
			Values [][2]any
		}
	}
	a := Answer{Most: math.NaN()}
	if err := s.get(ctx, path, q, &data); err != nil {
		return a, err
	}
	a.Series = len(data.Result)
	for _, r := range data.Result {
		for _, v := range append(slices.Clone(r.Values), r.Value) {
			text, _ := v[1].(string)
			n, err := strconv.ParseFloat(text, 64)
			if err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && !(n <= a.Most) {
				a.Most = n
			}
		}
	}
	return a, nil
}

// RuleState is the state of the evaluation of a rule.
type RuleState struct{ Name, Health, LastError string }

// Rules lists all rules.
func (s *Server) Rules(ctx context.Context) (out []RuleState, err error) {
	var data struct {
		Groups []struct{ Rules []RuleState }
	}
	err = s.get(ctx, "/api/v1/rules", nil, &data)
	for _, g := range data.Groups {
		out = append(out, g.Rules...)
	}
	return out, err
}
