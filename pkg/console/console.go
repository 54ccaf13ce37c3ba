package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// every is how often a Document is made, while somebody looks.
const every = time.Second

// maxStreams bounds the streams. Somewhat arbitrary: one costs some kilobytes a
// second, and more people have a dashboard.
const maxStreams = 64

// writeTimeout is how long a browser has to take what it is sent.
const writeTimeout = 10 * time.Second

// Console is the handler. It is made by New.
type Console struct {
	from    Source
	allowed func(context.Context) error
	files   http.Handler
	streams atomic.Int64

	// mu is held while a Document is made, so that there is one at a time.
	mu     sync.Mutex
	series *series
	last   *made
	// snapshots were asked for at this time.
	snapshots   time.Time
	lastAnswers *answers
}

// made is a Document as it is sent: whole, and with the last seconds only.
type made struct {
	at          time.Time
	whole, tail []byte
}

// New makes a console of what a node tells. It does nothing until it is asked. allowed
// is asked before each Document of a stream, with the request's context, since
// permissions may end before the stream does; nil allows everything.
func New(from Source, allowed func(context.Context) error) *Console {
	if allowed == nil {
		allowed = func(context.Context) error { return nil }
	}
	return &Console{from: from, allowed: allowed, files: files(), series: newSeries()}
}

// ServeHTTP serves /console/ and what is below.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console is only for reading: use GET", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/console/api/v1/snapshot":
		c.snapshot(w, r)
	case "/console/api/v1/events":
		c.events(w, r)
	default:
		c.files.ServeHTTP(w, r)
	}
}

// protect has browsers run nothing but the page's own files, whatever keys are called.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// snapshot serves one Document.
func (c *Console) snapshot(w http.ResponseWriter, r *http.Request) {
	m, err := c.current(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(m.whole) // a browser that is gone needs no answer
}

// events serves Documents until the browser goes.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	if c.streams.Add(1) > maxStreams {
		c.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages look at this node already; look at another node", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer c.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	t := time.NewTicker(every)
	defer t.Stop()
	var before *made
	for {
		if c.allowed(r.Context()) != nil {
			return // who comes again is told why
		}
		m, err := c.current(r.Context())
		if err == nil && m != before {
			body := m.tail
			if before == nil || m.at.Sub(before.at) > (again-late-1)*time.Second {
				body = m.whole
			}
			before = m
			err = send(w, out, body)
		}
		if err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-t.C:
		}
	}
}

func send(w http.ResponseWriter, out *http.ResponseController, body []byte) error {
	if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", body); err != nil {
		return err
	}
	return out.Flush()
}

// current is the Document of this second, for all that want it.
func (c *Console) current(ctx context.Context) (*made, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A little less than a second, or a browser that comes a moment too early
	// would get the next one only a second later.
	if now := time.Now(); c.last != nil && now.Sub(c.last.at) < every-50*time.Millisecond {
		return c.last, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	now := time.Now()
	fresh := now.Sub(c.snapshots) >= snapshotsEvery
	// Others wait for it, so that it does not end with this browser.
	a, err := ask(context.WithoutCancel(ctx), c.from, c.series.since(), fresh)
	if err != nil {
		return nil, err
	}
	switch {
	case a.snapshots != nil:
		c.snapshots = now
	case c.lastAnswers != nil:
		a.snapshots = c.lastAnswers.snapshots
	}
	c.lastAnswers = a
	m, err := c.encode(a, now)
	if err != nil {
		return nil, err
	}
	c.last = m
	return m, nil
}

func (c *Console) encode(a *answers, now time.Time) (*made, error) {
	for n := range a.present() {
		c.series.take(n, now.Unix())
	}
	d := documentOf(a, now)
	d.Seconds, d.Whole = c.series.total(now.Unix()-kept, now.Unix()), true
	whole, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	d.Seconds, d.Whole = c.series.total(now.Unix()-again, now.Unix()), false
	tail, err := json.Marshal(d)
	return &made{at: now, whole: whole, tail: tail}, err
}
