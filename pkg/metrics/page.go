package metrics

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// renderEvery is the minimum interval between two renderings of /metrics.
const renderEvery = time.Second

// page serves /metrics. A request within renderEvery of the last rendering waits for the
// next one, which serves all waiting requests. So no response is older than its request,
// and any number of clients cost one rendering per second.
type page struct {
	render http.Handler

	mu sync.Mutex
	// began is the time at which families were collected.
	began    time.Time
	source   prometheus.Gatherer
	families []*dto.MetricFamily
	failed   error
	// bodies are the rendered families, by form.
	bodies map[form]*body
}

// form is an encoding of the metrics.
type form struct {
	format expfmt.Format
	gzip   bool
}

// body is a response.
type body struct {
	code   int
	header http.Header
	bytes.Buffer
}

func (b *body) Header() http.Header { return b.header }

func (b *body) WriteHeader(code int) { b.code = code }

func newPage(r *prometheus.Registry) *page {
	p := &page{source: r}
	// render runs with mu held.
	p.render = promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return p.families,
			p.failed
	}),
		promhttp.HandlerOpts{Registry: r})
	return p
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	f := form{expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...),
		acceptsGzip(r.Header.Get("Accept-Encoding"))}
	b, wait := p.body(f, r, arrived)
	for b == nil {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(wait):
		}
		b, wait = p.body(f, r, arrived)
	}
	for name, values := range b.header {
		w.Header()[name] = values
	}
	w.WriteHeader(b.code)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func acceptsGzip(encodings string) bool {
	return strings.Contains(encodings, "gzip") && !strings.Contains(encodings, "gzip;q=0")
}

// body returns the response in a form, or how long the request has to wait for it.
func (p *page) body(f form, r *http.Request, arrived time.Time) (b *body, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.began.Before(arrived) {
		wait = renderEvery - now.Sub(p.began)
		if wait > 0 {
			return nil, wait
		}
		p.began, p.bodies = now, map[form]*body{}
		p.families, p.failed = p.source.Gather()
	}
	b = p.bodies[f]
	if b != nil {
		return b, 0
	}
	b = &body{code: http.StatusOK, header: http.Header{}}
	asked := &http.Request{Method: http.MethodGet, URL: &url.URL{},
		Header: http.Header{"Accept": r.Header.Values("Accept")}}
	if f.gzip {
		asked.Header.Set("Accept-Encoding", "gzip")
	}
	p.render.ServeHTTP(b, asked)
	p.bodies[f] = b
	return b, 0
}
