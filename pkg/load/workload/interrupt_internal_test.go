package workload

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client may stop because of an interruption before that is reported.
func TestAnInterruptionIsNotAfterWhatItStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var i interruption
	i.seen(ctx)
	require.Nil(t, i.at.Load())
	cancel()
	i.seen(ctx) // as the client does, before it says when it stopped
	stopped := time.Now()
	first := i.at.Load()
	i.seen(ctx) // as the watcher does, late
	require.Same(t, first, i.at.Load())
	end, interrupted := i.end(window{}, stopped)
	require.True(t, interrupted)
	require.Equal(t, *first, end)
	end, interrupted = i.end(window{end: *first}, stopped)
	require.False(t, interrupted, "it was over")
	require.Equal(t, *first, end)
}
