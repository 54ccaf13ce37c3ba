package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/stores"
)

// meter measures one way to count, round after round.
type meter struct {
	o      *options
	server *stores.Server
	way    stores.Way
	// acknowledged and unknown are the increments since the server was started.
	acknowledged, unknown atomic.Int64
	// These have a number for each round: milliseconds, and microseconds of
	// processor time for each increment.
	p50, p99, serverCPU, clientCPU []float64
}

// grace is how long increments may take that were begun in time.
const grace = 30 * time.Second

// mostUnknown is how many outcomes may be unknown before a run is given up.
const mostUnknown = 1000

// measure measures once, in increments per second, and holds the counter
// against what was acknowledged.
func (m *meter) measure(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.warm+m.o.measure+grace)
	defer cancel()
	before, server, client := m.acknowledged.Load(), m.server.CPU(), child.OwnCPU()
	load, err := rounds.Loop{Callers: m.o.clients, Warm: m.o.warm, Measure: m.o.measure, Latencies: true,
		Do: m.increment}.Run(ctx)
	if err != nil {
		return 0, err
	}
	server, client = m.server.CPU()-server, child.OwnCPU()-client
	done := float64(max(m.acknowledged.Load()-before, 1))
	m.p50, m.p99 = append(m.p50, load.P50.Seconds()*1e3), append(m.p99, load.P99.Seconds()*1e3)
	m.serverCPU, m.clientCPU = append(m.serverCPU, server.Seconds()*1e6/done),
		append(m.clientCPU, client.Seconds()*1e6/done)
	return load.PerSecond(), m.verify(ctx)
}

// increment increments once for client number i and counts what came of it.
func (m *meter) increment(ctx context.Context, i int) error {
	err := m.way.Increment(ctx, i)
	switch {
	case err == nil:
		m.acknowledged.Add(1)
		return nil
	case !errors.Is(err, stores.ErrUnknown) || ctx.Err() != nil:
		return err
	}
	if n := m.unknown.Add(1); n > mostUnknown {
		return fmt.Errorf("the outcomes of %d increments are unknown: %w", n, err)
	}
	return nil
}

// verify reads the counter, which holds all increments that were acknowledged,
// perhaps some of which that is not known, and no others.
func (m *meter) verify(ctx context.Context) error {
	holds, err := m.way.Value(ctx)
	if err != nil {
		return fmt.Errorf("reading the counter: %w", err)
	}
	least, unknown := m.acknowledged.Load(), m.unknown.Load()
	if holds < least || holds > least+unknown {
		return fmt.Errorf("the counter holds %d after %d increments that were acknowledged, and %d whose outcome is unknown",
			holds, least, unknown)
	}
	return nil
}
