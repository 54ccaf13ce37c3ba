package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// neighbour is a load that must not hurt the honest clients beside it.
type neighbour struct {
	name string
	// start starts what both need; its stores are in dir.
	start func(ctx context.Context, o *options, dir string) (*street, error)
	// bound is what bounds the honest clients' rate, if that is less than 80 % by
	// intention; else empty.
	bound string
}

// street is where the honest clients and the neighbour live.
type street struct {
	// clients is how many honest clients there are, each in a closed loop of honest.
	clients int
	honest  func(ctx context.Context, client int) error
	// more are honest clients that come with the neighbour, and count.
	more int
	// beside runs the neighbour until ctx ends; its errors end the comparison.
	beside func(ctx context.Context) error
	// settle is how long the neighbour runs before what is measured, besides --warm. restore returns when all is as it
	// was before beside; nil if it is so at once.
	settle  time.Duration
	restore func(ctx context.Context) error
	stop    func() error
}

// neighbours are all of them. Each has a file of its own.
func neighbours() []neighbour {
	return slices.Concat(slowNodes(), slowReplicas(), largeValues(), locks(), ranges(), atAdmission())
}

func neighboursCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "neighbours",
		Short: "Honest clients beside the worst neighbour of each resource, and alone",
		Long: `For each neighbour a cluster of its own. Honest clients run in a closed loop, first
alone, then beside the neighbour, and so on by turns. What is printed are medians over the
rounds: their rate and the time in which 99 % of their requests were answered. A request
of an honest client that fails ends the comparison.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.neighbours(c.Context(), c.OutOrStdout()) },
	}
}

func (o *options) neighbours(ctx context.Context, w io.Writer) error {
	const line = "%-56s  %8s  %9s  %6s  %10s  %10s  %10s  %s\n" // a row is printed when it has been measured
	fmt.Fprintf(w, line, "NEIGHBOUR", "ALONE /S", "BESIDE /S", "KEPT", "P99 ALONE", "P99 BESIDE", "SLOWEST", "")
	for _, n := range neighbours() {
		if !o.selectsName(n.name) {
			continue
		}
		alone, beside, err := o.neighbour(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		kept := beside.of(perSecondOf) / alone.of(perSecondOf)
		verdict := "met"
		if kept < 0.8 {
			verdict = "MISSED"
		}
		if n.bound != "" {
			verdict = n.bound
		}
		fmt.Fprintf(w, line, n.name, rounds.Number(alone.of(perSecondOf)), rounds.Number(beside.of(perSecondOf)),
			fmt.Sprintf("%.0f %%", 100*kept), ms(alone.of(p99Of)), ms(beside.of(p99Of)), ms(beside.of(slowestOf)), verdict)
	}
	return nil
}

func ms(x float64) string { return fmt.Sprintf("%.1f ms", x) }

// neighbour measures one.
func (o *options) neighbour(ctx context.Context, n neighbour) (alone, beside samples, err error) {
	dir, remove, err := o.workDir()
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	st, err := n.start(ctx, o, dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, st.stop()) }()
	for range o.rounds {
		a, err := st.measure(ctx, o, st.clients, o.warm)
		if err != nil {
			return nil, nil, err
		}
		b, err := st.measureBeside(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		alone, beside = append(alone, a), append(beside, b)
	}
	return alone, beside, nil
}

// sample is a measurement: how long each request took.
type sample struct {
	took []time.Duration
	span time.Duration
}

type samples []sample

func (s samples) of(f func(sample) float64) float64 {
	var xs []float64
	for _, x := range s {
		xs = append(xs, f(x))
	}
	return rounds.Median(xs)
}

func perSecondOf(s sample) float64 { return float64(len(s.took)) / s.span.Seconds() }

func p99Of(s sample) float64 { return s.quantile(0.99) }

func slowestOf(s sample) float64 { return s.quantile(1) }

// quantile is in milliseconds; took is in order.
func (s sample) quantile(q float64) float64 {
	if len(s.took) == 0 {
		return s.span.Seconds() * 1000 // nothing was answered
	}
	return float64(s.took[min(int(q*float64(len(s.took))), len(s.took)-1)]) / float64(time.Millisecond)
}

func (st *street) measureBeside(ctx context.Context, o *options) (sample, error) {
	beside, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- st.beside(beside) }()
	s, err := st.measure(ctx, o, st.clients+st.more, o.warm+st.settle)
	stop()
	failed := <-done
	if errors.Is(failed, context.Canceled) {
		failed = nil
	}
	err = errors.Join(err, failed)
	if err == nil && st.restore != nil {
		err = st.restore(ctx)
	}
	return s, err
}

// measure runs honest clients for a time of warming up and that of measuring. What has
// not been answered at the end counts as well, if it took longer than that: the slowest
// requests would be left out else.
func (st *street) measure(ctx context.Context, o *options, clients int, warm time.Duration) (sample, error) {
	begin := time.Now()
	from, until := begin.Add(warm), begin.Add(warm+o.measure)
	s := sample{span: o.measure}
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for {
				at := time.Now()
				if at.After(until) {
					return
				}
				err := st.honest(ctx, client)
				end := time.Now()
				mu.Lock()
				if err != nil {
					failed = errors.Join(failed, err)
				} else if end.After(from) {
					s.took = append(s.took, end.Sub(at))
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(s.took)
	return s, failed
}
