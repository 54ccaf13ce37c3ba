package embed

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

func answer(h http.Handler, path, from string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Body)
	return w.Code, string(body)
}

// TestProfilesAreForOperators: they are served if that was asked for, to the loopback or
// to callers that the guard admits, and health to all.
func TestProfilesAreForOperators(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	opt := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", HTTP: "127.0.0.1:0", Shards: 1, Pprof: true}
	i, err := Start(ctx, opt)
	require.NoError(t, err)
	h := *i.web.handler.Load()
	for from, want := range map[string]int{"127.0.0.1:5": http.StatusOK, "[::1]:5": http.StatusOK,
		"10.0.0.1:5": http.StatusForbidden, "nonsense": http.StatusForbidden} {
		code, _ := answer(h, "/debug/pprof/goroutine?debug=1", from)
		require.Equal(t, want, code, from)
		code, _ = answer(h, "/healthz", from)
		require.Equal(t, http.StatusOK, code, from)
	}
	i.opt.Guard = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.RemoteAddr != "10.0.0.1:5" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	h = i.httpHandler(i.backend.Load())
	code, _ := answer(h, "/debug/pprof/", "10.0.0.1:5")
	require.Equal(t, http.StatusOK, code)
	code, _ = answer(h, "/debug/pprof/", "127.0.0.1:5")
	require.Equal(t, http.StatusUnauthorized, code)
	i.opt.Pprof = false
	code, _ = answer(i.httpHandler(i.backend.Load()), "/debug/pprof/", "10.0.0.1:5")
	require.Equal(t, http.StatusNotFound, code)

	code, _ = answer(h, "/readyz", "10.0.0.1:5")
	require.Equal(t, http.StatusOK, code)
	var steps []string
	require.NoError(t, i.Drain(ctx, 0, func(d *pb.DrainProgress) error {
		steps = append(steps, d.Phase)
		return nil
	}))
	require.Equal(t, server.DrainStopping, steps[len(steps)-1])
	code, said := answer(h, "/readyz", "10.0.0.1:5")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, said, "the node is draining")
	require.NoError(t, i.Wait(ctx), "who drains has the process end")
	require.NoError(t, i.Stop())
}

func TestOperationOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"the trace ratio is out of range":                  {TraceRatio: 1.1},
		"the trace endpoint is not the URL of a collector": {TraceEndpoint: "127.0.0.1:4317"},
		"profiles need an HTTP address":                    {Pprof: true},
		"the drain timeout is out of range":                {DrainTimeout: -1},
		"the drain wait is out of range":                   {DrainWait: 2 * time.Hour},
	} {
		o.Dir = "x"
		require.ErrorContains(t, o.withDefaults().Validate(), want)
	}
	require.NoError(t, Options{Dir: "x", TraceEndpoint: "http://127.0.0.1:4317", TraceRatio: 1}.withDefaults().Validate())
}
