package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestASilentNodeIsGone: after silentFor, if a response is due and even a probe has none.
func TestASilentNodeIsGone(t *testing.T) {
	for _, p := range []timeouts{linkTimeouts, leaderTimeouts} {
		t.Run(p.silentFor.String(), func(t *testing.T) { testSilence(t, p) })
	}
}

func testSilence(t *testing.T, p timeouts) {
	for name, c := range map[string]struct {
		waiting, answers bool
		gone             bool
	}{
		"it is silent":            {waiting: true, gone: true},
		"no response is due":      {},
		"it is slow":              {waiting: true, answers: true},
		"it answers, and is idle": {answers: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l liveness
				done, probes := make(chan struct{}), 0
				began := time.Now()
				stop := time.AfterFunc(20*time.Second, func() { close(done) })
				defer stop.Stop()
				gone := l.watch(done, p, func() bool { return c.waiting }, func(ctx context.Context) {
					probes++
					if c.answers {
						l.received.Add(1)
						return
					}
					<-ctx.Done()
				})
				synctest.Wait() // a last probe
				require.Equal(t, c.gone, gone)
				switch {
				case c.gone:
					require.Equal(t, p.silentFor, time.Since(began))
					require.Equal(t, 1, probes)
				case c.waiting:
					require.InDelta(t, 20*time.Second/(p.probeAfter+livenessTick), probes, 5)
				default:
					require.Zero(t, probes)
				}
			})
		})
	}
}

// TestASessionEndsTheFailureBefore: a call that later waits in vain for the next session does not get it.
func TestASessionEndsTheFailureBefore(t *testing.T) {
	c := &connector{changed: make(chan struct{}), closing: t.Context()}
	rejected := errorf(kv.KindUnauthenticated, nil, "the token is wrong")
	c.publish(nil, rejected, false)
	require.Equal(t, rejected, c.failure)
	c.publish(&Session{}, nil, false)
	c.publish(nil, nil, false)
	require.Nil(t, c.failure)
}
