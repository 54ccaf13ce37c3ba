package metrics

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// TestMetricsAreRenderedOnceASecond: connections that ask all the time share a rendering,
// which is no older than any of their requests.
func TestMetricsAreRenderedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, collected := prometheus.NewRegistry(), 0
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "collected"}, func() float64 {
			collected++
			return float64(time.Now().UnixNano()) / 1e9
		}))
		p := newPage(r)
		began := time.Now()
		var all sync.WaitGroup
		for poller := range 60 {
			all.Go(func() {
				for time.Since(began) < 10*time.Second {
					asked := time.Now()
					w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
					if poller%2 == 0 {
						q.Header.Set("Accept-Encoding", "gzip")
					}
					p.ServeHTTP(w, q)
					require.Equal(t, http.StatusOK, w.Code)
					var body io.Reader = w.Body
					if poller%2 == 0 {
						unpacked, err := gzip.NewReader(w.Body)
						require.NoError(t, err)
						body = unpacked
					}
					text, err := io.ReadAll(body)
					require.NoError(t, err)
					_, value, _ := strings.Cut(string(text), "\ncollected ")
					value, _, _ = strings.Cut(value, "\n")
					at, err := strconv.ParseFloat(value, 64)
					require.NoError(t, err)
					require.InDelta(t, 0, float64(time.Now().UnixNano())/1e9-at, 0.001)
					require.LessOrEqual(t, time.Since(asked), renderEvery)
					time.Sleep(time.Duration(poller+1) * time.Millisecond)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, collected, 12)
		require.GreaterOrEqual(t, collected, 9)
	})
}
