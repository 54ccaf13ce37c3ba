package link

import (
	"context"
	"sync/atomic"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// liveness detects a node that sends nothing although a response is due: its process is stopped, or
// its host or the network is gone. The keepalive of gRPC takes pingAfter and pingTimeout for that,
// eight times as long.
//
//	after probeAfter without bytes, while a response is due: request the node's health
//	after silentFor: the node is gone
//
// Any byte that arrives ends the silence. Ticks are counted, and not the time, so that a client that
// was itself stopped does not give the node up.
type liveness struct {
	// received counts the reads of the connection that returned bytes.
	received atomic.Uint64
}

const livenessTick = 250 * time.Millisecond

// timeouts are how long a node may be silent, each a multiple of livenessTick; zero is for ever.
type timeouts struct{ probeAfter, silentFor time.Duration }

// linkTimeouts are those of the node that a Link with several addresses is connected to. Another node serves what it
// did not: after such a silence other replicas have elected leaders in its place.
var linkTimeouts = timeouts{probeAfter: 500 * time.Millisecond, silentFor: 1500 * time.Millisecond}

// watch returns true if the node is gone, and false when done is closed. waiting reports whether a
// response is due, and probe requests the node's health.
func (l *liveness) watch(done <-chan struct{}, p timeouts, waiting func() bool, probe func(context.Context)) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(livenessTick)
	defer tick.Stop()
	last, silent := l.received.Load(), time.Duration(0)
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
		}
		now := l.received.Load()
		if now != last || !waiting() {
			last, silent = now, 0
			continue
		}
		silent += livenessTick
		switch silent {
		case p.probeAfter:
			go func() {
				ctx, cancel := context.WithTimeout(ctx, p.silentFor)
				defer cancel()
				probe(ctx)
			}()
		case p.silentFor:
			return true
		}
	}
}

// failOver calls silent and ends the session when its node is silent for too long. The outcomes of calls that were
// sent are queried at another node.
func (s *Session) failOver(p timeouts, silent func(*Session)) {
	health := healthpb.NewHealthClient(s.conn)
	gone := s.live.watch(s.pipe.done, p, s.waiting, func(ctx context.Context) {
		_, _ = health.Check(ctx, &healthpb.HealthCheckRequest{}) // any response counts, an error as well
	})
	if gone {
		silent(s)
		s.end()
		s.conn.Close() // for calls on streams of their own
	}
}
