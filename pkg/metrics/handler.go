package metrics

import (
	"fmt"
	"io"
	"net/http"
)

// Handler serves
//
//	/metrics  for Prometheus, rendered at most once per second
//	/healthz  200 while the process responds
//	/readyz   200 while the node serves, else 503 with the reason; a node that
//	          rejects writes because the disk is full serves, and reports it
//	          here, but /readyz?writes is 503
//
// ready returns the reason why the node does not serve, or nil; refuses returns the reason
// why it rejects writes, or "".
func (m *Node) Handler(ready func() error, refuses func() string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", newPage(m.registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err, why := ready(), refuses()
		switch {
		case err != nil:
			respond(w, http.StatusServiceUnavailable, err.Error())
		case why == "":
			respond(w, http.StatusOK, "ok")
		case r.URL.Query().Has("writes"):
			respond(w, http.StatusServiceUnavailable, why)
		default:
			respond(w, http.StatusOK, "ok, but "+why)
		}
	})
	return mux
}

func respond(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// The client may be gone.
	_, _ = io.WriteString(w, fmt.Sprintln(text))
}
