package embed

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPollersAreServedAtTheirPace: sixty connections of one address that ask in a loop are
// served a hundred requests a second, and neither another address nor a health check waits
// for them.
func TestPollersAreServedAtTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		h := newWebPace().handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
		ask := func(from, path string) (int, time.Duration) {
			w, r, began := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil), time.Now()
			r.RemoteAddr = from
			h.ServeHTTP(w, r)
			return w.Code, time.Since(began)
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				for time.Since(began) < 10*time.Second {
					code, _ := ask("10.0.0.1:1", "/console/")
					require.Equal(t, http.StatusOK, code)
				}
			})
		}
		time.Sleep(5 * time.Second)
		for _, from := range []string{"10.0.0.2:1", "10.0.0.1:1"} {
			path := map[bool]string{true: "/healthz", false: "/metrics"}[from == "10.0.0.1:1"]
			code, took := ask(from, path)
			require.Equal(t, http.StatusOK, code)
			require.Zero(t, took)
		}
		all.Wait()
		require.InDelta(t, 10*100+webBurst, float64(served.Load()), 70)
	})
}

// TestRequestsThatWouldWaitLongAreRefused: and they do not make others wait longer.
func TestRequestsThatWouldWaitLongAreRefused(t *testing.T) {
	p, now := newWebPace(), time.Unix(1000, 0)
	served := 0
	for range 1000 {
		wait, ok := p.turn("alice", now)
		if ok {
			served++
			require.LessOrEqual(t, wait, webLongest)
		}
	}
	require.Equal(t, webBurst+int(webLongest/webEvery), served)
	_, ok := p.turn("alice", now.Add(webEvery))
	require.True(t, ok)
	for i := range 2 * keptWebCallers {
		now = now.Add(webEvery)
		p.turn(time.Duration(i).String(), now)
		require.LessOrEqual(t, len(p.next), keptWebCallers)
	}
}
