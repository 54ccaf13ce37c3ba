package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// adtVariant is one of those that are compared.
type adtVariant struct {
	name     string
	sharing  shard.Sharing
	oneByOne bool
	// paper: with locking readers and the parallel order, as in the paper.
	paper bool
}

const (
	variantAbstract = iota
	variantRW
	variantNone
	variantPaper
)

var adtVariants = []adtVariant{
	variantAbstract: {name: "abstract"},
	variantRW:       {name: "rw", sharing: shard.Sharing{Locks: shard.RWLocks}},
	variantNone:     {name: "no transactions", oneByOne: true},
	variantPaper: {name: "rw, as the paper", sharing: shard.Sharing{Locks: shard.RWLocks, Phasing: true,
		Combining: true}, paper: true},
}

// adtSide is what a variant did: alone, and with each number of clients.
type adtSide struct {
	adtVariant
	alone simulated.Result
	runs  []simulated.Result
}

func (a *adtOptions) base(l *adtLoad, v adtVariant, delay time.Duration, clients int) simulated.Options {
	o := simulated.Options{Nodes: a.shards, Clients: max(clients/a.shards, 1), Sharing: v.sharing,
		AppOptions: simulated.AppOptions{App: l.make, OneByOne: v.oneByOne, Batches: true},
		Delay:      max(delay, 1), Warm: a.virtualWarm, Measure: a.span, Seed: 1,
		Costs: simulated.Costs{Message: a.message, Other: 2 * time.Microsecond}}
	o.Order = l.order()
	if l.grows {
		o.WarmTxns, o.MeasureTxns = a.txns/7, a.txns
	}
	if v.paper {
		o.Order, o.Reads = txn.Parallel, txn.LockingReads
	}
	return o
}

// measured gives the costs of a load's calls.
func (a *adtOptions) measured(l *adtLoad) (simulated.Costs, error) {
	c, err := simulated.Measure(a.base(l, adtVariants[variantAbstract], 200*time.Microsecond, paperClients))
	return c.Faster(a.speed), err
}

func (a *adtOptions) simulated(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "%d simulated nodes, one core and one shard each; %v of virtual time after %v, of what grows %d "+
		"transactions. Charged: %v for a message between nodes at either end, "+
		"and\n", a.shards, a.span, a.virtualWarm, a.txns, a.message)
	fmt.Fprintf(w, "for each call of a machine what it took, by its size, measured on the load with abstract locks "+
		"and without transactions; no fsync.\n")
	var targets []rounds.Target
	for _, l := range a.loads() {
		if !strings.Contains(l.name, a.only) {
			continue
		}
		costs, err := a.measured(&l)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n", l.name)
		if l.adds > 0 {
			abstract, rw := conflicts(l.adds, l.skew)
			fmt.Fprintf(w, "  operations of two transactions that exclude each other, expected: %.2g with abstract locks, "+
				"%.2g with read-write locks\n", abstract, rw)
		}
		printKinds(w, &costs)
		for _, d := range a.delays {
			sides, err := a.sides(ctx, &l, costs, d)
			if err != nil {
				return err
			}
			if err := a.printSides(w, d, sides); err != nil {
				return err
			}
			targets = append(targets, a.adtTargets(&l, d, sides)...)
		}
	}
	return rounds.Print(w, "", nil, targets)
}

// printKinds names what calls cost.
func printKinds(w io.Writer, c *simulated.Costs) {
	fmt.Fprint(w, "  µs of a call, and of each operation, result or row:")
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	for _, k := range slices.Sorted(maps.Keys(c.Lines)) {
		fmt.Fprintf(w, " %s %.1f + %.1f,", k, us(c.Lines[k].Each), us(c.Lines[k].PerUnit))
	}
	fmt.Fprintln(w)
}

// sides runs all variants with each number of clients, two runs at a time: time
// is virtual.
func (a *adtOptions) sides(ctx context.Context, l *adtLoad, costs simulated.Costs, delay time.Duration) ([]*adtSide,
	error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	var sides []*adtSide
	for _, v := range adtVariants {
		s := &adtSide{adtVariant: v, runs: make([]simulated.Result, len(a.clients))}
		sides = append(sides, s)
		run := func(o simulated.Options, into *simulated.Result) {
			o.Costs = costs
			g.Go(func() (err error) {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				*into, err = simulated.Run(o)
				return err
			})
		}
		// Of as many clients as there are otherwise, so that it draws the same.
		alone := a.base(l, v, delay, paperClients)
		alone.OnlyClient, alone.WarmTxns, alone.MeasureTxns = true, a.txns/7, a.txns
		run(alone, &s.alone)
		for i, n := range a.clients {
			run(a.base(l, v, delay, n), &s.runs[i])
		}
	}
	return sides, g.Wait()
}

