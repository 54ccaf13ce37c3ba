package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/experiment/hotornot"
)

func newExperiment(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "experiment",
		Short: "Repeat an experiment of a paper on clusters in this process",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHotOrNot(env))
	return c
}

// experimentFlags are the flags of an experiment.
type experimentFlags struct {
	options hotornot.Options
	modes   []string
	// Files to write beside the table.
	csv, json, svg, html string
}

func newHotOrNot(env environment) *cobra.Command {
	f := experimentFlags{options: hotornot.Defaults()}
	c := &cobra.Command{
		Use:   "hot-or-not",
		Short: "Measure latency against skew, with and without a hot shard",
		Long: `Measure latency against skew, with and without a hot shard: the experiment of
Lam and Helt, Hot or Not (2019). It needs no cluster: each measurement starts
three nodes in this process, with a delay on each message between two of them,
and removes their data at its end.

Each transaction is one-shot and has 10 keys, which may repeat; 90 % are
read-only and 10 % write-only. The modes are:

  2pc       two-phase commit and locking reads; no key is on the hot shard
  0, 1, 10  this number of the hottest keys is on the hot shard from the
            start, and no key is moved; snapshot reads
  auto      hot keys are moved to the hot shard; snapshot reads

A round measures each mode at each skew once. The table shows medians over the
rounds. Only the hottest keys (--load) exist at the start.`,
		Example: `  zetaload experiment hot-or-not --html hot-or-not.html --csv hot-or-not.csv
  zetaload experiment hot-or-not --skews 1,1.4 --modes 2pc,auto --rounds 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	o, fs := &f.options, c.Flags()
	for _, m := range o.Modes {
		f.modes = append(f.modes, m.String())
	}
	fs.Float64SliceVar(&o.Skews, "skews", o.Skews, "exponents of the Zipf distribution, 0 (uniform) or more")
	fs.StringSliceVar(&f.modes, "modes", f.modes, "modes to compare: 2pc, auto, and numbers of hot keys")
	fs.Uint64Var(&o.Keys, "keys", o.Keys, "number of keys, 1 to 10^9")
	fs.Uint64Var(&o.Load, "load", o.Load, "number of the hottest keys that exist at the start (default 10000 or --keys)")
	fs.IntVar(&o.Clients, "clients", o.Clients, "number of clients, each with one transaction in flight")
	fs.DurationVar(&o.Delay, "delay-net", o.Delay, "delay of each message between two nodes")
	fs.BoolVar(&o.Fsync, "fsync", false, "use fsync")
	fs.IntVar(&o.Nodes, "nodes", o.Nodes, "number of nodes")
	fs.IntVar(&o.Shards, "shards", o.Shards, "number of shards, without the hot shard")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "time of each measurement")
	fs.DurationVar(&o.Warm, "warm", o.Warm, "time before each measurement")
	fs.DurationVar(&o.Settle, "settle", o.Settle, "time before that in mode auto, to move keys")
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "measurements of each mode at each skew")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of the keys and transactions (default: random, reported)")
	fs.StringVar(&f.csv, "csv", "", "write the medians as CSV to this `file`")
	fs.StringVar(&f.json, "json", "", "write medians and all rounds as JSON to this `file`")
	fs.StringVar(&f.svg, "svg", "", "plot median latency against skew to this `file`")
	fs.StringVar(&f.html, "html", "", "write a page with the plots and the table to this `file`")
	fs.SortFlags = false
	fs.Lookup("skews").DefValue = strings.Join(numbers(o.Skews), ",")
	fs.Lookup("load").DefValue = "0" // the usage text has the default
	return c
}

// complete validates the flags and sets the defaults that depend on other flags.
func (f *experimentFlags) complete(c *cobra.Command) error {
	o := &f.options
	o.Modes = nil
	for _, text := range f.modes {
		m, err := hotornot.ParseMode(strings.TrimSpace(text))
		if err != nil {
			return usage("--modes: %w", err)
		}
		o.Modes = append(o.Modes, m)
	}
	if !c.Flags().Changed("load") {
		o.Load = min(o.Load, o.Keys)
	}
	if !c.Flags().Changed("seed") {
		o.Seed = rand.Uint64N(1e9)
	}
	if err := o.Validate(); err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	return nil
}

func (f *experimentFlags) run(ctx context.Context, env environment) (err error) {
	o := &f.options
	wanted := []struct {
		flag, path string
		write      func(*hotornot.Result, io.Writer) error
	}{
		{"--csv", f.csv, (*hotornot.Result).WriteCSV}, {"--json", f.json, (*hotornot.Result).WriteJSON},
		{"--svg", f.svg, (*hotornot.Result).WriteSVG}, {"--html", f.html, (*hotornot.Result).WriteHTML},
	}
	// A path that cannot be written is found out before hours have passed.
	files := make([]*wholeFile, len(wanted))
	for i, w := range wanted {
		files[i], err = newWholeFile(w.path)
		if err != nil {
			return usage("%s: %w", w.flag, err)
		}
		defer func() { err = errors.Join(err, files[i].close()) }()
	}
	o.Dir, err = os.MkdirTemp("", "zetaload-")
	if err != nil {
		return failed("%w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	o.Progress = env.err
	defer context.AfterFunc(ctx, func() {
		fmt.Fprintln(env.err,
			"zetaload: interrupted; waiting for transactions in flight")
	})()
	r, err := hotornot.Run(ctx, *o)
	if err != nil {
		return failed("%w", err)
	}
	if len(r.Measured()) == 0 {
		return failed("interrupted before the first measurement")
	}
	r.Command = f.repeat()
	for i, w := range wanted {
		if err := files[i].write(func(out io.Writer) error { return w.write(r, out) }); err != nil {
			return failed("%s: %w", w.flag, err)
		}
	}
	if err := r.WriteText(env.out); err != nil {
		return failed("%w", err)
	}
	_, err = fmt.Fprintf(env.out, "repeat: %s\n", r.Command)
	return err
}

// repeat is the command line that repeats the experiment, without its files.
func (f *experimentFlags) repeat() string {
	o := &f.options
	var modes []string
	for _, m := range o.Modes {
		modes = append(modes, m.String())
	}
	text := fmt.Sprintf("zetaload experiment hot-or-not --skews %s --modes %s --keys %d --load %d --clients %d "+
		"--delay-net %v --nodes %d --shards %d --duration %v --warm %v --settle %v --rounds %d --seed %d",
		strings.Join(numbers(o.Skews), ","), strings.Join(modes, ","), o.Keys, o.Load, o.Clients, o.Delay, o.Nodes, o.Shards,
		o.Duration, o.Warm, o.Settle, o.Rounds, o.Seed)
	if o.Fsync {
		text += " --fsync"
	}
	return text
}

// numbers are texts of numbers, as short as they can be read back.
func numbers(all []float64) (texts []string) {
	for _, x := range all {
		texts = append(texts, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return texts
}
