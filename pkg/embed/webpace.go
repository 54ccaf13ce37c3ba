package embed

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/guard"
)

// webPace bounds how many requests per second a caller has served over HTTP, health checks
// excepted: others wait their turn, so that monitoring in a loop takes no processors from
// transactions. A caller is a user, or an address where there are no users.
type webPace struct {
	mu sync.Mutex
	// next is when the caller's next request has its turn, by caller.
	next map[string]time.Time
}

const (
	// webEvery is the time between two requests of a caller, and webBurst is how many it
	// may have at once: more than a browser needs for a page. Somewhat arbitrary.
	webEvery = 10 * time.Millisecond
	webBurst = 100
	// webLongest is how long a request waits at most; those beyond it are refused.
	webLongest = 2 * time.Second
	// keptWebCallers bounds next.
	keptWebCallers = 1024
)

func newWebPace() *webPace { return &webPace{next: map[string]time.Time{}} }

// handler lets a caller's requests through to next at its pace.
func (p *webPace) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if webNeeds(r) == guard.NeedNothing {
			next.ServeHTTP(rw, r)
			return
		}
		wait, ok := p.turn(webCaller(r), time.Now())
		if !ok {
			rw.Header().Set("Retry-After", "1")
			http.Error(rw, "too many requests of this user or address are waiting", http.StatusTooManyRequests)
			return
		}
		if wait > 0 {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(wait):
			}
		}
		next.ServeHTTP(rw, r)
	})
}

func webCaller(r *http.Request) string {
	name := guard.CallerOf(r.Context()).Name()
	if name != "" {
		return "user " + name
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// turn returns how long a caller's request waits for its turn; it has none if that is too
// long.
func (p *webPace) turn(caller string, now time.Time) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := now.Add(-webBurst * webEvery)
	if len(p.next) >= keptWebCallers {
		for c, at := range p.next {
			if at.Before(idle) {
				delete(p.next, c)
			}
		}
	}
	at := p.next[caller]
	if at.Before(idle) {
		at = idle
	}
	wait = max(at.Add(webEvery).Sub(now), 0)
	if wait > webLongest {
		return 0, false
	}
	p.next[caller] = at.Add(webEvery)
	return wait, true
}
