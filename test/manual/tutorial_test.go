package manual

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/console"
	"github.com/linchpindb/linchpin/test/console/browser"
	"github.com/linchpindb/linchpin/test/dashboards"
)

// hot is the key that the tutorial's load makes hot.
const hot = "shop/r/000000000"

// scraped bounds the wait for Prometheus, which asks every 15 s here.
const scraped = 45 * time.Second

// TestTutorial: the tutorial's lines in order give three nodes with TLS, a Prometheus that
// scrapes all of them, and a console that shows a planted hot key by its name; and its
// last lines leave nothing behind.
func TestTutorial(t *testing.T) {
	t.Parallel()
	const page = "docs/tutorial.md"
	blocks := slices.DeleteFunc(read(t, page), func(b Block) bool { return b.Go != "" }) // TestGoOnPagesRuns
	bin := built(t)
	s := StartShell(t, t.TempDir(), FreePorts(t))
	_, err := exec.LookPath("prometheus")
	hasPrometheus := err == nil
	if !hasPrometheus {
		t.Log("there is no prometheus here, and .ci/needs could not install it: its lines are left out")
	}
	lines, advised := 0, 0
	for i, b := range blocks {
		if asAdvised(b) {
			advised++
			showsTheKey(t, s)
			t.Run("in a browser", func(t *testing.T) { browserShowsTheKey(t, s) })
		}
		if i == len(blocks)-1 && hasPrometheus {
			scrapesAll(t, s)
		}
		for _, c := range b.Commands {
			if strings.Contains(c.Text, buildLine) {
				lines++
				c.Text = strings.Replace(c.Text, buildLine, "ln -s "+bin+" bin", 1) // built has run it
			}
			if hasPrometheus || !strings.HasPrefix(c.Text, "prometheus ") {
				s.Run(t, page, c)
			}
		}
	}
	require.Equal(t, 1, lines, "the tutorial's line that builds the programs")
	require.Equal(t, 1, advised, "the load as one request")
	s.Ended(t)
	left, err := os.ReadDir(s.Dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "bin alone: %v", left)
}

// asAdvised: the block has the load as the receipt advises it, which waits for no lock for long.
func asAdvised(b Block) bool {
	return strings.HasPrefix(b.Commands[0].Text, "zetaload run") && !strings.Contains(b.Commands[0].Text, "--interactive")
}

// ask makes a request of the first node's HTTP server, as a browser after a user
// has typed a name and a password.
func (s *Shell) ask(t *testing.T, path, user, password string) *http.Response {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(s.Dir, "try", "certs", "ca.crt"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca))
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+s.ports["7101"]+path, nil)
	require.NoError(t, err)
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	resp, err := web.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// token is Ann's.
func token(t *testing.T, s *Shell) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.Dir, "try", "ann.token"))
	require.NoError(t, err)
	return strings.TrimSpace(string(raw))
}

// showsTheKey: the console has the hot key by its name, for Ann and no other user.
func showsTheKey(t *testing.T, s *Shell) {
	t.Helper()
	token := token(t, s)
	for _, path := range []string{"/console/", "/console/api/v1/snapshot", "/metrics"} {
		require.Equal(t, http.StatusUnauthorized, s.ask(t, path, "", "").StatusCode, path)
		require.Equal(t, http.StatusUnauthorized, s.ask(t, path, "ann", token+"x").StatusCode, path)
		require.Equal(t, http.StatusOK, s.ask(t, path, "ann", token).StatusCode, path)
	}
	var d console.Document
	require.NoError(t, json.NewDecoder(s.ask(t, "/console/api/v1/snapshot", "ann", token).Body).Decode(&d))
	require.Len(t, d.Nodes, 3)
	require.NotContains(t, d.Nodes, nil, "all have responded")
	i := slices.IndexFunc(d.Keys, func(k console.Key) bool { return string(k.Key) == hot })
	require.GreaterOrEqual(t, i, 0, "%+v", d.Keys)
	c := d.Keys[i].Conflict
	require.NotZero(t, c.Waits)
	require.NotZero(t, c.SinceNs)
	require.Equal(t, "get-for-update", c.Operations)
	for _, k := range d.Keys {
		require.LessOrEqual(t, k.Conflict.WaitedUs, c.WaitedUs, "%q is the one that is waited for most, not %q", hot, k.Key)
	}
	require.True(t, slices.ContainsFunc(d.Receipts, func(r console.Receipt) bool {
		return strings.Contains(r.Receipt.Sentence, hot)
	}))
}

// browserShowsTheKey: a user who ignores the warning of the browser, and logs in as Ann,
// sees the name of the key.
func browserShowsTheKey(t *testing.T, s *Shell) {
	b := browser.Open(t, chromedp.Flag("ignore-certificate-errors", true))
	at := "127.0.0.1:" + s.ports["7101"] + "/console/"
	b.Do(chromedp.Navigate("https://"+url.UserPassword("ann", token(t, s)).String()+"@"+at),
		chromedp.Navigate("https://"+at))
	b.Until(`[...document.querySelectorAll("#keys .key-name")].some((n) => n.textContent === "`+hot+`")`, stepTimeout)
	b.Until(`document.querySelectorAll("#nodes .up").length === 3`, stepTimeout)
}

// withTLS are queries of what a cluster has with TLS only.
var withTLS = []string{"linchpin_authentications_total", "linchpin_certificate_expiry_timestamp_seconds - time()",
	"linchpin_user_table_age_seconds"}

// scrapesAll: Prometheus has got through to all nodes, and its rules work.
func scrapesAll(t *testing.T, s *Shell) {
	t.Helper()
	p := dashboards.ServerAt("127.0.0.1:" + s.ports["9190"])
	ctx, cancel := context.WithTimeout(t.Context(), scraped)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		up, err := p.Query(ctx, `sum(up{job="linchpin"}) == 3`)
		if err == nil && up.Series == 1 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("Prometheus does not scrape all nodes: %v %v", up.String(), err)
		}
	}
	for _, q := range withTLS {
		a, err := p.Query(t.Context(), fmt.Sprintf("count by (job) ((%s) > 0)", q))
		require.NoError(t, err, q)
		require.Equal(t, 1, a.Series, q)
	}
	rules, err := p.Rules(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(rules), 40)
	for _, r := range rules {
		require.NotEqual(t, "err", r.Health, "%s: %s", r.Name, r.LastError)
	}
}
