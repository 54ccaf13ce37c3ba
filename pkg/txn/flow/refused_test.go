package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// TestRefusedReaderRetriesFor500ms while a node is down, and for as long again once no node was, or it had a snapshot.
func TestRefusedReaderRetriesFor500ms(t *testing.T) {
	gw := NewGateway(env.New(env.Config{Node: 1, Router: oneShard{}}), func(func(Flow)) {})
	gw.Now = int64(time.Hour)
	down, drains := &msg.Failure{Down: 3}, &msg.Failure{}
	for _, end := range []func(*Call){
		func(c *Call) { c.retryRefused(gw, drains) },
		func(c *Call) { gw.readAtRound(c, &round.Round{}) },
	} {
		var c Call
		refused := func(after time.Duration) Outcome {
			gw.Now += int64(after)
			return c.retryRefused(gw, down)
		}
		require.Equal(t, Continue, refused(0))
		require.Equal(t, Continue, refused(maxRefused-1))
		end(&c)
		require.Equal(t, Continue, refused(1))
		require.Equal(t, Continue, refused(maxRefused-1))
		require.Equal(t, Aborted(down), refused(1))
	}
}
