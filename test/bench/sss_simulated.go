package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/echo"
	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// simulatedMix is a mix and what came of it.
type simulatedMix struct {
	workload.NamedOptions
	// hot is how many of the hottest keys are on the hot shard.
	hot int
	// auto: keys are moved there as they get hot.
	auto bool
	// both are the kinds of readers, in the order of txn.Reads.
	both [2]simulatedSide
}

// simulatedSide is what readers of one kind did: of each number of clients a
// result for each round, and in the end the best number.
type simulatedSide struct {
	bounds, busiest []float64
	runs            map[int][]simulated.Result
	best            int
}

// messageCost measures what a message between processes takes at either end: a
// quarter of what a batched-stream echo, a message there and one back, takes
// in processor time on both sides.
func (s *sssOptions) messageCost(ctx context.Context) (d time.Duration, err error) {
	_, answer := echo.Sizes(valueBytes)
	server, err := self(ctx, "echo", "--raw-bytes", strconv.Itoa(answer))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	c, err := echo.Dial(server.addr, s.callers, valueBytes)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	cs := costs{}
	v := cs.variant(ctx, s.options, batchedName, c.Stream, server)
	for range 3 {
		if _, err := v.Run(); err != nil {
			return 0, err
		}
	}
	micros := rounds.Median(cs[batchedName].server) + rounds.Median(cs[batchedName].client)
	return time.Duration(micros / 4 * float64(time.Microsecond)), nil
}

// simulate measures costs, computes the bounds and runs a mix, in all rounds.
func (s *sssOptions) simulate(ctx context.Context, w io.Writer, m *simulatedMix) error {
	for i := range m.both {
		m.both[i].runs = map[int][]simulated.Result{}
	}
	for r := range s.rounds {
		o := simulated.Options{Nodes: s.nodes, HotKeys: m.hot, Workload: m.Options, Delay: s.delay, Fsync: s.fsync,
			Warm: s.virtualWarm, Measure: s.span,
			Baseline: simulated.Baseline{OneLane: !s.lanes}, Auto: m.auto, UnsealAfter: s.unseal,
			Sharing: s.sharing, Seed: uint64(r + 1), Clients: 2,
			Costs: simulated.Costs{Message: s.message, Other: 2 * time.Microsecond}}
		var err error
		o.Costs, err = simulated.Measure(o)
		if err != nil {
			return err
		}
		o.Costs = o.Costs.Faster(s.speed)
		if m.Skew > 0 { // less happens, and queues take longer to fill
			o.Warm, o.Measure = 4*o.Warm, 4*o.Measure
		}
		if m.auto {
			o.Warm = s.settle
		}
		for i := range m.both {
			// One begins in this round, the other in the next.
			side := &m.both[(r+i)%2]
			o.Reads = txn.Reads((r + i) % 2)
			if err := s.simulateSide(ctx, o, side); err != nil {
				return err
			}
		}
		if r == 0 {
			m.printCosts(w, o.Costs)
		}
	}
	return nil
}

func (s *sssOptions) simulateSide(ctx context.Context, o simulated.Options, side *simulatedSide) error {
	bound, busiest, err := simulated.Bound(o)
	if err != nil {
		return err
	}
	side.bounds, side.busiest = append(side.bounds, bound), append(side.busiest, busiest)
	for _, clients := range s.clients {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o.Clients = clients
		r, err := simulated.Run(o)
		if err != nil {
			return err
		}
		side.runs[clients] = append(side.runs[clients], r)
	}
	for _, clients := range s.clients {
		if side.best == 0 || side.perSecond(clients) > side.perSecond(side.best) {
			side.best = clients
		}
	}
	return nil
}

// printCosts names what calls cost, most first.
func (m *simulatedMix) printCosts(w io.Writer, c simulated.Costs) {
	kinds := slices.SortedFunc(maps.Keys(c.Calls), func(a, b string) int { return int(c.Calls[b] - c.Calls[a]) })
	fmt.Fprintf(w, "  %s: µs of a call:", m.Name)
	for _, k := range kinds {
		fmt.Fprintf(w, " %s %.1f,", k, float64(c.Calls[k])/float64(time.Microsecond))
	}
	fmt.Fprintln(w)
}

