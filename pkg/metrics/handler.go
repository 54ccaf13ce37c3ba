package metrics

import (
	"fmt"
	"io"
	"net/http"
)

// Handler serves
//
//	/metrics  for Prometheus, rendered once a second at most
//	/healthz  200 while the process can answer at all
//	/readyz   200 while the node serves, else 503 with the reason; a node that
//	          refuses writes for want of room serves, and says so here, but
//	          /readyz?writes is 503 then
//
// ready gives the reason why the node does not serve, nil when it does; refuses why it
// refuses writes, "" when it does not.
func (m *Node) Handler(ready func() error, refuses func() string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", newPage(m.registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err, why := ready(), refuses()
		switch {
		case err != nil:
			say(w, http.StatusServiceUnavailable, err.Error())
		case why == "":
			say(w, http.StatusOK, "ok")
		case r.URL.Query().Has("writes"):
			say(w, http.StatusServiceUnavailable, why)
		default:
			say(w, http.StatusOK, "ok, but "+why)
		}
	})
	return mux
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A client that is gone needs no answer.
	_, _ = io.WriteString(w, fmt.Sprintln(text))
}
