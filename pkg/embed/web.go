package embed

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/console"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/server"
)

// web is the HTTP server. It answers health checks from the start, and the
// rest once the node serves.
type web struct {
	addr    string
	server  *http.Server
	handler atomic.Pointer[http.Handler]
	done    chan struct{}
}

// Connections have a place among all of the node (guard.Limits), so none may keep it for
// nothing.
const (
	// requestTimeout is how long a request may take to come, with its body: nothing
	// here has a use for more than a line of that. The server lets go of it when the
	// request is whole, so that it does not end the console's stream.
	requestTimeout = 5 * time.Second
	// answerTimeout is how long a request may take in all from then on. The console's
	// stream sets its own, and profiles have as long as they measure besides.
	answerTimeout = time.Minute
	// idleTimeout is more than passes between two scrapes of Prometheus, which are a
	// minute apart by default, and two at most in practice: it takes what is five
	// minutes old for gone.
	idleTimeout = 3 * time.Minute
)

func newWeb(listen string, open bool, log *slog.Logger, gate *guard.Gate) (*web, error) {
	addr, err := membership.ListenAddress(listen, open)
	if err != nil {
		return nil, err
	}
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "cannot listen for HTTP: " + err.Error(),
			Hint: "set another address with --http"}
	}
	return webOn(lis, log, gate), nil
}

// webOn answers what comes by a listener, which it closes.
func webOn(lis net.Listener, log *slog.Logger, gate *guard.Gate) *web {
	w := &web{addr: lis.Addr().String(), done: make(chan struct{})}
	w.server = &http.Server{ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10,
		ConnContext:    gate.ConnContext, ConnState: gate.ConnState,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Handler:  gate.HTTP(newWebPace().handler(http.HandlerFunc(w.route)), webNeeds)}
	lis = gate.HTTPListener(lis)
	go func() {
		defer close(w.done)
		if err := w.server.Serve(lis); err != http.ErrServerClosed {
			log.Error("HTTP server failed", "error", err)
		}
	}()
	return w
}

func (w *web) route(rw http.ResponseWriter, r *http.Request) {
	if h := w.handler.Load(); h != nil {
		(*h).ServeHTTP(rw, r)
		return
	}
	if r.URL.Path == "/healthz" {
		fmt.Fprintln(rw, "ok")
		return
	}
	http.Error(rw, server.NotReady().Error(), http.StatusServiceUnavailable)
}

func (w *web) serve(h http.Handler) { w.handler.Store(&h) }

func (w *web) close() error {
	err := w.server.Close()
	<-w.done
	return err
}

// httpHandler serves HTTP requests once the node serves.
func (i *Instance) httpHandler(b *backend) http.Handler {
	mux := pages(b.metrics.Handler(i.ready, b.node.WriteRejection), i.server.Local())
	if i.opt.Pprof {
		mux.Handle("/debug/pprof/", i.operatorsOnly(profiles()))
	}
	return mux
}

// pages are the metrics and the console.
func pages(counted http.Handler, from console.Source) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/", counted)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	c := console.New(from, func(ctx context.Context) error {
		if err := guard.CallerOf(ctx).May(guard.NeedMonitor, "the console"); err != nil {
			return err
		}
		return nil
	})
	mux.Handle("/console", c)
	mux.Handle("/console/", c)
	return mux
}

// operatorsOnly stands before what operators alone may see: with TLS the gate has let
// only administrators through (webNeeds), without it who calls from this machine.
func (i *Instance) operatorsOnly(next http.Handler) http.Handler {
	switch {
	case i.opt.Guard != nil:
		return i.opt.Guard(next)
	case i.gate.Secure():
		return next
	}
	return loopbackOnly(next)
}

// ready says why the node does not serve, nil if it does.
func (i *Instance) ready() error {
	if i.drain.begun() {
		return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node is draining"}
	}
	return nil
}

// profiles serves those of net/http/pprof, which registers them without authentication.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// loopbackOnly lets pass who calls from this machine.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			http.Error(w, "only callers on the node's own machine are allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