// of is the median of a number over the rounds.
func (s *simulatedSide) of(clients int, f func(*simulated.Result) float64) float64 {
	var xs []float64
	for i := range s.runs[clients] {
		xs = append(xs, f(&s.runs[clients][i]))
	}
	return rounds.Median(xs)
}

func (s *simulatedSide) perSecond(clients int) float64 {
	return s.of(clients, func(r *simulated.Result) float64 { return r.PerSecond })
}

// ofBound is the best throughput as a part of the bound, over the rounds.
func (s *simulatedSide) ofBound() rounds.Series {
	x := rounds.Series{"bound": s.bounds, "busiest": s.busiest}
	for _, r := range s.runs[s.best] {
		x["run"] = append(x["run"], r.PerSecond)
	}
	return x
}

// aborts counts those of readers in all runs.
func (s *simulatedSide) aborts() (n int) {
	for _, rs := range s.runs {
		for i := range rs {
			n += rs[i].ReadAborts
		}
	}
	return n
}

// ratio is that of throughput, of the best numbers of clients or of a given
// one.
func (m *simulatedMix) ratio(clients int) (median, low, high float64) {
	x := rounds.Series{}
	for i := range m.both {
		at := clients
		if at == 0 {
			at = m.both[i].best
		}
		for _, r := range m.both[i].runs[at] {
			x[strconv.Itoa(i)] = append(x[strconv.Itoa(i)], r.PerSecond)
		}
	}
	return x.Ratio("0", "1")
}

func printSimulated(w io.Writer, all []*simulatedMix) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	ms := func(d float64) string { return fmt.Sprintf("%.2f", d/float64(time.Millisecond)) }
	fmt.Fprintf(tw, "\nMIX\tREADERS\tCLIENTS\tPER SECOND\tRATIO\tOF BOUND\tOF BUSIEST\tWITH %d "+
		"CLIENTS\tRATIO\tHELD\tWITH %d\tABORTS\tMESSAGES\tREADS P50, P99 MS\tUPDATES P50, P99 MS\n", asThePaper, asThePaper)
	for _, m := range all {
		for i := range m.both {
			s, name, ratio, paperRatio := &m.both[i], "", "", ""
			if i == 0 {
				name = m.Name
				r, lo, hi := m.ratio(0)
				p, _, _ := m.ratio(asThePaper)
				ratio, paperRatio = fmt.Sprintf("%.2f (%.2f to %.2f)", r, lo, hi), fmt.Sprintf("%.2f", p)
			}
			of, _, _ := s.ofBound().Ratio("run", "bound")
			busiest := ""
			if !m.auto { // the bound is that of keys which are at home
				r, _, _ := s.ofBound().Ratio("run", "busiest")
				busiest = fmt.Sprintf("%.2f", r)
			}
			held := func(r *simulated.Result) float64 { return 100 * r.HeldShare }
			fmt.Fprintf(tw, "%s\t%v\t%d\t%s\t%s\t%.2f\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t%d\t%.1f\t%s, %s\t%s, %s\n", name,
				txn.Reads(i), s.best, rounds.Number(s.perSecond(s.best)), ratio, of, busiest,
				rounds.Number(s.perSecond(asThePaper)), paperRatio, s.of(s.best, held), s.of(asThePaper, held), s.aborts(),
				s.of(s.best, func(r *simulated.Result) float64 { return r.Messages }),
				ms(s.of(s.best, func(r *simulated.Result) float64 { return float64(r.Reads.P50) })),
				ms(s.of(s.best, func(r *simulated.Result) float64 { return float64(r.Reads.P99) })),
				ms(s.of(s.best, func(r *simulated.Result) float64 { return float64(r.Updates.P50) })),
				ms(s.of(s.best, func(r *simulated.Result) float64 { return float64(r.Updates.P99) })))
		}
	}
	return tw.Flush()
}
