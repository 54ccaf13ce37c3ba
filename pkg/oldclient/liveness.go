package client

import (
	"context"
	"sync/atomic"
	"time"
)

// liveness finds out about a node that is silent although something is asked of it: its
// process has been stopped, or its host or the network is gone. The keepalive of gRPC takes
// pingAfter and pingTimeout for that, four times as long.
//
//	after probeAfter of silence, while there is something to wait for: ask for the node's health
//	after silentFor, whatever was asked: the node is taken as gone
//
// Whatever arrives ends the silence. Ticks are counted, and not the time, so that a client that was itself
// stopped does not take the node as gone.
type liveness struct {
	// heard is changed with all that arrives.
	heard atomic.Uint64
}

const (
	livenessTick = 250 * time.Millisecond
	probeAfter   = time.Second
	silentFor    = 3 * time.Second
)

// watch returns true if the node is taken as gone, and false when done is closed. waiting
// reports whether something was asked that the node should answer, and probe asks for its
// health.
func (l *liveness) watch(done <-chan struct{}, waiting func() bool, probe func(context.Context)) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(livenessTick)
	defer tick.Stop()
	last, silent := l.heard.Load(), time.Duration(0)
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
		}
		now := l.heard.Load()
		if now != last || !waiting() {
			last, silent = now, 0
			continue
		}
		silent += livenessTick
		switch silent {
		case probeAfter:
			go func() {
				ctx, cancel := context.WithTimeout(ctx, silentFor)
				defer cancel()
				probe(ctx)
			}()
		case silentFor:
			return true
		}
	}
}
