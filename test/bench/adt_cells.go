package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// cell is one of all combinations.
type cell struct {
	shard.Sharing
	auto bool
	runs []simulated.Result
}

func allCells(loads int) (cells []*cell) {
	for _, locks := range []shard.Locks{shard.AbstractLocks, shard.RWLocks} {
		for _, phasing := range []shard.Off{false, true} {
			for _, combining := range []shard.Off{false, true} {
				for _, auto := range []bool{false, true} {
					cells = append(cells, &cell{shard.Sharing{Locks: locks, Phasing: phasing, Combining: combining}, auto,
						make([]simulated.Result, loads)})
				}
			}
		}
	}
	return cells
}

// cells runs all combinations, with four times the paper's clients and 0.2 ms. All
// have run as long before they are measured, whether keys move or not: sets fill
// up meanwhile, and to add what is there already excludes less.
func (a *adtOptions) cells(ctx context.Context, w io.Writer) error {
	const delay = 200 * time.Microsecond
	loads := []adtLoad{{name: "half adds, Zipf 0.6", make: rawMix(50, 0.6)},
		{name: "half adds, Zipf 1.2", make: rawMix(50, 1.2)},
		{name: "adds alone, Zipf 1.5", make: rawMix(100, highSkew)}}
	all := allCells(len(loads))
	for i := range loads {
		costs, err := a.measured(&loads[i])
		if err != nil {
			return err
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(2)
		for _, c := range all {
			o := a.base(&loads[i], adtVariant{sharing: c.Sharing}, delay, 4*paperClients)
			o.Costs, o.Auto, o.Warm = costs, c.auto, a.settle
			g.Go(func() (err error) {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				c.runs[i], err = simulated.Run(o)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nAll cells: raw-mix, %d clients, %v one way, simulated.\n", 4*paperClients, delay)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(tw, "LOCKS\tPHASING\tCOMBINING\tHOT")
	for _, l := range loads {
		fmt.Fprintf(tw, "\t%s: PER SECOND\tP99 MS\tROWS", l.name)
	}
	fmt.Fprintln(tw)
	for _, c := range all {
		hot := "off"
		if c.auto {
			hot = "auto"
		}
		fmt.Fprintf(tw, "%v\t%v\t%v\t%s", c.Locks, c.Phasing.String(), c.Combining.String(), hot)
		for i := range c.runs {
			r := &c.runs[i]
			fmt.Fprintf(tw, "\t%s\t%.1f\t%.2f", rounds.Number(r.PerSecond), float64(r.All.P99)/float64(time.Millisecond), r.Rows)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}