// best is the index of the greatest throughput.
func (s *adtSide) best() (best int) {
	for i := range s.runs {
		if s.runs[i].PerSecond > s.runs[best].PerSecond {
			best = i
		}
	}
	return best
}

// printSides has a line for each run; before those with many clients, the one with a
// single client, of which their bounds are.
func (a *adtOptions) printSides(w io.Writer, delay time.Duration, sides []*adtSide) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%v ONE WAY\tCLIENTS\tPER SECOND\tOVER RW\tOF NONE\tOF BOUND\tBOUND: LATENCY\tCORES\tMEAN "+
		"MS\tP99\tLOCK WAIT\tHELD\tUPDATES\tRETRIES\tMESSAGES\tROWS\tWORK µS\tBUSIEST\n", delay)
	for _, s := range sides {
		printRun(tw, s.name, 1, "\t\t\t\t", &s.alone)
		for i := range s.runs {
			r := &s.runs[i]
			latency, cores := s.alone.Bounds(a.clients[i])
			printRun(tw, s.name, a.clients[i], fmt.Sprintf("%.2f\t%.2f\t%.2f\t%s\t%s",
				r.PerSecond/sides[variantRW].runs[i].PerSecond,
				r.PerSecond/sides[variantNone].runs[i].PerSecond, r.PerSecond/min(latency, cores), rounds.Number(latency),
				rounds.Number(cores)), r)
		}
	}
	return tw.Flush()
}

// printRun prints a run, with what it is compared to.
func printRun(w io.Writer, name string, clients int, compared string, r *simulated.Result) {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
	committed := max(r.All.Committed, 1)
	per := func(d time.Duration) string { return ms(d / time.Duration(committed)) }
	work := time.Duration(0)
	for _, d := range r.Work {
		work += d
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f %%\t%d\t%.2f\t%.2f\t%.1f\t%.0f %%\n", name, clients,
		rounds.Number(r.PerSecond), compared, ms(r.All.Mean), ms(r.All.P99),
		per(r.Counts.LockWait), per(r.Held), 100*float64(r.Updates.Committed)/float64(committed),
		r.Reads.Aborts+r.Updates.Aborts, r.Messages, r.Rows,
		float64(work)/float64(time.Microsecond), 100*r.Busiest)
}

// adtTargets are what is asked of a load, with the paper's clients and saturated,
// and the bounds of that.
func (a *adtOptions) adtTargets(l *adtLoad, delay time.Duration, sides []*adtSide) (ts []rounds.Target) {
	abstract := sides[variantAbstract]
	for _, q := range []struct {
		over    int
		word    string
		atLeast float64
	}{{variantRW, "rw", l.overRW}, {variantNone, "no transactions", l.ofNone},
		{variantPaper, adtVariants[variantPaper].name, 0}} {
		other := sides[q.over]
		add := func(how string, got, bound float64) {
			ts = append(ts, rounds.Target{What: fmt.Sprintf("abstract / %s, %s, %v, %s", q.word, l.name, delay, how), Got: got,
				Low: got, High: got, AtLeast: q.atLeast,
				Note: fmt.Sprintf("bound %s, %.0f %% of it", rounds.Number(bound), 100*got/bound)})
		}
		at := func(i int) float64 { return abstract.runs[i].PerSecond / other.runs[i].PerSecond }
		bound := func(mine, theirs int) float64 {
			latency, cores := abstract.alone.Bounds(a.clients[mine])
			return min(latency, cores) / other.runs[theirs].PerSecond
		}
		if i := slices.Index(a.clients, paperClients); i >= 0 {
			add(fmt.Sprintf("%d clients", paperClients), at(i), bound(i, i))
		}
		mine, theirs := abstract.best(), other.best()
		add(fmt.Sprintf("saturated (%d and %d clients)", a.clients[mine], a.clients[theirs]),
			abstract.runs[mine].PerSecond/other.runs[theirs].PerSecond, bound(mine, theirs))
	}
	return ts
}
