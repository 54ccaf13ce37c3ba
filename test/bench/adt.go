package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload/app"
)

// adtOptions are those of the comparison of locks.
type adtOptions struct {
	*options
	shards      int
	clients     []int
	delays      []time.Duration
	virtualWarm time.Duration
	span        time.Duration
	txns        int
	settle      time.Duration
	message     time.Duration
	items       int
	scale       int
	parts       []string
	realSpan    time.Duration
	realRounds  int
	speed       float64
}

// paperClients is how many clients there are by default, all together.
const paperClients = 64

func adtCommand(o *options) *cobra.Command {
	a := adtOptions{options: o}
	c := &cobra.Command{
		Use:   "adt",
		Short: "Data types that commute: abstract locks against read-write locks, and against no transactions",
		Long: `Claret's comparison (Holt 2016, section 4.5) on linchpin: transactions on data
types with abstract locks, with read-write locks, and operation by operation, which
is what the paper calls non-transactional.

First on a simulated cluster: real machines in virtual time, each node a core with a
queue, one shard and a gateway, each message and step charged what it costs (the
package comment of test/bench/simulated tells how). Costs are measured at the
start, with abstract locks, and are the same for all that is compared. What nobody
waits for is run with one client: from its latency, and from the work that it is
for the cores, follow the bounds that are printed beside. "rw" is linchpin
with read-write locks, everything else as it is. "rw, as the paper" is also without
phases, with locking readers and with ordinary two-phase commit, which is nearer to
the paper's baseline.

Timelines of retwis fill up as it runs, and become dearer to look at: its runs all
end as many transactions. It is run with few posts in the beginning, which leave
most timelines empty, and with one by each user.

Then the cells: locks, phasing, combining and keys that move, each on and off.

Then the same on three real nodes in this process, briefly.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.IntVar(&a.shards, "shards", 4, "simulated nodes, with a shard each")
	f.IntSliceVar(&a.clients, "clients", []int{paperClients, 256},
		"simulated clients, all together; the greatest throughput of them is called saturated")
	f.DurationSliceVar(&a.delays, "delays", []time.Duration{200 * time.Microsecond, 0},
		"times of a simulated message, one way")
	f.DurationVar(&a.virtualWarm, "virtual-warm", 50*time.Millisecond, "virtual time before each measurement")
	f.DurationVar(&a.span, "span", 100*time.Millisecond, "virtual time of each measurement")
	f.IntVar(&a.txns, "txns", 14_000, "transactions of each run with a single client, and of each of retwis, after a "+
		"seventh of that")
	f.DurationVar(&a.settle, "gather", 3*time.Second,
		"virtual time before each measurement of a cell; keys are moved by then, and sets filled")
	f.DurationVar(&a.message, "message", 3*time.Microsecond,
		"processor time of a simulated message between nodes at either end")
	f.IntVar(&a.items, "items", 30_000, "items of rubis")
	f.IntVar(&a.scale, "scale", 12, "binary logarithm of the users of retwis; the paper has 16, which takes long to load")
	f.DurationVar(&a.realSpan, "real-span", 2*time.Second, "length of each measurement on real nodes")
	f.IntVar(&a.realRounds, "real-rounds", 2, "how often each variant runs on real nodes")
	f.Float64Var(&a.speed, "speed", 1, "how many times as fast simulated cores are as what was measured")
	f.StringSliceVar(&a.parts, "parts", []string{"simulated", "cells", "real"}, "what to run")
	return c
}

func (a *adtOptions) run(ctx context.Context, w io.Writer) error {
	if a.txns < 1 {
		return fmt.Errorf("--txns %d; want 1 or more: bounds are told from that many transactions", a.txns)
	}
	for _, p := range []struct {
		name string
		run  func(context.Context, io.Writer) error
	}{{"simulated", a.simulated}, {"cells", a.cells}, {"real", a.real}} {
		if !slices.Contains(a.parts, p.name) {
			continue
		}
		if err := p.run(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// adtLoad is an application, and what is asked of it.
type adtLoad struct {
	name string
	make func(app.Env) (app.App, error)
	// parallel: in the paper's setting, with the parallel commit order.
	parallel bool
	// overRW and ofNone are what is asked of the throughput, over that of
	// read-write locks and of no transactions; 0 for nothing.
	overRW, ofNone float64
	// grows: transactions become dearer as data grows. All runs end as many, in the
	// place of taking as long, or what is faster would have the harder work.
	grows bool
	// adds and skew are those of a raw mix; it has none without a share of adds.
	adds, skew float64
}

// order is the commit order of a load.
func (l *adtLoad) order() txn.Order {
	if l.parallel {
		return txn.Parallel
	}
	return txn.HotLast
}

// rawMix is 4 operations on 10,000 sets.
func rawMix(adds, skew float64) func(app.Env) (app.App, error) {
	return func(e app.Env) (app.App, error) { return app.NewRawMix(e, app.RawMix{Adds: adds, Skew: skew}) }
}

// conflicts is the expected number of pairs of operations that exclude each other,
// in two transactions of a raw mix: with abstract locks a size and an add of one
// set, with read-write locks also two adds. Adds of what is there already are not
// taken into account.
func conflicts(adds, skew float64) (abstract, rw float64) {
	const sets, ops = 10_000, 4
	sum, squares := 0.0, 0.0
	for k := range sets {
		p := math.Pow(float64(k+1), -skew)
		sum, squares = sum+p, squares+p*p
	}
	same, share := ops*ops*squares/(sum*sum), adds/100
	return same * 2 * share * (1 - share), same * (1 - (1-share)*(1-share))
}

// highSkew is where the paper's adds are fastest compared to read-write locks.
const highSkew = 1.5

func (a *adtOptions) loads() []adtLoad {
	return []adtLoad{
		{name: "raw-mix, half adds, Zipf 0.6", make: rawMix(50, 0.6), adds: 50, skew: 0.6, overRW: 2.6, ofNone: 0.8},
		{name: "raw-mix, half adds, Zipf 1.2", make: rawMix(50, 1.2), adds: 50, skew: 1.2},
		{name: fmt.Sprintf("raw-mix, adds alone, Zipf %v, parallel order", highSkew), make: rawMix(100, highSkew), adds: 100,
			skew: highSkew, parallel: true, overRW: 50},
		{name: "rubis, bid-heavy", make: func(e app.Env) (app.App, error) {
			return app.NewRubis(e, app.Rubis{Items: a.items, Skew: 1, Mix: app.RubisBidHeavy})
		}, overRW: 4.3, ofNone: 0.85},
		{name: "retwis, post-heavy, few posts", make: a.retwis(0), grows: true, overRW: 3.6, ofNone: 0.85},
		{name: "retwis, post-heavy, many posts", make: a.retwis(1 << a.scale), grows: true, overRW: 3.6, ofNone: 0.85},
	}
}

// retwis has so many posts in the beginning, 0 for as many as is the default: one
// by every sixteenth user, so that most timelines are empty. With one by each user
// they hardly become dearer to look at while it runs.
func (a *adtOptions) retwis(posts int) func(app.Env) (app.App, error) {
	return func(e app.Env) (app.App, error) {
		return app.NewRetwis(e, app.Retwis{Scale: a.scale, Posts: posts, Mix: app.RetwisPostHeavy})
	}
}
