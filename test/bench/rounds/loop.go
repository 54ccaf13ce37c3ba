package rounds

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Loop has callers that each do one thing after the other.
type Loop struct {
	// Callers do one thing at a time each.
	Callers int
	// Warm goes before what is measured.
	Warm, Measure time.Duration
	// Latencies has the time of each thing kept.
	Latencies bool
	// Do is called by caller number i, from 0.
	Do func(ctx context.Context, i int) error
}

// Load is what a Loop did while it was measured.
type Load struct {
	Done int
	Took time.Duration
	// P50 and P99 are known if Latencies was set.
	P50, P99 time.Duration
}

// PerSecond is the rate.
func (l Load) PerSecond() float64 { return float64(l.Done) / l.Took.Seconds() }

// The phases of a Loop.
const (
	warming = iota
	measuring
	over
)

// errIdle says that there is no number: a rate of 0 is less than any, and what is
// divided by it more than any that is asked.
var errIdle = errors.New("nothing ended while it was measured")

// Run runs the loop and returns the first error of Do. That nothing ended while it
// was measured is an error.
func (l Loop) Run(ctx context.Context) (Load, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Int32
	counts := make([]int, l.Callers)
	times := make([][]time.Duration, l.Callers)
	var wg sync.WaitGroup
	for i := range l.Callers {
		wg.Go(func() {
			n := 0
			for at := phase.Load(); at != over; at = phase.Load() {
				var begin time.Time
				if l.Latencies {
					begin = time.Now()
				}
				if err := l.Do(ctx, i); err != nil {
					cancel(err)
					return
				}
				// What began while warming and ended while measuring counts;
				// about as many begin while measuring and end too late.
				at = phase.Load()
				if at == measuring {
					n++
					if l.Latencies {
						times[i] = append(times[i], time.Since(begin))
					}
				}
			}
			counts[i] = n
		})
	}
	workload.Sleep(ctx, l.Warm)
	phase.Store(measuring)
	begin := time.Now()
	workload.Sleep(ctx, l.Measure)
	phase.Store(over)
	took := time.Since(begin)
	wg.Wait()
	out := Load{Took: took}
	for _, n := range counts {
		out.Done += n
	}
	if l.Latencies {
		out.quantiles(slices.Concat(times...))
	}
	if err := context.Cause(ctx); err != nil || out.Done > 0 {
		return out, err
	}
	return out, errIdle
}

func (l *Load) quantiles(all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	l.P50, l.P99 = all[len(all)/2], all[len(all)*99/100]
}
