package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// every is the interval between two Documents while a page is open.
const every = time.Second

// maxStreams bounds the open streams. Somewhat arbitrary: each costs some kilobytes per
// second.
const maxStreams = 64

// writeTimeout bounds the time in which a browser must read a Document.
const writeTimeout = 10 * time.Second

// Console is the handler. Create it with New.
type Console struct {
	from    Source
	allowed func(context.Context) error
	files   http.Handler
	streams atomic.Int64

	// mu is held while a Document is built, so that one is built at a time.
	mu     sync.Mutex
	series *series
	last   *made
	// snapshots are the last ones that were listed, at listed.
	snapshots *pb.ListSnapshotsResponse
	listed    time.Time
}

// made is an encoded Document: whole, and with the last seconds only.
type made struct {
	at          time.Time
	whole, tail []byte
}

// New returns a console of a source. It does nothing until a request arrives. allowed is
// called before each Document of a stream, with the request's context, since permissions
// may be revoked while the stream is open; nil allows everything.
func New(from Source, allowed func(context.Context) error) *Console {
	if allowed == nil {
		allowed = func(context.Context) error { return nil }
	}
	return &Console{from: from, allowed: allowed, files: files(), series: newSeries()}
}

// ServeHTTP serves /console/ and all paths below it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console is read-only: use GET", http.StatusMethodNotAllowed)
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

// protect sets headers by which browsers run only the page's own files, whatever the keys
// are.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "+
		"trusted-types 'none'")
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
	_, _ = w.Write(m.whole) // the browser may be gone
}

// events serves Documents until the browser disconnects.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	if c.streams.Add(1) > maxStreams {
		c.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		text := fmt.Sprintf("this node already serves %d console pages; use another node", maxStreams)
		http.Error(w, text, http.StatusServiceUnavailable)
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
			return // the next request receives the reason
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

// current returns the Document of this second, shared by all streams.
func (c *Console) current(ctx context.Context) (*made, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A little less than a second: a browser that is a moment early would otherwise
	// receive the next Document only a second later.
	if now := time.Now(); c.last != nil && now.Sub(c.last.at) < every-50*time.Millisecond {
		return c.last, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	now := time.Now()
	fresh := now.Sub(c.listed) >= snapshotsEvery
	// Other streams wait for it, so it must not end with this request.
	d, err := ask(context.WithoutCancel(ctx), c.from, c.series.since(), fresh)
	if err != nil {
		return nil, err
	}
	if d.Snapshots != nil {
		c.listed, c.snapshots = now, d.Snapshots
	}
	d.Snapshots = c.snapshots
	m, err := c.encode(d, now)
	if err != nil {
		return nil, err
	}
	c.last = m
	return m, nil
}

func (c *Console) encode(d *Document, now time.Time) (*made, error) {
	for n := range d.responses() {
		c.series.take(n, now.Unix())
	}
	d.complete(now)
	d.Seconds, d.Whole = c.series.total(now.Unix()-kept, now.Unix()), true
	whole, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	d.Seconds, d.Whole = c.series.total(now.Unix()-again, now.Unix()), false
	tail, err := json.Marshal(d)
	return &made{at: now, whole: whole, tail: tail}, err
}
