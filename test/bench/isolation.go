package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// isolationOptions are those of the comparison of cold traffic beside a
// saturated key with cold traffic alone.
type isolationOptions struct {
	*options
	nodes, cold       int
	hot               []int
	keys              uint64
	delay             time.Duration
	virtualWarm, span time.Duration
	message           time.Duration
	maxInFlight       int
	bound             bool
	// throughput and latency are asked of the cold clients, as ratios.
	throughput, latency float64
}

func isolationCommand(o *options) *cobra.Command {
	s := isolationOptions{options: o, throughput: 0.90, latency: 1.25}
	c := &cobra.Command{
		Use:   "isolation",
		Short: "Cold traffic beside one saturated key, and without it",
		Long: `On a simulated cluster: real machines in virtual time, each node a core with a
queue, each message and step charged what it costs (the package comment of
test/bench/simulated tells how).

Cold clients draw from many keys, in a closed loop. Beside them run far more
clients than one key can serve, or than there are places: each writes that key
and one of 64 others, on the hot shard, which decides; so the key is locked for
two message delays each time, and most wait. Who is refused comes back when it
is told to.

The same CPU is left to the cold clients in the run that theirs is compared
with: the cores have other work there, at random times, as much of it on each
node and in each of a core's two lanes as the hot clients' messages and calls
took, in as many pieces. What cannot be told apart, timers, counts as the cold
clients' own. All of that is done with the same seed, round by round; what is
printed are medians.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.IntVar(&s.nodes, "nodes", 4, "simulated nodes")
	f.IntVar(&s.cold, "cold", 16, "cold clients on each node")
	f.IntSliceVar(&s.hot, "hot", []int{500, 5000}, "hot clients on each node")
	f.Uint64Var(&s.keys, "cold-keys", 20_000, "keys of the cold clients")
	f.DurationVar(&s.delay, "delay", 200*time.Microsecond, "time of a message between nodes")
	f.DurationVar(&s.virtualWarm, "virtual-warm", 600*time.Millisecond, "virtual time before each measurement")
	f.DurationVar(&s.span, "span", 200*time.Millisecond, "virtual time of each measurement")
	f.DurationVar(&s.message, "message", 3*time.Microsecond, "processor time of a message between nodes at either end")
	f.IntVar(&s.maxInFlight, "max-in-flight", 0, "places of a gateway (default: a node's own)")
	f.BoolVar(&s.bound, "one-bound", false, "also run without shares: whoever comes first has the places; it takes long")
	return c
}

// isolationRow is one number of hot clients, round by round.
type isolationRow struct {
	hot                int
	beside, same, free []simulated.Result
}

func (s *isolationOptions) base(seed uint64) simulated.Options {
	w := workload.Options{Name: "cold", Keys: s.keys, Ops: 2, ReadKeys: workload.KeyCount{Min: 2, Max: 2}, Distinct: true,
		Mix: workload.Mix{ReadOnly: 50, ReadModifyWrite: 25, WriteOnly: 25}}.WithDefaults()
	return simulated.Options{Nodes: s.nodes, Workload: w, Delay: s.delay, Warm: s.virtualWarm, Measure: s.span,
		Clients: s.cold, Baseline: simulated.Baseline{NoHeat: true},
		MaxInFlight: s.maxInFlight, Seed: seed, Costs: simulated.Costs{Message: s.message, Other: 2 * time.Microsecond}}
}

func (s *isolationOptions) run(ctx context.Context, w io.Writer) error {
	o := s.base(1)
	o.Warm, o.Measure = 20*time.Millisecond, 100*time.Millisecond
	costs, err := simulated.Measure(o)
	if err != nil {
		return err
	}
	var rows []*isolationRow
	for _, hot := range s.hot {
		row := &isolationRow{hot: hot}
		rows = append(rows, row)
		for r := range s.rounds {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			o := s.base(uint64(r + 1))
			o.Costs = costs
			if err := s.round(o, row); err != nil {
				return err
			}
			fmt.Fprintf(w, "  %d hot clients a node, round %d of %d: cold %s a second, %s with the same CPU\n", hot, r+1,
				s.rounds,
				rounds.Number(row.beside[r].PerSecond), rounds.Number(row.same[r].PerSecond))
		}
	}
	return s.print(w, rows)
}

// round runs what is compared with one seed.
func (s *isolationOptions) round(o simulated.Options, row *isolationRow) error {
	o.Beside = &simulated.Beside{Clients: row.hot}
	beside, err := simulated.Run(o)
	if err != nil {
		return err
	}
	row.beside = append(row.beside, beside)
	if s.bound {
		without := o
		without.OneBound = true
		free, err := simulated.Run(without)
		if err != nil {
			return err
		}
		row.free = append(row.free, free)
	}
	o.Beside = &simulated.Beside{Filler: beside.Beside.Filler}
	same, err := simulated.Run(o)
	row.same = append(row.same, same)
	return err
}

// p99 is that of all cold transactions.
func p99(r *simulated.Result) float64 { return float64(r.All.P99) / float64(time.Millisecond) }

func of(rs []simulated.Result, f func(*simulated.Result) float64) (xs []float64) {
	for i := range rs {
		xs = append(xs, f(&rs[i]))
	}
	return xs
}

// ratio is the median of the rounds' ratios, with the least and the greatest.
func (row *isolationRow) ratio(over []simulated.Result, f func(*simulated.Result) float64) (median, low, high float64) {
	return rounds.Series{"over": of(over, f), "under": of(row.same, f)}.Ratio("over", "under")
}

func perSecond(r *simulated.Result) float64 { return r.PerSecond }

func (s *isolationOptions) print(w io.Writer, rows []*isolationRow) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	med := func(rs []simulated.Result, f func(*simulated.Result) float64) float64 {
		return rounds.Median(of(rs, f))
	}
	fmt.Fprintf(tw, "\nHOT CLIENTS\tBOUNDS\tCOLD PER SECOND\tRATIO\tP99 MS\tRATIO\tCOLD REFUSED\tDISPLACED\tHOT PER "+
		"SECOND\tHOT REFUSED BY KEY\tOTHERWISE\tCPU OF HOT, BUSIEST NODE\n")
	line := func(name, bounds string, row *isolationRow, rs []simulated.Result) {
		t, lo, hi := row.ratio(rs, perSecond)
		l, llo, lhi := row.ratio(rs, p99)
		total := func(f func(r *simulated.Result) uint64) (n uint64) {
			for i := range rs {
				n += f(&rs[i])
			}
			return n
		}
		share := func(r *simulated.Result) (most float64) {
			for _, x := range r.Beside.Share {
				most = max(most, x)
			}
			return 100 * most
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f (%.2f to %.2f)\t%.2f\t%.2f (%.2f to %.2f)\t%d\t%d\t%s\t%d\t%d\t%.0f %%\n", name,
			bounds,
			rounds.Number(med(rs, perSecond)), t, lo, hi, med(rs, p99), l, llo, lhi,
			total(func(r *simulated.Result) uint64 { return uint64(r.Beside.ColdRefused) }),
			total(func(r *simulated.Result) uint64 { return r.Beside.Admission.Displaced }),
			rounds.Number(med(rs, func(r *simulated.Result) float64 { return float64(r.Beside.Committed) / s.span.Seconds() })),
			total(func(r *simulated.Result) uint64 { return r.Beside.Admission.Refused[admission.ByKey] }),
			total(func(r *simulated.Result) uint64 {
				a := r.Beside.Admission
				return a.Refused[admission.ByShard] + a.Refused[admission.ByNode] + a.Refused[admission.ByOpen]
			}), med(rs, share))
	}
	for _, row := range rows {
		name := fmt.Sprintf("%d × %d", s.nodes, row.hot)
		line(name, "shares", row, row.beside)
		if s.bound {
			line(name, "one for all", row, row.free)
		}
		line("none", "the same CPU", row, row.same)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return rounds.Print(w, "", nil, s.targets(rows))
}

// targets hold each number of hot clients against what is asked.
func (s *isolationOptions) targets(rows []*isolationRow) (ts []rounds.Target) {
	for _, row := range rows {
		beside := fmt.Sprintf("beside %d × %d hot clients / with the same CPU", s.nodes, row.hot)
		rate := rounds.Target{What: "cold transactions a second, " + beside, AtLeast: s.throughput}
		rate.Got, rate.Low, rate.High = row.ratio(row.beside, perSecond)
		late := rounds.Target{What: "their p99, " + beside, AtMost: s.latency}
		late.Got, late.Low, late.High = row.ratio(row.beside, p99)
		ts = append(ts, rate, late)
	}
	return ts
}
